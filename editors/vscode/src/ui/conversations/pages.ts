import type { ConversationRow, Requests } from '../../daemon/protocol';

type List = (
  params: Requests['conversations/list']['params'],
) => Promise<Requests['conversations/list']['result']>;

const PAGE = 50;

/** The pages of a list of conversations read so far. */
export class Pages {
  readonly #list: List;
  readonly #filter: { cwd?: string; query?: string };
  #rows = new Map<string, ConversationRow>();
  #cursor: string | undefined;

  constructor(list: List, filter: { cwd?: string; query?: string }) {
    this.#list = list;
    this.#filter = filter;
  }

  get rows(): ConversationRow[] {
    return [...this.#rows.values()].toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  }

  get hasMore(): boolean {
    return this.#cursor !== undefined;
  }

  /** Read the next page. A row that has changed since the previous page is returned again. */
  async readMore(): Promise<void> {
    const cursor = this.#cursor;
    const page = await this.#list({ ...this.#filter, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    page.conversations.forEach((row) => this.#rows.set(row.id, row));
    this.#cursor = page.nextCursor;
  }

  /** Read at least as many rows again as before, so that a list with several pages does not shrink. */
  async reread(): Promise<void> {
    const wanted = Math.max(this.#rows.size, 1);
    const fresh = new Pages(this.#list, this.#filter);
    do {
      await fresh.readMore();
    } while (fresh.hasMore && fresh.#rows.size < wanted);
    this.#rows = fresh.#rows;
    this.#cursor = fresh.#cursor;
  }
}

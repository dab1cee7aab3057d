import type { ConversationRow, Requests } from '../../daemon/protocol';

type List = (
  params: Requests['conversations/list']['params'],
) => Promise<Requests['conversations/list']['result']>;

const PAGE = 50;

/** The pages of a list of conversations that were read so far. */
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

  /** Read the next page. A row that has changed since the page before comes again. */
  async more(): Promise<void> {
    const cursor = this.#cursor;
    const page = await this.#list({ ...this.#filter, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    page.conversations.forEach((row) => this.#rows.set(row.id, row));
    this.#cursor = page.nextCursor;
  }

  /** Read again as many rows as there were, so that a list that was paged does not become short. */
  async again(): Promise<void> {
    const wanted = Math.max(this.#rows.size, 1);
    const fresh = new Pages(this.#list, this.#filter);
    do {
      await fresh.more();
    } while (fresh.hasMore && fresh.#rows.size < wanted);
    this.#rows = fresh.#rows;
    this.#cursor = fresh.#cursor;
  }
}

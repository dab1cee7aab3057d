import type { ConversationRow, Requests } from '../../daemon/protocol';

type FetchPage = (
  params: Requests['conversations/list']['params'],
) => Promise<Requests['conversations/list']['result']>;

const PAGE_SIZE = 50;

/** A list of conversations that is read page by page. Contains the rows of the pages that were read so far. */
export class Pages {
  readonly #fetchPage: FetchPage;
  readonly #filter: { cwd?: string; query?: string };
  #rows = new Map<string, ConversationRow>();
  #cursor: string | undefined;

  constructor(fetchPage: FetchPage, filter: { cwd?: string; query?: string }) {
    this.#fetchPage = fetchPage;
    this.#filter = filter;
  }

  get rows(): ConversationRow[] {
    return [...this.#rows.values()].toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  }

  get hasMore(): boolean {
    return this.#cursor !== undefined;
  }

  /** Read the next page. The daemon returns a row of an earlier page again if the row has changed since then. */
  async readMore(): Promise<void> {
    const cursor = this.#cursor;
    const page = await this.#fetchPage({
      ...this.#filter,
      limit: PAGE_SIZE,
      ...(cursor !== undefined && { cursor }),
    });
    page.conversations.forEach((row) => this.#rows.set(row.id, row));
    this.#cursor = page.nextCursor;
  }

  /** Read the list again from its start, with at least as many rows as before, so that the list does not shrink. */
  async reread(): Promise<void> {
    const wanted = Math.max(this.#rows.size, 1);
    const fresh = new Pages(this.#fetchPage, this.#filter);
    do {
      await fresh.readMore();
    } while (fresh.hasMore && fresh.#rows.size < wanted);
    this.#rows = fresh.#rows;
    this.#cursor = fresh.#cursor;
  }
}

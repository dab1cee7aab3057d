import type { Block, Delta } from '../../daemon/protocol';

/** Collects the blocks of an answer from its deltas, in case the daemon is killed and cannot send the partial answer. */
export class Fold {
  readonly #blocks = new Map<number, Block>();
  /** Whether the provider started its answer again, which makes the text shown so far void. */
  restarted = false;

  add(delta: Delta): void {
    switch (delta.type) {
      case 'response':
        this.restarted = this.#blocks.size > 0;
        this.#blocks.clear();
        break;
      case 'text_start':
        this.#blocks.set(delta.block, { type: 'text', text: '' });
        break;
      case 'thinking_start':
        this.#blocks.set(delta.block, { type: 'thinking', thinking: '' });
        break;
      case 'text_delta':
      case 'thinking_delta': {
        const block = this.#blocks.get(delta.block);
        if (block?.type === 'text') {
          block.text += delta.text;
        } else if (block?.type === 'thinking') {
          block.thinking += delta.text;
        }
        break;
      }
      case 'text_done':
      case 'thinking_done':
      case 'tool_use_done':
      case 'block_done':
        this.#blocks.set(delta.block, delta.content);
        break;
    }
  }

  /** Return the blocks that are not empty. */
  content(): Block[] {
    const blocks = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
    return blocks.filter(
      (block) =>
        !(block.type === 'text' && block.text === '') &&
        !(block.type === 'thinking' && block.thinking === ''),
    );
  }
}

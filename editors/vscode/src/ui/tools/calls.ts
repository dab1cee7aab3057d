import { l10n } from 'vscode';

import type { Delta, ToolResultBlock } from '../../daemon/protocol';
import { describeCall, formatOutcome } from './words';

interface Call {
  /** The tool as `server/tool`; until the daemon names it, a guess from the name that the model uses. */
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  isDenied: boolean;
}

/** A call that has ended. */
export interface EndedCall {
  /** The line about the call, as Markdown. */
  line: string;
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  isError: boolean;
}

/** The calls of one answer, collected from its deltas. */
export class Calls {
  readonly #calls = new Map<string, Call>();

  /** Record a delta. If it contains the result of a call, returns the call. */
  add(delta: Delta): EndedCall | undefined {
    switch (delta.type) {
      case 'tool_use_start':
        this.#calls.set(delta.id, { name: delta.name.replace('__', '/'), arguments: {}, isDenied: false });
        break;
      case 'tool_use_done':
        this.#find(delta.content.id).arguments = delta.content.arguments ?? {};
        break;
      case 'tool_approval':
        this.#find(delta.toolUseId).name = `${delta.server}/${delta.tool}`;
        break;
      case 'tool_status':
        this.#find(delta.toolUseId).isDenied = delta.status === 'denied';
        break;
      case 'block_done':
        return delta.content.type === 'tool_result' ? this.#end(delta.content) : undefined;
    }
    return undefined;
  }

  /** Describe a running call. */
  describe(id: string): string {
    const call = this.#find(id);
    return describeCall(call.name, call.arguments);
  }

  #find(id: string): Call {
    const call = this.#calls.get(id) ?? { name: l10n.t('a tool'), arguments: {}, isDenied: false };
    this.#calls.set(id, call);
    return call;
  }

  #end(result: ToolResultBlock): EndedCall {
    const call = this.#find(result.toolUseId);
    // The daemon writes the name of the tool into `origin.model`.
    const name = result.origin?.model ?? call.name;
    return {
      line: formatOutcome(name, call.arguments, result, call.isDenied),
      name,
      arguments: call.arguments,
      isError: result.isError === true,
    };
  }
}

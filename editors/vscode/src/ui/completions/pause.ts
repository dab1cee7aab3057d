import type { CancellationToken } from 'vscode-jsonrpc/node';

/**
 * Wait until the user has not typed for the given time. Resolves to false as soon as the token is cancelled: VS Code
 * cancels it when the user types again.
 */
export function waitForPause(milliseconds: number, token: CancellationToken): Promise<boolean> {
  if (token.isCancellationRequested) {
    return Promise.resolve(false);
  }
  return new Promise((resolve) => {
    const finish = (hasPaused: boolean): void => {
      clearTimeout(timer);
      subscription.dispose();
      resolve(hasPaused);
    };
    const timer = setTimeout(() => {
      finish(true);
    }, milliseconds);
    const subscription = token.onCancellationRequested(() => {
      finish(false);
    });
  });
}

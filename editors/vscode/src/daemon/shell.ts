import { run } from './run';

/** The time limit for the shell. VS Code itself waits ten seconds, but such a slow shell must not delay each start. */
const SHELL_MS = 5000;

/** Return the variables that the user's login shell sets, or undefined if the shell does not print them in time. */
export async function readShellEnvironment(
  env: NodeJS.ProcessEnv,
  timeoutMs = SHELL_MS,
): Promise<NodeJS.ProcessEnv | undefined> {
  if (!env.SHELL) {
    return undefined;
  }
  try {
    const { code, lines } = await run(env.SHELL, ['-l', '-c', 'env'], { env, timeoutMs });
    return code === 0 ? parseVariables(lines) : undefined;
  } catch {
    return undefined;
  }
}

/** Parse the variables in the output of `env`. Those with multi-line values are left out. */
export function parseVariables(lines: readonly string[]): NodeJS.ProcessEnv {
  const found: NodeJS.ProcessEnv = {};
  let last = '';
  for (const line of lines) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
    if (name) {
      found[name] = value;
      last = name;
    } else {
      Reflect.deleteProperty(found, last);
    }
  }
  return found;
}

import { run } from './run';

/** VS Code itself waits for ten seconds; a shell that is that slow is not worth a wait of every start. */
const SHELL_MS = 5000;

/** The variables that the user's login shell sets, or nothing if it does not say so in time. */
export async function shellEnvironment(
  env: NodeJS.ProcessEnv,
  timeoutMs = SHELL_MS,
): Promise<NodeJS.ProcessEnv | undefined> {
  if (!env.SHELL) {
    return undefined;
  }
  try {
    const { code, lines } = await run(env.SHELL, ['-l', '-c', 'env'], { env, timeoutMs });
    return code === 0 ? variablesOf(lines) : undefined;
  } catch {
    return undefined;
  }
}

/** The variables among the lines of `env`; none whose value has several lines. */
export function variablesOf(lines: readonly string[]): NodeJS.ProcessEnv {
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

import type { Settings } from '../settings';
import type { Launch } from './process';

/** The command line of the daemon, with the flags of the user's settings. */
export function commandLine(
  program: string,
  settings: Settings,
  env: NodeJS.ProcessEnv,
  clientProcessId: number,
): Launch {
  const args = ['attach', '--log-level', settings.logLevel, '--clientProcessId', String(clientProcessId)];
  if (settings.config) {
    args.push('--config', settings.config);
  }
  return { program, args, env };
}

/** The log interface for code that does not depend on VS Code. `LogOutputChannel` implements it. */
export interface Log {
  trace(message: string): void;
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Log a line of the daemon's log, at the level that the line contains. */
export function logDaemonLine(log: Log, line: string): void {
  const level = /\b(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b/i.exec(line.slice(0, 80))?.[1]?.toUpperCase();
  if (level === 'ERROR' || level === 'CRITICAL') {
    log.error(line);
  } else if (level === 'WARNING') {
    log.warn(line);
  } else if (level === 'DEBUG') {
    log.debug(line);
  } else {
    log.info(line);
  }
}

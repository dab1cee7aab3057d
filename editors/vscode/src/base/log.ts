/** What the parts that need no editor know of the log; VS Code's `LogOutputChannel` is one. */
export interface Log {
  trace(message: string): void;
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** A level for each line of the daemon's own log, by the level that the line names. */
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

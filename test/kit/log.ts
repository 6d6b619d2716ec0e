import type { Log } from "../../src/types/log.ts";

export interface RecordedLog extends Log {
  readonly lines: string[];
}

/** A log that keeps `level message` lines, with the error behind them where one was told. */
export function recordLog(): RecordedLog {
  const lines: string[] = [];
  const at = (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    const error = fields?.["error"];
    lines.push(`${level} ${message}${error === undefined ? "" : `: ${describeError(error)}`}`);
  };
  const log: RecordedLog = {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: () => log,
  };
  return log;
}

const describeError = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error));

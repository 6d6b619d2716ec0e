import type { SocketConfig } from "@whiskeysockets/baileys";

type Logger = SocketConfig["logger"];

const nothing = (): void => undefined;

/** A logger that drops the library's lines, which contain keys and texts of messages. The connection's state has what operators need. */
export const silent: Logger = {
  level: "silent",
  child: () => silent,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

/** How the lines begin that libsignal writes to the console. Most contain a whole session with its private keys. */
const SIGNAL_LINES =
  /^(?:Closing (?:open )?session|Opening session|Removing old closed session|Session already|Migrating session|V1 session storage|Failed to decrypt message with any|Session error:|Decrypted message with closed|Unhandled bucket type)/;

let isSilenced = false;

/** Drops libsignal's lines from the console and keeps all others. Takes effect once per process. */
export function silenceSignalLogs(): void {
  if (isSilenced) return;
  isSilenced = true;
  for (const level of ["info", "warn", "error"] as const) {
    const write = console[level].bind(console);
    console[level] = (...line: unknown[]): void => {
      if (typeof line[0] !== "string" || !SIGNAL_LINES.test(line[0])) write(...line);
    };
  }
}

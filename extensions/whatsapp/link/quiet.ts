import type { SocketConfig } from "@whiskeysockets/baileys";

type Logger = SocketConfig["logger"];

const nothing = (): void => undefined;

/** The library's lines hold keys and texts of messages. What operators need comes from the connection's state. */
export const silent: Logger = {
  level: "silent",
  child: () => silent,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

/** First words of the lines that libsignal writes to the console, most with a whole session and its private keys behind. */
const SIGNAL_LINES =
  /^(?:Closing (?:open )?session|Opening session|Removing old closed session|Session already|Migrating session|V1 session storage|Failed to decrypt message with any|Session error:|Decrypted message with closed|Unhandled bucket type)/;

let isHushed = false;

/** Keeps libsignal's lines from the console; all others pass. Once per process. */
export function hushSignal(): void {
  if (isHushed) return;
  isHushed = true;
  for (const level of ["info", "warn", "error"] as const) {
    const write = console[level].bind(console);
    console[level] = (...line: unknown[]): void => {
      if (typeof line[0] !== "string" || !SIGNAL_LINES.test(line[0])) write(...line);
    };
  }
}

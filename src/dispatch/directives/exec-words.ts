import { EXEC_ASK, EXEC_HOSTS, EXEC_SECURITY, sessionExecOf, type SessionExec } from "../../types/run/exec-wish.ts";

const VALUES: Readonly<Record<string, readonly string[]>> = {
  host: EXEC_HOSTS,
  security: EXEC_SECURITY,
  ask: EXEC_ASK,
};
const PAIR = /^(host|security|ask|node)=(.*)$/i;

/** Whether a word looks like a setting of `/exec`, right or wrong. */
export const looksLikeExecWord = (word: string): boolean => PAIR.test(word);

/**
 * The settings that `host=… security=… ask=…` mean; a sentence about why they mean nothing when one of them is wrong.
 * Pure.
 */
export function execWords(words: readonly string[]): SessionExec | string {
  const pairs: Record<string, string> = {};
  for (const word of words) {
    const [, name = "", value = ""] = PAIR.exec(word.toLowerCase()) ?? [];
    const why = whyWrong(word, name, value);
    if (why !== undefined) return why;
    pairs[name] = value;
  }
  return sessionExecOf(pairs);
}

function whyWrong(word: string, name: string, value: string): string | undefined {
  if (name === "node" || (name === "host" && value === "node")) return "There is no other machine that runs commands.";
  if (name === "host" && value === "gateway")
    return "A conversation cannot take its commands out of the sandbox with host=gateway; /elevated does that.";
  if (name === "") return `"${word}" is no setting. Use host=, security= and ask=, or default.`;
  const values = VALUES[name] ?? [];
  return values.includes(value)
    ? undefined
    : `"${value}" is no value of ${name}. The values are: ${values.join(", ")}.`;
}

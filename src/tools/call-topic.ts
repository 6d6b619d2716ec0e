import { Secret } from "../utils/secrets/secret.ts";
import { shorten } from "../utils/text/shorten.ts";

/** Most UTF-16 units of a topic: one line of a chat or a table. */
const MOST = 160;
/** Most UTF-16 units of a secret that is recognised when it begins in the shown part. */
const LONGEST_SECRET = 8192;

/** Arguments that name the topic of a call, by tool. */
const OF_TOOLS: Readonly<Record<string, readonly string[]>> = {
  grep: ["pattern", "path"],
  find: ["pattern", "path"],
  message: ["action", "to", "target"],
};
/** Arguments that name the topic of a call of any other tool; the first that is set counts. */
const OF_OTHERS = ["path", "file_path", "filePath", "command", "pattern", "query", "url", "action", "name", "id"];

/**
 * The topic of a call in one line for a person, such as the path that the call reads. Undefined when its arguments name
 * none. Pure.
 */
export function callTopic(tool: string, args: Readonly<Record<string, unknown>>): string | undefined {
  const texts = (names: readonly string[]) => names.flatMap((name) => lineOf(args[name]) ?? []);
  const own = Object.hasOwn(OF_TOOLS, tool) ? OF_TOOLS[tool] : undefined;
  const parts = own ? texts(own) : texts(OF_OTHERS).slice(0, 1);
  return parts.length === 0 ? undefined : shorten(parts.join(" · "), MOST, () => "…");
}

function lineOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return undefined;
  // Only the beginning is cleaned: a command may be as long as a file. Secrets are masked before anything is cut: a
  // secret that is cut in two would not be recognised.
  const line = Secret.mask(value.slice(0, MOST * 4 + LONGEST_SECRET))
    .slice(0, MOST * 4)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return line === "" ? undefined : line.toWellFormed();
}

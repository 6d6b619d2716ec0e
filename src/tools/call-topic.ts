import { Secret } from "../utils/secrets/secret.ts";
import { shorten } from "../utils/text/shorten.ts";

/** Most UTF-16 units of a topic: one line of a chat or a table. */
const MOST = 160;
/** A secret that begins in what is shown is recognised when it is at most so long. */
const LONGEST_SECRET = 8192;

/** Arguments that say what a call is about, by tool. */
const OF_TOOLS: Readonly<Record<string, readonly string[]>> = {
  grep: ["pattern", "path"],
  find: ["pattern", "path"],
  message: ["action", "to", "target"],
};
/** The same for any other tool; the first argument that is set counts. */
const OF_OTHERS = ["path", "file_path", "filePath", "command", "pattern", "query", "url", "action", "name", "id"];

/**
 * What a call is about, in one line for a person, such as the path that it reads. Undefined when its arguments do not say.
 * Pure.
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
  // Only the beginning is cleaned: a command may be as long as a file. Masked before anything is cut: a secret that is cut in two
  // would not be recognised.
  const line = Secret.mask(value.slice(0, MOST * 4 + LONGEST_SECRET))
    .slice(0, MOST * 4)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return line === "" ? undefined : line.toWellFormed();
}

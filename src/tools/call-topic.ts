import { shorten } from "../utils/text/shorten.ts";

/** UTF-16 units: a line of a chat or a table. */
const MOST = 160;

/** Arguments that say what a call is about, by tool. */
const OF_TOOLS: Readonly<Record<string, readonly string[]>> = {
  grep: ["pattern", "path"],
  find: ["pattern", "path"],
  message: ["action", "to", "target"],
};
/** The same of any other tool: the first that is there. */
const OF_OTHERS = ["path", "file_path", "filePath", "command", "pattern", "query", "url", "action", "name", "id"];

/**
 * What a call is about, in one line for a person: the path that is read, the command that is run. Undefined when its
 * arguments tell nothing. Pure.
 */
export function callTopic(tool: string, args: Readonly<Record<string, unknown>>): string | undefined {
  const texts = (names: readonly string[]) => names.flatMap((name) => lineOf(args[name]) ?? []);
  const own = Object.hasOwn(OF_TOOLS, tool) ? OF_TOOLS[tool] : undefined;
  const words = own ? texts(own) : texts(OF_OTHERS).slice(0, 1);
  return words.length === 0 ? undefined : shorten(words.join(" · "), MOST, () => "…");
}

function lineOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return undefined;
  // More than is shown is not looked at: a command may be as long as a file.
  const line = value
    .slice(0, MOST * 4)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return line === "" ? undefined : line.toWellFormed();
}

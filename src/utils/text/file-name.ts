import { visibleText } from "./clean-text.ts";

const MOST = 120;
const LONGEST_ENDING = 16;

/**
 * The name of a file that others have named, safe to show and to save under: without its folders, signs that show nothing or turn
 * the order of letters around, and line breaks. A name that is too long loses letters before its ending. Undefined when nothing is
 * left.
 */
export function plainFileName(name: string): string | undefined {
  const last = name.normalize("NFC").split(/[/\\]/).at(-1) ?? "";
  const plain = visibleText(last)
    .replaceAll(/[\s:*?"<>|]+/gu, " ")
    .trim()
    .replace(/^\.+/, "");
  if (plain === "") return undefined;
  const letters = Array.from(plain);
  if (letters.length <= MOST) return plain;
  const dot = letters.lastIndexOf(".");
  const ending = dot > 0 && letters.length - dot <= LONGEST_ENDING ? letters.slice(dot) : [];
  return [...letters.slice(0, MOST - ending.length), ...ending].join("");
}

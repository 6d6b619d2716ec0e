import type { Inline } from "./doc.ts";

/** Turns `||…||` among siblings into spoilers; bars with blanks inside or words outside (`a||b`) stay text. */
export function markSpoilers(inlines: readonly Inline[]): Inline[] {
  const parts = inlines.flatMap(splitBars);
  const out: Inline[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at];
    const close = part !== undefined && opens(parts, at) ? closing(parts, at) : -1;
    if (part === undefined) break;
    if (close < 0) {
      out.push(part);
      continue;
    }
    out.push({ type: "mark", mark: "spoiler", children: parts.slice(at + 1, close) });
    at = close;
  }
  return out;
}

function splitBars(inline: Inline): Inline[] {
  if (inline.type !== "text" || !inline.text.includes("||")) return [inline];
  const texts = inline.text.split(/(?<!\|)(\|\|)(?!\|)/).filter((text) => text !== "");
  return texts.map((text) => ({ type: "text", text }));
}

function opens(parts: readonly Inline[], at: number): boolean {
  return isBars(parts[at]) && !/[\p{L}\p{N}]$/u.test(textOf(parts[at - 1])) && isSolid(parts[at + 1], /^\s/);
}

function closing(parts: readonly Inline[], open: number): number {
  return parts.findIndex(
    (part, at) =>
      at > open + 1 && isBars(part) && isSolid(parts[at - 1], /\s$/) && !/^[\p{L}\p{N}]/u.test(textOf(parts[at + 1])),
  );
}

function isBars(part: Inline | undefined): boolean {
  return part?.type === "text" && part.text === "||";
}

function isSolid(part: Inline | undefined, blank: RegExp): boolean {
  return part !== undefined && part.type !== "break" && !isBars(part) && !blank.test(textOf(part));
}

function textOf(part: Inline | undefined): string {
  return part?.type === "text" ? part.text : "";
}

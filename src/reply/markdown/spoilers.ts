import type { Inline } from "./doc.ts";

/** Turns `||…||` among siblings into spoilers; bars with blanks inside or words outside (`a||b`) stay text. */
export function markSpoilers(inlines: readonly Inline[]): Inline[] {
  const parts = inlines.flatMap(splitBars);
  const out: Inline[] = [];
  let open = -1;
  for (const [at, part] of parts.entries()) {
    if (open >= 0 && out.length > open + 1 && closes(parts, at)) {
      out.splice(open, out.length, { type: "mark", mark: "spoiler", children: out.slice(open + 1) });
      open = -1;
      continue;
    }
    if (open < 0 && opens(parts, at)) open = out.length;
    out.push(part);
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

function closes(parts: readonly Inline[], at: number): boolean {
  return isBars(parts[at]) && !/^[\p{L}\p{N}]/u.test(textOf(parts[at + 1])) && isSolid(parts[at - 1], /\s$/);
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

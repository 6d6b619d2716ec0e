/** Tags of https://core.telegram.org/bots/api#html-style */
const TAGS = new Set([
  "b",
  "strong",
  "i",
  "em",
  "u",
  "ins",
  "s",
  "strike",
  "del",
  "span",
  "tg-spoiler",
  "a",
  "tg-emoji",
  "tg-time",
  "code",
  "pre",
  "blockquote",
]);
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };

/** Reads Telegram's HTML: the visible text, or what is wrong in the service's words. */
export function checkHtml(html: string): { readonly text: string } | { readonly problem: string } {
  const open: string[] = [];
  let text = "";
  for (const token of html.matchAll(/<[^>]*>?|&[^;\s<&]*;?|[^<&]+/g)) {
    const word = token[0];
    if (!word.startsWith("<")) {
      text += word.startsWith("&") ? decode(word) : word;
      continue;
    }
    const problem = applyTag(word, open);
    if (problem !== undefined)
      return { problem: problem.replace("{place}", `at byte offset ${byteOffset(html, token.index)}`) };
  }
  const left = open.at(-1);
  return left === undefined ? { text } : { problem: `Can't find end tag corresponding to start tag "${left}"` };
}

/** Opens or closes a tag; what is wrong with it, if something is. */
function applyTag(word: string, open: string[]): string | undefined {
  const tag = /^<(\/?)([a-zA-Z][\w-]*)?((?:\s+[\w-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*>$/.exec(word);
  if (!tag) return "Unclosed start tag {place}";
  const name = tag[2]?.toLowerCase() ?? "";
  if (tag[1] !== "/") {
    open.push(name);
    return TAGS.has(name) ? undefined : `Unsupported start tag "${name}" {place}`;
  }
  const expected = open.pop();
  if (expected === undefined) return "Unexpected end tag {place}";
  const fits = name === "" || expected === name;
  return fits ? undefined : `Unmatched end tag {place}, expected "</${expected}>", found "</${name}>"`;
}

const byteOffset = (text: string, index: number): number => Buffer.byteLength(text.slice(0, index));

function decode(entity: string): string {
  const name = entity.slice(1).replace(/;$/, "");
  const number = /^#(?:x([0-9a-fA-F]+)|(\d+))$/.exec(name);
  if (number) return String.fromCodePoint(number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16));
  return ENTITIES[name] ?? entity;
}

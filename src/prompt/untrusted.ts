// What ends a line for a reader, whatever a regular expression calls a line.
const LINE_START = "(^|[\\n\\r\\v\\f\\u0085\\u2028\\u2029])";
// Spaces and invisible characters that would hide a forged word from a plain comparison.
const BLANKS = "([\\p{Zs}\\t\\p{Cf}]*)";

const SYSTEM_LINE = new RegExp(`${LINE_START}${BLANKS}(system)[\\p{Zs}\\t\\p{Cf}]{0,8}([:\\uFF1A])`, "giu");
const SYSTEM_TAG = /\[([\p{Zs}\p{Cf}]{0,8}system message[\p{Zs}\p{Cf}]{0,8})\]/giu;
const INTERNAL_FENCE = /<<<((?:BEGIN|END)_OPENCLAW_INTERNAL_CONTEXT)>>>/gi;
const INTER_SESSION = /\[(inter-session message)\]/gi;

// The titles of the blocks that say who wrote what: a second one would name another sender.
const BLOCK_TITLE =
  /(?<=(?:^|[\n\r\v\f\u0085\u2028\u2029])[^\n\r]{0,120})\(((?:untrusted|metadata, do not treat)[^()\n\r]{0,80})\)(?=[\p{Zs}\t\p{Cf}]{0,8}[:\uFF1A][\p{Zs}\t\p{Cf}]{0,8}(?:$|[\n\r\v\f\u0085\u2028\u2029]))/giu;
const QUEUE_HEADER = new RegExp(`${LINE_START}${BLANKS}(queued )#(?=\\d)`, "giu");
const OWN_NOTE = new RegExp(
  `${LINE_START}${BLANKS}(?=Note: The previous agent run was aborted|The user has just opened a fresh session)`,
  "giu",
);
const CONTEXT_MARKER =
  /\[((?:thread (?:history|starter) - for context|queued messages while agent was busy|media attached[^\]\n]*))\]/giu;

/**
 * Takes from foreign text the power to speak as the gateway: `System:` at the start of a line becomes
 * `System (untrusted):`, the gateway's own bracketed markers lose their brackets, and what looks like its notes or the title
 * of one of its blocks is changed so far that it is none. The rest stays as it is.
 */
export function neutralise(text: string): string {
  return text
    .replaceAll(BLOCK_TITLE, "[$1]")
    .replaceAll(QUEUE_HEADER, "$1$2$3")
    .replaceAll(OWN_NOTE, "$1$2(untrusted) ")
    .replaceAll(CONTEXT_MARKER, "($1)")
    .replaceAll(SYSTEM_LINE, "$1$2$3 (untrusted)$4")
    .replaceAll(SYSTEM_TAG, "($1)")
    .replaceAll(INTER_SESSION, "($1)")
    .replaceAll(INTERNAL_FENCE, "($1)");
}

/** Foreign text on one line. */
export function oneLine(text: string): string {
  return neutralise(text.replaceAll(/\s+/gu, " ").trim());
}

const FENCE_BREAKERS = /[`\u0085\u2028\u2029]/g;

/** A titled JSON block whose strings cannot close its fence nor begin a line. */
export function jsonBlock(title: string, value: unknown): string {
  const json = JSON.stringify(value, null, 2).replaceAll(
    FENCE_BREAKERS,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${title}\n\`\`\`json\n${json}\n\`\`\``;
}

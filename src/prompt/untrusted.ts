// What ends a line for a reader, whatever a regular expression calls a line.
const LINE_START = "(^|[\\n\\r\\v\\f\\u0085\\u2028\\u2029])";
// Spaces and invisible characters that would hide a forged word from a plain comparison.
const BLANKS = "([\\p{Zs}\\t\\p{Cf}]*)";

const SYSTEM_LINE = new RegExp(`${LINE_START}${BLANKS}(system)[\\p{Zs}\\t\\p{Cf}]{0,8}([:\\uFF1A])`, "giu");
const SYSTEM_TAG = /\[([\p{Zs}\p{Cf}]{0,8}system message[\p{Zs}\p{Cf}]{0,8})\]/giu;
const INTERNAL_FENCE = /<<<((?:BEGIN|END)_OPENCLAW_INTERNAL_CONTEXT)>>>/gi;
const INTER_SESSION = /\[(inter-session message)\]/gi;

/**
 * Takes from foreign text the power to speak as the gateway: `System:` at the start of a line becomes
 * `System (untrusted):`, and the gateway's own bracketed markers lose their brackets. The rest stays as it is.
 */
export function neutralise(text: string): string {
  return text
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

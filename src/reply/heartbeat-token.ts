/** A model answers a heartbeat with this when nothing needs attention. */
const TOKEN = "HEARTBEAT_OK";

/**
 * Takes the heartbeat token from either end of a text, also where Markdown or HTML marks surround it. `silent` says that
 * the token was there and that at most `ackMaxChars` UTF-16 units of remark came with it, so that nothing is to be sent.
 * Takes time in proportion to the text's length.
 */
export function stripHeartbeatToken(
  text: string,
  ackMaxChars = 300,
): { text: string; stripped: boolean; silent: boolean } {
  const trimmed = text.trim();
  const start = skipHead(trimmed);
  const rest = skipTail(trimmed, start).trim();
  const stripped = rest.length < trimmed.length;
  return { text: rest, stripped, silent: stripped && rest.length <= ackMaxChars };
}

const MARKS = "(?:[*_`~\\s]|</?[a-z]{1,10}>)*";
const HEAD = new RegExp(`${MARKS}${TOKEN}(?![A-Za-z0-9_])${MARKS}[.!]?\\s*`, "iy");

/** Where the text begins after the tokens at its start. */
function skipHead(text: string): number {
  let start = 0;
  for (HEAD.lastIndex = 0; HEAD.test(text);) start = HEAD.lastIndex;
  return start;
}

const AFTER = /^[*_`~]*(?:<\/?[a-z]{1,10}>)*[.!]?$/i;

/** The text from `start` on without the tokens at its end. */
function skipTail(text: string, start: number): string {
  const tokens = [...text.matchAll(new RegExp(TOKEN, "gi"))].map(({ index }) => index);
  let end = text.length;
  for (let at = tokens.pop(); at !== undefined && at >= start; at = tokens.pop()) {
    if (!AFTER.test(text.slice(at + TOKEN.length, end))) break;
    const begin = beginOfMarks(text, start, at);
    if (begin === undefined) break;
    end = start + text.slice(start, begin).trimEnd().length;
  }
  return text.slice(start, end);
}

/** Where the marks before the token begin; undefined when it is part of a word. */
function beginOfMarks(text: string, start: number, at: number): number | undefined {
  let begin = at;
  while (begin > start && "*_`~".includes(text.charAt(begin - 1))) begin -= 1;
  if (begin === start || !/[A-Za-z0-9]/.test(text.charAt(begin - 1))) return begin;
  return begin < at ? begin + 1 : undefined;
}

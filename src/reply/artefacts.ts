import type { Match, MatchPlace } from "./scan.ts";

const CALL = "[tool call:";
const RESULT = "[tool result";
const CONTEXT = "[historical context:";
const ARGUMENTS = "arguments:";
/** UTF-16 units after which an artefact without an end is given up, so that a reply is not held back for ever. */
const MAX_ARTEFACT = 65_536;

/**
 * Matches tool calls and results that a model wrote out as text at the start of a line: `[Tool Call: …]` with the
 * `Arguments:` after it, `[Tool Result …]` with its paragraph, `[Historical context: …]`.
 */
export function matchArtefact(text: string, place: MatchPlace): Match<"artefact"> | "more" | undefined {
  if (!place.lineStart || place.raw) return undefined;
  const lower = text.slice(0, CONTEXT.length).toLowerCase();
  const opener = [CALL, RESULT, CONTEXT].find((one) => lower.startsWith(one));
  if (opener === undefined) {
    const torn = !place.last && [CALL, RESULT, CONTEXT].some((one) => one.startsWith(lower));
    return torn ? "more" : undefined;
  }
  const seen = text.slice(0, MAX_ARTEFACT);
  const complete = place.last || text.length >= MAX_ARTEFACT;
  const length = artefactLength(seen, opener) ?? (complete ? paragraphLength(seen) : undefined);
  return length === undefined ? "more" : { value: "artefact", length };
}

/** An artefact that was cut off ends with its paragraph, not with the reply after it. */
function paragraphLength(text: string): number {
  const blank = text.indexOf("\n\n");
  return blank < 0 ? text.length : blank + 2;
}

/** Units of the artefact with the line break after it, `undefined` while its end has not arrived. */
function artefactLength(text: string, opener: string): number | undefined {
  if (opener === RESULT) {
    const blank = text.indexOf("\n\n");
    return blank < 0 ? undefined : blank + 2;
  }
  const line = text.indexOf("\n");
  if (line < 0) return undefined;
  if (opener === CONTEXT) return line + 1;
  return callLength(text, line + 1);
}

function callLength(text: string, lineEnd: number): number | undefined {
  const next = skipBlanks(text, lineEnd);
  const word = text.slice(next, next + ARGUMENTS.length).toLowerCase();
  if (word !== ARGUMENTS) return ARGUMENTS.startsWith(word) && next + word.length === text.length ? undefined : lineEnd;
  const value = skipBlanks(text, next + ARGUMENTS.length);
  if (value >= text.length) return undefined;
  const end = "{[".includes(text.charAt(value)) ? jsonEnd(text, value) : text.indexOf("\n", value);
  return end === undefined || end < 0 ? undefined : restOfLine(text, end);
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at += 1;
  return at;
}

/** Includes the line break that ends the artefact. */
function restOfLine(text: string, from: number): number | undefined {
  let at = from;
  while (at < text.length && (text.charAt(at) === " " || text.charAt(at) === "\t")) at += 1;
  if (at >= text.length) return undefined;
  return text.charAt(at) === "\n" ? at + 1 : at;
}

function jsonEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charAt(at);
    if (quoted) {
      if (unit === "\\") at += 1;
      else if (unit === '"') quoted = false;
      continue;
    }
    if (unit === '"') quoted = true;
    else if ("{[".includes(unit)) depth += 1;
    else if ("}]".includes(unit)) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

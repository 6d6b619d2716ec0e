import { withoutControls } from "../utils/text/controls.ts";
import { type EventLine, INTERNAL_TRIGGERS, matchInternal } from "./internal-marks.ts";
import { createScanner, type Match, type MatchPlace, type ScannedPiece } from "./scan.ts";

/**
 * Removes think and final tags, tool calls written as text, the gateway's notes to the model, and signs that change how other text is shown
 * from a stream of text.
 */
export interface TagStripper {
  /** Returns what may be shown now; keeps back only what could still be a tag. Then ask `begunAnew`. */
  push(delta: string): string;
  /**
   * Returns the rest. Call it once, at the end of the message. A message that is only a think block without an end
   * counts as the answer, unless it `calls` tools: the answer then comes later. Then ask `begunAnew`.
   */
  end(calls?: boolean): string;
  /**
   * Whether all text that was returned before the last call of `push` or `end` turned out to be a thought: a tag ended
   * it that no tag had begun, as models write whose prompt already has the beginning. The result of that last call is
   * then the whole text. Asking clears the mark.
   */
  begunAnew(): boolean;
  /** The text of think blocks since the last call. */
  thinking(): string;
}

export interface TagStripperOptions {
  /** Releases only the text inside `<final>`. Without such a tag, `end()` releases all text outside think tags. */
  readonly enforceFinal?: boolean;
  /** The message may begin with a thought that no tag begins: its text is released after the tag that ends it, else by `end()`. */
  readonly mayBeginInThought?: boolean;
}

type Mark = "artefact" | "think" | "/think" | "final" | "/final" | "empty";
type Found = Mark | EventLine;

const THINK_NAMES = ["think", "thinking", "thought", "antthinking", "antml:thinking"];
const NAMES = [...THINK_NAMES, "final"];
const THINK_WORDS = THINK_NAMES.join("|");
const CLOSING = new RegExp(`<[ \\t]*/[ \\t]*(?:${THINK_WORDS})[ \\t]*>`, "i");
const OPENING = new RegExp(`<[ \\t]*(?:${THINK_WORDS})[\\s>]`, "i");

/** Whether a text ends a thought that no tag in it has begun. Roughly: code is not distinguished from other text. */
export function endsUnbegunThought(text: string): boolean {
  const closing = CLOSING.exec(text);
  return closing !== null && !OPENING.test(text.slice(0, closing.index));
}

/** UTF-16 units of the longest tag with attributes; a longer one is text. */
const MAX_TAG = 256;

/** Makes a stripper for one message. Tags inside Markdown code are text. Never throws. */
export function createTagStripper(options: TagStripperOptions = {}): TagStripper {
  return new Stripper(options);
}

class Stripper implements TagStripper {
  readonly #scanner = createScanner<Found>(BEGINNINGS, matchMark);
  readonly #enforceFinal: boolean;
  readonly #state: StripperState;

  constructor({ enforceFinal = false, mayBeginInThought = false }: TagStripperOptions) {
    this.#enforceFinal = enforceFinal;
    this.#state = newState(mayBeginInThought && !enforceFinal ? "held" : "open");
  }

  push(delta: string): string {
    return this.#take(this.#scanner.push(withoutControls(delta)));
  }

  end(calls = false): string {
    return this.#take(this.#scanner.end(), calls);
  }

  begunAnew(): boolean {
    const { beginnings } = this.#state;
    this.#state.beginnings = 0;
    return beginnings > 0;
  }

  thinking(): string {
    const text = this.#state.thought;
    this.#state.thought = "";
    return text;
  }

  /** `calls` is set at the end of the message. */
  #take(pieces: readonly ScannedPiece<Found>[], calls?: boolean): string {
    const [state, enforceFinal] = [this.#state, this.#enforceFinal];
    let out = "";
    for (const piece of pieces) {
      if (piece.kind === "text") out += takeText(state, piece.text, enforceFinal);
      else if (typeof piece.value === "object") out += takeEvent(state, piece.value, enforceFinal);
      else if (endsUnbegun(state, piece.value)) {
        beginAnew(state, out);
        out = "";
      } else turn(state, piece.value);
    }
    if (calls !== undefined) out += finish(state, { enforceFinal, calls });
    state.returned += out;
    return out;
  }
}

const BEGINNINGS = new RegExp(`[${["<[", INTERNAL_TRIGGERS].join("").replace(/[\]\\^-]/g, "\\$&")}]`, "g");

function matchMark(text: string, place: MatchPlace): Match<Found> | "more" | undefined {
  return matchInternal(text, place) ?? matchOwn(text, place);
}

function matchOwn(text: string, place: MatchPlace): Match<Mark> | "more" | undefined {
  if (!"<[".includes(text.charAt(0))) return undefined;
  return text.startsWith("[") ? matchArtefact(text, place) : matchTag(text, place);
}

function matchTag(text: string, place: MatchPlace): Match<Mark> | "more" | undefined {
  const [head = "", slash, letters = ""] = /^<[ \t]{0,8}(\/?)[ \t]{0,8}([a-z:]*)/i.exec(text) ?? [];
  const name = letters.toLowerCase();
  const torn = head.length === text.length && NAMES.some((one) => one.startsWith(name));
  if (torn) return place.last ? undefined : "more";
  if (!NAMES.includes(name)) return undefined;
  const length = tagLength(text, head.length);
  if (length === "more") return place.last ? undefined : "more";
  if (length === undefined) return undefined;
  const empty = text.charAt(length - 2) === "/";
  return tagMatch(name, { closing: slash === "/", empty, length, raw: place.raw });
}

/** Units of a tag with attributes, whose name ends at `from`. */
function tagLength(text: string, from: number): number | "more" | undefined {
  const tail = /^(?:[\s/][^<>]*)?/.exec(text.slice(from, MAX_TAG))?.[0] ?? "";
  const end = from + tail.length;
  if (end >= MAX_TAG) return undefined;
  if (end === text.length) return "more";
  return text.charAt(end) === ">" ? end + 1 : undefined;
}

interface TagShape {
  readonly closing: boolean;
  readonly empty: boolean;
  readonly length: number;
  readonly raw: boolean;
}

function tagMatch(name: string, shape: TagShape): Match<Mark> | undefined {
  const { closing, length, raw } = shape;
  if (name !== "final") {
    if (closing) return { value: "/think", length, raw: false };
    return shape.empty || raw ? { value: "empty", length } : { value: "think", length, raw: true };
  }
  if (raw) return undefined;
  if (shape.empty) return { value: "empty", length };
  return { value: closing ? "/final" : "final", length };
}

interface StripperState {
  inThought: boolean;
  inFinal: boolean;
  sawFinal: boolean;
  shown: boolean;
  /** Something was removed before any text was shown: blanks are not released first. */
  cut: boolean;
  thought: string;
  /** The thought that no tag has ended, or that only a tag has ended. */
  openThought: string;
  /** Text of the message that was returned so far. */
  returned: string;
  /** How often the message has begun anew since somebody asked. */
  beginnings: number;
  /** Text outside of `<final>`, for a message that has none; or all text, while it may turn out to be a thought. */
  outside: string;
  begin: "open" | "held";
}

const newState = (begin: StripperState["begin"]): StripperState => ({
  inThought: false,
  inFinal: false,
  sawFinal: false,
  shown: false,
  cut: false,
  thought: "",
  openThought: "",
  returned: "",
  beginnings: 0,
  outside: "",
  begin,
});

/** Whether a tag ends a thought that no tag has begun. */
const endsUnbegun = ({ inThought }: StripperState, mark: Mark): boolean => mark === "/think" && !inThought;

function turn(state: StripperState, mark: Mark): void {
  state.cut = true;
  if (mark === "think" || mark === "/think") {
    state.inThought = mark === "think";
    state.openThought = "";
  } else if (mark === "final" || mark === "/final") {
    state.inFinal = mark === "final";
    state.sawFinal ||= mark === "final";
  }
}

/** `out` is about to be returned. */
function beginAnew(state: StripperState, out: string): void {
  const text = state.outside + state.returned + out;
  if (text.trim() !== "") state.openThought = text;
  state.thought += text;
  state.beginnings += Number(state.returned !== "");
  Object.assign(state, {
    outside: "",
    begin: "open",
    returned: "",
    shown: false,
    cut: true,
    inFinal: false,
    sawFinal: false,
  });
}

function takeText(state: StripperState, text: string, enforceFinal: boolean): string {
  if (state.inThought) {
    state.thought += text;
    state.openThought += text;
    return "";
  }
  if (state.begin === "held") {
    state.outside += text;
    return "";
  }
  if (enforceFinal && !state.inFinal) {
    if (!state.sawFinal) state.outside += text;
    return "";
  }
  return show(state, text);
}

/** An event behind other text is part of the answer, such as a line of a log. */
function takeEvent(state: StripperState, { line }: EventLine, enforceFinal: boolean): string {
  if (state.inThought || state.shown || state.outside.trim() !== "") return takeText(state, line, enforceFinal);
  state.cut = true;
  return "";
}

function show(state: StripperState, text: string): string {
  const visible = state.cut && !state.shown ? text.trimStart() : text;
  if (visible.trim() !== "") state.shown = true;
  return visible;
}

function finish(
  state: StripperState,
  { enforceFinal, calls }: { readonly enforceFinal: boolean; readonly calls: boolean },
): string {
  const outside = state.begin === "held" || (enforceFinal && !state.sawFinal) ? show(state, state.outside) : "";
  if (state.shown || calls) return outside;
  // The unended thought is the answer.
  const { thought, openThought } = state;
  if (thought.endsWith(openThought)) state.thought = thought.slice(0, thought.length - openThought.length);
  return outside + openThought.trim();
}

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
function matchArtefact(text: string, place: MatchPlace): Match<"artefact"> | "more" | undefined {
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

import { SILENT_TOKEN, type ReplyTarget } from "../types/chat/reply.ts";
import { createScanner, type Match, type MatchPlace, type ScannedPiece } from "./scan.ts";
import { type TidyText, createTidyText } from "./tidy.ts";
import { BoundedMap } from "../utils/bounded-map.ts";

/** Requests of a reply in addition to its text. The last reply target wins. */
export interface Directives {
  readonly replyTo?: ReplyTarget;
  /** URLs or paths, in order. */
  readonly media: string[];
  readonly audioAsVoice: boolean;
  /** The answer is to be spoken too: this text, or its own when empty. */
  readonly spoken?: string;
  /** The model chose not to answer: it wrote only the silent token. */
  readonly silent: boolean;
}

export interface ParsedReply extends Directives {
  readonly text: string;
}

/** Removes directives from a text that arrives in parts. */
export interface DirectiveFilter {
  /** Returns what may be shown now: never part of a directive, nor of a text that may still be the silent token. */
  push(delta: string): string;
  /** Returns the rest. Call it once, at the end of the message. */
  end(): string;
  /** Directives found so far; `silent` is known after `end()` only. */
  directives(): Directives;
}

const NAMES = ["reply_to_current", "reply_to", "media", "audio_as_voice", "tts", "/tts"];
/** Two brackets and the first letter of a name, so that the end of other text in brackets is not looked for. */
const BEGINNING = String.raw`\[(?:$|\[\s*(?:$|[rmat/]))`;
const BEGINS = new RegExp(`^${BEGINNING}`, "i");
const BEGINNINGS = new RegExp(BEGINNING, "gi");
const BODIES =
  /^(?:(reply_to_current)|reply_to\s*:\s*(.*\S)|media\s*:\s*(.*\S)|(audio_as_voice)|(\/?tts)(?:\s*:.*)?)$/is;
/** A directive that a model closes with one bracket instead of two. */
const HALF_CLOSED = /^[^\S\n]*(reply_to_current|reply_to[^\S\n]*:[^\]\n]*[^\s\]]|audio_as_voice)[^\S\n]*\](?=[^\]])/i;
/** Begins a text that is only spoken, and ends it. */
const SPOKEN = /^tts\s*:\s*text$/i;
const SPOKEN_END = /\[\[\s*\/tts(?:\s*:\s*text)?\s*\]\]/i;
/** UTF-16 units of the longest text that is only spoken; a longer one, and one without an end, is also shown. */
const MAX_SPOKEN = 20_000;
/** The text that may follow the brackets while the closing ones have not arrived. */
const TORN = /^\s*(?:(?:reply_to|media|\/?tts)\s*(?::.*)?|(?:reply_to_current|audio_as_voice|\/?tts)\s*\]?)$/is;
/** UTF-16 units of the longest directive (a media URL may be long); a longer one is text. */
const MAX_DIRECTIVE = 4096;
/** A name torn off at the end of the text is taken for one from this many letters on. */
const MIN_TORN = 3;

/** Parses a whole reply. Directives inside Markdown code are text. Never throws. */
export function parseDirectives(text: string): ParsedReply {
  const filter = createDirectiveFilter();
  const shown = filter.push(text) + filter.end();
  return { text: shown, ...filter.directives() };
}

/** Makes a filter for one message; its joined output is the `text` of `parseDirectives`. Never throws. */
export const createDirectiveFilter = (): DirectiveFilter => new MessageFilter();

class MessageFilter implements DirectiveFilter {
  readonly #scanner = createScanner(BEGINNINGS, matchDirective);
  readonly #found: Found = { replyTo: undefined, media: [], audioAsVoice: false, spoken: undefined };
  readonly #tidy = createSilentText(SILENT_TOKEN);
  #isShown = false;

  push(delta: string): string {
    return this.#show(this.#take(this.#scanner.push(delta)));
  }

  end(): string {
    return this.#show(this.#take(this.#scanner.end()) + this.#tidy.end()) + this.#unread();
  }

  directives(): Directives {
    const { replyTo, media, audioAsVoice, spoken } = this.#found;
    const asked = { ...(replyTo && { replyTo }), ...(spoken !== undefined && { spoken }) };
    return { ...asked, media: [...media], audioAsVoice, silent: this.#tidy.silent() };
  }

  #take(pieces: readonly ScannedPiece<Directive>[]): string {
    let out = "";
    for (const piece of pieces)
      out += piece.kind === "text" ? this.#tidy.text(piece.text) : note(this.#found, this.#tidy, piece.value);
    return out;
  }

  #show(text: string): string {
    this.#isShown ||= text !== "";
    return text;
  }

  /** An answer that is only spoken can be read too: nobody may be able to hear it. */
  #unread(): string {
    return this.#isShown || this.#tidy.silent() ? "" : (this.#found.spoken ?? "");
  }
}

type Directive =
  | { readonly kind: "reply"; readonly target: ReplyTarget }
  | { readonly kind: "media"; readonly source: string }
  | { readonly kind: "voice" }
  | { readonly kind: "spoken"; readonly text?: string }
  | { readonly kind: "torn" };

interface Found {
  replyTo: ReplyTarget | undefined;
  readonly media: string[];
  audioAsVoice: boolean;
  spoken: string | undefined;
}

function note(found: Found, tidy: TidyText, directive: Directive): string {
  if (directive.kind === "reply") found.replyTo = directive.target;
  else if (directive.kind === "media") found.media.push(directive.source);
  else if (directive.kind === "voice") found.audioAsVoice = true;
  else if (directive.kind === "spoken")
    found.spoken = [found.spoken, directive.text].filter((text) => text !== undefined && text !== "").join("\n\n");
  tidy.cut();
  return "";
}

function matchDirective(text: string, place: MatchPlace): Match<Directive> | "more" | undefined {
  if (!BEGINS.test(text)) return undefined;
  const body = text.slice(2, MAX_DIRECTIVE);
  const [half = "", named = ""] = HALF_CLOSED.exec(body) ?? [];
  const meant = half === "" ? undefined : readDirective(named);
  if (meant) return { value: meant, length: 2 + half.length };
  const end = /\n|\]\]/.exec(body);
  if (end === null) return matchTorn(text, body, place);
  if (end[0] === "\n") return undefined;
  const said = body.slice(0, end.index).trim();
  const length = end.index + 4;
  if (SPOKEN.test(said)) return matchSpoken(text, length, place);
  const value = readDirective(said);
  return value && { value, length };
}

/** A text between two marks, the first of which has this length. */
function matchSpoken(text: string, length: number, { last }: MatchPlace): Match<Directive> | "more" {
  const body = text.slice(length, MAX_SPOKEN);
  const end = SPOKEN_END.exec(body);
  if (end)
    return {
      value: { kind: "spoken", text: body.slice(0, end.index).trim() },
      length: length + end.index + end[0].length,
    };
  return !last && text.length < MAX_SPOKEN ? "more" : { value: { kind: "spoken" }, length };
}

function matchTorn(text: string, body: string, place: MatchPlace): Match<Directive> | "more" | undefined {
  if (text.length >= MAX_DIRECTIVE) return undefined;
  const name = body.trimStart().toLowerCase();
  if (!TORN.test(body) && !NAMES.some((one) => one.startsWith(name))) return undefined;
  if (!place.last) return "more";
  return name.length >= MIN_TORN ? { value: { kind: "torn" }, length: text.length } : undefined;
}

function readDirective(body: string): Directive | undefined {
  const parts = BODIES.exec(body);
  if (parts === null) return undefined;
  const [, current, id, source, , spoken] = parts;
  if (spoken !== undefined) return spoken.startsWith("/") ? { kind: "torn" } : { kind: "spoken" };
  if (current !== undefined) return { kind: "reply", target: { kind: "current" } };
  if (id !== undefined) return { kind: "reply", target: { kind: "id", id } };
  return source === undefined ? { kind: "voice" } : { kind: "media", source };
}

/** UTF-16 units of the longest text that is looked at: the object with generous white space. */
const MOST = 200;

/**
 * As `createTidyText`, and silent too for a text that is nothing but the object `{"action": "<token>"}`, alone or in a block of code: some
 * models write the token so.
 */
const createSilentText = (token: string): TidyText => new SilentText(token);

class SilentText implements TidyText {
  readonly #tidy: TidyText;
  readonly #forms: readonly string[];
  /** All text so far, while it may be nothing but the object. */
  #held: string | undefined = "";
  #late = "";
  #isObject = false;

  constructor(token: string) {
    this.#tidy = createTidyText(token);
    this.#forms = formsOf(token);
  }

  text(part: string): string {
    if (this.#held === undefined) return this.#takeLate() + this.#tidy.text(part);
    this.#held += part;
    return mayBe(this.#held, this.#forms) ? "" : this.#release();
  }

  cut(): void {
    // Only white space can stand before the object.
    if (this.#held !== undefined && this.#held.trim() !== "") this.#late += this.#release();
    this.#tidy.cut();
  }

  end(): string {
    this.#isObject = this.#held !== undefined && this.#forms.includes(compact(this.#held));
    if (this.#isObject) return "";
    return this.#takeLate() + (this.#held === undefined ? "" : this.#release()) + this.#tidy.end();
  }

  silent(): boolean {
    return this.#isObject || this.#tidy.silent();
  }

  #release(): string {
    const text = this.#held ?? "";
    this.#held = undefined;
    return this.#tidy.text(text);
  }

  #takeLate(): string {
    const text = this.#late;
    this.#late = "";
    return text;
  }
}

/** Tokens whose forms are kept; the gateway has a few. */
const MOST_KNOWN = 16;
const known = new BoundedMap<string, readonly string[]>(MOST_KNOWN);

const formsOf = (token: string): readonly string[] =>
  known.of(token, () => {
    const object = `{"action":"${token}"}`.toLowerCase();
    return [object, ...["", "json"].map((language) => `\`\`\`${language}${object}\`\`\``)];
  });

const compact = (text: string): string => text.replaceAll(/\s+/g, "").toLowerCase();

/** The first sign of each form. */
const FIRST = /^\s*(?:[{`]|$)/;

const mayBe = (text: string, forms: readonly string[]): boolean =>
  text.length <= MOST && FIRST.test(text) && forms.some((form) => form.startsWith(compact(text)));

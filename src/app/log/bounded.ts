import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { redacted, redactedValue } from "./redact.ts";

/** Most characters of a text in a log line. Models and strangers choose names, paths and messages. */
const MOST_TEXT = 2000;
/** A stack is the program's own, apart from the message at its beginning. */
const MOST_STACK = 8000;
/** Most characters of the lists and objects of a line together, and most members of each. */
const MOST_NESTED = 20_000;
const MOST_MEMBERS = 100;
/** Characters of a member of a list besides its text. */
const MEMBER = 5;
/** Most levels of lists and objects. A value that holds itself ends here too. */
const MOST_LEVELS = 10;

type Fields = Readonly<Record<string, unknown>>;

/** A text that fits a log line. Secrets are masked before it is cut: one that is cut in two would not be recognised. */
export const boundedText = (text: string, most = MOST_TEXT): string =>
  text.length <= most ? text : shorten(Secret.mask(text), most);

/** The fields of a log line with texts, lists and objects that fit the line. What a pattern matches is masked before a text is cut. */
export function boundedFields(fields: Fields, patterns: readonly RegExp[]): Fields {
  const nested = new Nested(patterns);
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "string"
        ? boundedText(redacted(value, patterns), name === "stack" ? MOST_STACK : MOST_TEXT)
        : nested.fit(value),
    ]),
  );
}

/** The lists and objects of a line, which share its room. */
class Nested {
  #left = MOST_NESTED;
  readonly #patterns: readonly RegExp[];

  constructor(patterns: readonly RegExp[]) {
    this.#patterns = patterns;
  }

  fit(value: unknown, level = 0): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value !== "object" || value === null) return value;
    try {
      if (Array.isArray(value)) return level < MOST_LEVELS ? this.#list(value, level + 1) : "…";
      if (!isPlain(value)) return redactedValue(value, this.#patterns);
      return level < MOST_LEVELS ? this.#object(value, level + 1) : "…";
    } catch (error) {
      // A member that is computed may fail.
      return this.#text(`unreadable: ${errorText(error)}`);
    }
  }

  #text(text: string): string {
    const fit = boundedText(redacted(text, this.#patterns));
    this.#left -= fit.length + MEMBER;
    return fit;
  }

  #list(values: readonly unknown[], level: number): unknown {
    const kept: unknown[] = [];
    for (const value of values.slice(0, MOST_MEMBERS)) {
      if (this.#left <= 0) break;
      this.#left -= MEMBER;
      kept.push(this.fit(value, level));
    }
    return kept.length === values.length ? kept : [...kept, more(values.length - kept.length)];
  }

  #object(value: Fields, level: number): Fields {
    const members = Object.entries(value);
    const kept: (readonly [string, unknown])[] = [];
    for (const [name, member] of members.slice(0, MOST_MEMBERS)) {
      if (this.#left <= 0) break;
      kept.push([this.#text(name), this.fit(member, level)]);
    }
    if (kept.length < members.length) kept.push(["…", more(members.length - kept.length)]);
    return Object.fromEntries(kept);
  }
}

const more = (count: number): string => `${count} more left out`;

/** Errors, dates and secrets print themselves. */
function isPlain(value: object): value is Fields {
  if ("toJSON" in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

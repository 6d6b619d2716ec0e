import { Secret } from "../../types/secret.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** Most characters of a text in a log line. Models and strangers choose names, paths and messages. */
const MOST_TEXT = 2000;
/** A stack is the program's own, apart from the message at its beginning. */
const MOST_STACK = 8000;
/** Most characters of the lists and objects of a line together, and most members of each. */
const MOST_NESTED = 20_000;
const MOST_MEMBERS = 100;

type Fields = Readonly<Record<string, unknown>>;

/** A text that fits a log line. Secrets are masked before it is cut: one that is cut in two would not be recognised. */
export const boundedText = (text: string, most = MOST_TEXT): string =>
  text.length <= most ? text : shorten(Secret.mask(text), most);

/** The fields of a log line with texts, lists and objects that fit the line. */
export function boundedFields(fields: Fields): Fields {
  const nested = new Nested();
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "string" ? boundedText(value, name === "stack" ? MOST_STACK : MOST_TEXT) : nested.fit(value),
    ]),
  );
}

/** The lists and objects of a line, which share its room. */
class Nested {
  #left = MOST_NESTED;

  fit(value: unknown): unknown {
    if (typeof value === "string") return this.#text(value);
    if (Array.isArray(value)) return this.#list(value);
    return isPlain(value) ? this.#object(value) : value;
  }

  #text(text: string): string {
    const fit = boundedText(text);
    this.#left -= fit.length;
    return fit;
  }

  #list(values: readonly unknown[]): unknown {
    const kept: unknown[] = [];
    for (const value of values.slice(0, MOST_MEMBERS)) {
      if (this.#left <= 0) break;
      this.#left -= 1;
      kept.push(this.fit(value));
    }
    return kept.length === values.length ? kept : [...kept, more(values.length - kept.length)];
  }

  #object(value: Fields): Fields {
    const members = Object.entries(value);
    const kept: (readonly [string, unknown])[] = [];
    for (const [name, member] of members.slice(0, MOST_MEMBERS)) {
      if (this.#left <= 0) break;
      kept.push([this.#text(name), this.fit(member)]);
    }
    if (kept.length < members.length) kept.push(["…", more(members.length - kept.length)]);
    return Object.fromEntries(kept);
  }
}

const more = (count: number): string => `${count} more left out`;

/** Errors, dates and secrets print themselves. */
function isPlain(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

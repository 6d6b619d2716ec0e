import { BoundedMap } from "../utils/bounded-map.ts";
import { createTidyText, type TidyText } from "./tidy.ts";

/** UTF-16 units of the longest text that is looked at: the object with generous white space. */
const MOST = 200;

/**
 * As `createTidyText`, and silent too for a text that is nothing but the object `{"action": "<token>"}`, alone or in a block of code: some
 * models write the token so.
 */
export const createSilentText = (token: string): TidyText => new SilentText(token);

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
    // Nothing but white space can stand before the object.
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

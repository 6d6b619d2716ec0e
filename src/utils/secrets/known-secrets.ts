import { formsOf, LEAST_SECRET } from "./secret-forms.ts";

export const MASK = "[secret]";

/** Values kept; the oldest is forgotten first. Logins that are renewed each hour would otherwise add up for ever. */
const MOST = 2000;

/**
 * The secrets of this process, found and masked wherever they appear in a text. The time of `mask` grows with the text and
 * not with the number of secrets: a form is looked up by a number made of its first four characters.
 */
export class KnownSecrets {
  readonly #forms = new Map<string, readonly string[]>();
  readonly #byStart = new Map<number, readonly string[]>();
  /** 1 for each number that a form begins with: most places of a text are passed over without a look at the map. */
  readonly #isStart = new Uint8Array(STARTS);

  /** Texts of fewer than eight characters are not remembered. */
  add(value: string): void {
    if (value.length < LEAST_SECRET || this.#forms.has(value)) return;
    const forms = formsOf(value);
    if (forms.length === 0) return;
    const [oldest] = this.#forms.keys();
    if (this.#forms.size >= MOST && oldest !== undefined) this.#forget(oldest);
    this.#forms.set(value, forms);
    for (const form of forms) this.#put(form);
  }

  has(value: string): boolean {
    return this.#forms.has(value);
  }

  /** The text with `[secret]` in place of each known secret, in any of its forms. The same text when there is none. */
  mask(text: string): string {
    if (this.#forms.size === 0) return text;
    let masked = "";
    let from = 0;
    for (let at = 0; at + LEAST_SECRET <= text.length; at += 1) {
      const start = startOf(text, at);
      const found = this.#isStart[start] === 1 ? this.#formAt(start, text, at) : undefined;
      if (found === undefined) continue;
      masked += text.slice(from, at) + MASK;
      from = at + found.length;
      at = from - 1;
    }
    return from === 0 ? text : masked + text.slice(from);
  }

  #formAt(start: number, text: string, at: number): string | undefined {
    return this.#byStart.get(start)?.find((form) => text.startsWith(form, at));
  }

  #put(form: string): void {
    const start = startOf(form, 0);
    this.#isStart[start] = 1;
    const others = this.#byStart.get(start) ?? [];
    // The longest first: one secret may be the beginning of another.
    this.#byStart.set(
      start,
      [...others, form].toSorted((a, b) => b.length - a.length),
    );
  }

  #forget(value: string): void {
    for (const form of this.#forms.get(value) ?? []) this.#drop(form);
    this.#forms.delete(value);
  }

  /** Two secrets may have a form in common: one of the two entries goes. */
  #drop(form: string): void {
    const start = startOf(form, 0);
    const forms = this.#byStart.get(start) ?? [];
    const at = forms.indexOf(form);
    this.#byStart.set(start, at < 0 ? forms : forms.toSpliced(at, 1));
    if (forms.length > 1) return;
    this.#byStart.delete(start);
    this.#isStart[start] = 0;
  }
}

const STARTS = 2 ** 16;

/** A number below `STARTS` from four characters; others may have the same. */
const startOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) << 9) ^
    (text.charCodeAt(at + 1) << 6) ^
    (text.charCodeAt(at + 2) << 3) ^
    text.charCodeAt(at + 3)) &
  (STARTS - 1);

import { formsOf, LEAST_SECRET } from "./secret-forms.ts";

export const MASK = "[secret]";

/** Values kept; the oldest is forgotten first. Logins that are renewed each hour would otherwise add up for ever. */
const MOST = 2000;

/** The start of a longer text: its certain part, masked, and the uncertain rest. */
export interface MaskedBeginning {
  readonly masked: string;
  readonly rest: string;
}

/** Data for finding a secret whose end is still missing. */
interface Edge {
  /** The first one, two and three characters of all forms. */
  readonly beginnings: ReadonlySet<string>;
  readonly longest: number;
}

/**
 * The secrets of this process, found and masked wherever they appear in a text. The time of `mask` grows with the text
 * and not with the number of secrets: each form is found by a number made of its first four characters.
 */
export class KnownSecrets {
  readonly #forms = new Map<string, readonly string[]>();
  readonly #byStart = new Map<number, readonly string[]>();
  /** 1 for each number that a form begins with: most places of a text are passed over without a look at the map. */
  readonly #isStart = new Uint8Array(STARTS);
  /** The edge is made when it is needed: secrets are added in crowds. */
  #known: Edge | undefined;

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

  /**
   * The text with `[secret]` in place of each known secret, in any of its forms. The same text when there is no secret.
   */
  mask(text: string): string {
    return this.#mask(text, text.length).masked;
  }

  /** Masks the start of a longer text. `rest` is the end of it that may be the beginning of a secret. */
  maskBegun(text: string): MaskedBeginning {
    return this.#mask(text, Math.max(0, text.length - this.#edge().longest + 1));
  }

  /** Looks for secrets that are whole everywhere, and for the beginning of one from `openFrom` on. */
  #mask(text: string, openFrom: number): MaskedBeginning {
    let masked = "";
    let from = 0;
    const last = openFrom < text.length ? text.length - 1 : text.length - LEAST_SECRET;
    for (let at = this.#forms.size === 0 ? text.length : 0; at <= last; at += 1) {
      if (at >= openFrom && this.#mayBegin(text, at))
        return { masked: masked + text.slice(from, at), rest: text.slice(at) };
      const start = startOf(text, at);
      const found = this.#isStart[start] === 1 ? this.#formAt(start, text, at) : undefined;
      if (found === undefined) continue;
      masked += text.slice(from, at) + MASK;
      from = at + found.length;
      at = from - 1;
    }
    return { masked: from === 0 ? text : masked + text.slice(from), rest: "" };
  }

  /** Whether the text from there on, up to its end, is the beginning of a longer form. */
  #mayBegin(text: string, at: number): boolean {
    const length = text.length - at;
    if (length < START_LENGTH) return this.#edge().beginnings.has(text.slice(at));
    const start = startOf(text, at);
    if (this.#isStart[start] !== 1) return false;
    const rest = text.slice(at);
    return this.#byStart.get(start)?.some((form) => form.length > length && form.startsWith(rest)) === true;
  }

  #edge(): Edge {
    if (this.#known) return this.#known;
    const forms = [...this.#byStart.values()].flat();
    const beginnings = new Set(forms.flatMap((form) => [form.slice(0, 1), form.slice(0, 2), form.slice(0, 3)]));
    this.#known = { beginnings, longest: forms.reduce((most, { length }) => Math.max(most, length), 0) };
    return this.#known;
  }

  #formAt(start: number, text: string, at: number): string | undefined {
    return this.#byStart.get(start)?.find((form) => text.startsWith(form, at));
  }

  #put(form: string): void {
    this.#known = undefined;
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
    this.#known = undefined;
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
const START_LENGTH = 4;

/** A number below `STARTS` from four characters; others may have the same. */
const startOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) << 9) ^
    (text.charCodeAt(at + 1) << 6) ^
    (text.charCodeAt(at + 2) << 3) ^
    text.charCodeAt(at + 3)) &
  (STARTS - 1);

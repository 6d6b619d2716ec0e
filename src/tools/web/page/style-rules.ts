import { type Declarations, declarationsIn, hides, withoutComments } from "./style.ts";

/** Characters of all style sheets of a page that are read. */
const MOST_SHEETS = 400_000;
const MOST_RULES = 10_000;
/** Conditions in each other. */
const MOST_DEPTH = 5;
/** Layers, what browsers support, and screens that are not narrow. */
const APPLIES =
  /^@(?:layer\b|supports\b(?!\s+not)|media\s+(?:only\s+)?(?:all|screen)?\s*(?:(?:and\s*)?\(\s*min-width\s*:\s*\d{1,3}(?:\.\d+)?px\s*\)\s*)?$)/i;

interface Looks {
  readonly name: string;
  readonly id: string | undefined;
  readonly classes: readonly string[];
}

interface Selector {
  readonly name: string;
  readonly id: string;
  readonly classes: readonly string[];
}

/** The rules of a page's own style sheets that hide elements by one id or by classes. */
export class StyleRules {
  readonly #byKey = new Map<string, Selector[]>();
  /** The custom properties of the page, wherever they are set; the last of each name. */
  readonly #named = new Map<string, string>();
  readonly #rules: { readonly prelude: string; readonly style: Declarations }[] = [];
  #count = 0;

  constructor(html: string) {
    let left = MOST_SHEETS;
    for (const sheet of sheetsIn(html)) {
      if (left <= 0) return;
      this.#read(withoutComments(sheet.slice(0, left)));
      left -= sheet.length;
    }
    // A property may be set after the rule that uses it.
    for (const { prelude, style } of this.#rules) if (hides(this.resolved(style))) this.#add(prelude);
  }

  /** The declarations with the values of custom properties in place of their names. */
  resolved(style: Declarations): Declarations {
    const uses = [...style].filter(([, value]) => value.includes("var("));
    if (uses.length === 0) return style;
    const own = (name: string) => style.get(name) ?? this.#named.get(name);
    return new Map([...style, ...uses.map(([name, value]): [string, string] => [name, valueOf(value, own)])]);
  }

  hide({ name, id, classes }: Looks): boolean {
    if (this.#count === 0) return false;
    const keys = [...classes.map((one) => `.${one}`), ...(id === undefined ? [] : [`#${id}`])];
    return keys.some((key) =>
      this.#byKey
        .get(key)
        ?.some(
          (one) =>
            (one.name === "" || one.name === name) &&
            (one.id === "" || one.id === id) &&
            one.classes.every((part) => classes.includes(part)),
        ),
    );
  }

  /** Rules, and those inside of what applies on a wide screen; not those of other conditions. */
  #read(sheet: string, depth = 0): void {
    for (let at = 0; this.#rules.length < MOST_RULES;) {
      const open = sheet.indexOf("{", at);
      if (open < 0) return;
      const before = sheet.slice(at, open);
      const prelude = before.slice(before.lastIndexOf(";") + 1).trim();
      const close = prelude.startsWith("@") ? endOfBlock(sheet, open) : sheet.indexOf("}", open);
      if (close < 0) return;
      const block = sheet.slice(open + 1, close);
      if (!prelude.startsWith("@")) this.#take(prelude, block);
      else if (depth < MOST_DEPTH && APPLIES.test(prelude)) this.#read(block, depth + 1);
      at = close + 1;
    }
  }

  #take(prelude: string, block: string): void {
    const style = declarationsIn(block);
    for (const [name, value] of style) if (name.startsWith("--")) this.#named.set(name, value);
    // Whether a value that is elsewhere hides is found when all is read.
    const mayHide = hides(style) || [...style.values()].some((value) => value.includes("var("));
    if (mayHide) this.#rules.push({ prelude, style });
  }

  #add(prelude: string): void {
    for (const text of prelude.slice(0, 2000).split(",")) {
      const selector = selectorIn(text.trim());
      if (!selector) continue;
      const key = selector.id === "" ? `.${selector.classes[0]}` : `#${selector.id}`;
      const known = this.#byKey.get(key);
      if (known) known.push(selector);
      else this.#byKey.set(key, [selector]);
      this.#count += 1;
    }
  }
}

/** A value that has `var(--name, fallback)` in it. */
function valueOf(value: string, named: (name: string) => string | undefined): string {
  return value.replaceAll(/var\(\s*(--[\w-]{1,100})\s*(?:,([^()]{0,200}))?\)/g, (_whole, name: string, other = "") =>
    (named(name) ?? String(other)).trim(),
  );
}

/** One element without its surroundings: `p.note`, `#box`, `.a.b`. */
function selectorIn(text: string): Selector | undefined {
  const [, name = "", rest] = /^([a-z][a-z0-9]*)?((?:[.#][\w-]{1,100}){1,8})$/i.exec(text) ?? [];
  if (rest === undefined) return undefined;
  const parts = rest.match(/[.#][\w-]+/g) ?? [];
  const named = (sign: string) => parts.filter((part) => part.startsWith(sign)).map((part) => part.slice(1));
  return { name: name.toLowerCase(), id: named("#")[0] ?? "", classes: named(".") };
}

function endOfBlock(sheet: string, open: number): number {
  let depth = 0;
  for (let at = open; at < sheet.length; at += 1) {
    if (sheet[at] === "{") depth += 1;
    if (sheet[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** What is between `<style>` and its end, in a time that grows with the length only. */
function* sheetsIn(html: string): Generator<string> {
  const begin = /<style[^>]{0,1000}>/gi;
  const end = /<\/style/gi;
  for (let found = begin.exec(html); found; found = begin.exec(html)) {
    end.lastIndex = begin.lastIndex;
    const until = end.exec(html)?.index;
    yield html.slice(begin.lastIndex, until);
    if (until === undefined) return;
    begin.lastIndex = until;
  }
}

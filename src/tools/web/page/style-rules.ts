import { declarationsIn, hides, withoutComments } from "./style.ts";

/** Characters of all style sheets of a page that are read. */
const MOST_SHEETS = 400_000;
const MOST_RULES = 2000;

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
  #count = 0;

  constructor(html: string) {
    let left = MOST_SHEETS;
    for (const sheet of sheetsIn(html)) {
      if (left <= 0) return;
      this.#read(withoutComments(sheet.slice(0, left)));
      left -= sheet.length;
    }
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

  /** Only rules outside of `@media` and its like, which may not apply. */
  #read(sheet: string): void {
    for (let at = 0; this.#count < MOST_RULES;) {
      const open = sheet.indexOf("{", at);
      if (open < 0) return;
      const before = sheet.slice(at, open);
      const prelude = before.slice(before.lastIndexOf(";") + 1).trim();
      const close = prelude.startsWith("@") ? endOfBlock(sheet, open) : sheet.indexOf("}", open);
      if (close < 0) return;
      if (!prelude.startsWith("@") && hides(declarationsIn(sheet.slice(open + 1, close)))) this.#add(prelude);
      at = close + 1;
    }
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

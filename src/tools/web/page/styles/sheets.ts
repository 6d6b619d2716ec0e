import { type DeclarationBlock, declarationsIn, plainBraces } from "./declarations.ts";

/** Most characters of all style sheets of a page that are read. */
const MOST_SHEETS = 400_000;
const MOST_RULES = 10_000;
/** Most nested blocks. */
const MOST_DEPTH = 8;
const MOST_PRELUDE = 2000;

/** A rule with its selectors as text; selectors of a rule inside of another one are complete. */
export interface StyleRule extends DeclarationBlock {
  readonly selectors: string;
}

/** The rules of a page's own style sheets that apply on a wide screen, in their order. */
export function rulesIn(html: string): readonly StyleRule[] {
  const reader = new SheetReader();
  let left = MOST_SHEETS;
  for (const sheet of sheetsIn(html)) {
    if (left <= 0) break;
    reader.read(plainBraces(sheet.slice(0, left)), { depth: 0 });
    left -= sheet.length;
  }
  return reader.rules;
}

interface Around {
  readonly depth: number;
  /** The selectors of the enclosing rule. */
  readonly parent?: string;
}

class SheetReader {
  readonly rules: StyleRule[] = [];

  /** Keeps the rules of a block. Returns the declarations between them. */
  read(block: string, around: Around): string {
    let own = "";
    let at = 0;
    for (let open = block.indexOf("{"); open >= 0 && this.rules.length < MOST_RULES; open = block.indexOf("{", at)) {
      const before = block.slice(at, open);
      const end = before.lastIndexOf(";") + 1;
      own += before.slice(0, end);
      const close = endOfBlock(block, open);
      own += this.#take(
        before
          .slice(end)
          .replaceAll(/<!--|-->/g, "")
          .trim(),
        block.slice(open + 1, close),
        around,
      );
      at = close + 1;
    }
    return own + block.slice(at);
  }

  /** Keeps a rule. Returns the declarations that belong to the enclosing rule. */
  #take(prelude: string, block: string, { depth, parent }: Around): string {
    if (depth >= MOST_DEPTH || prelude.length > MOST_PRELUDE) return "";
    const inside = depth + 1;
    if (!prelude.startsWith("@")) {
      const selectors = parent === undefined ? prelude : within(parent, prelude);
      // Rules inside of a rule count after its own declarations, so these come first in the list.
      const place = this.rules.length;
      const own = this.read(block, { depth: inside, parent: selectors });
      this.rules.splice(place, 0, { selectors, ...declarationsIn(own) });
      return "";
    }
    const scope = /^@scope\s*\(([^)]*)\)/i.exec(prelude)?.[1];
    if (scope !== undefined) this.read(block, { depth: inside, parent: scope });
    else if (applies(prelude)) return this.read(block, { depth: inside, ...(parent !== undefined && { parent }) });
    return "";
  }
}

/** The selectors of a nested rule, with `&` replaced by the selectors of the rule that contains it. */
function within(parent: string, selectors: string): string {
  const around = `:is(${parent})`;
  const each = selectors.match(/(?:[^,()]|\((?:[^()]|\([^()]*\))*\))+/g) ?? [];
  return each
    .map((one) => (one.includes("&") ? one.replaceAll("&", around) : `${around} ${one.trim()}`))
    .join(",")
    .slice(0, MOST_PRELUDE);
}

/** Index of the brace that ends a block; the end of the sheet when there is none. */
function endOfBlock(sheet: string, open: number): number {
  let depth = 0;
  for (let at = open; at < sheet.length; at += 1) {
    if (sheet[at] === "{") depth += 1;
    if (sheet[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  return sheet.length;
}

/** The text of each `<style>` element. The time grows only with the length. */
function* sheetsIn(html: string): Generator<string> {
  const begin = /<style\b[^>]{0,1000}>/gi;
  const end = /<\/style/gi;
  for (let found = begin.exec(html); found; found = begin.exec(html)) {
    end.lastIndex = begin.lastIndex;
    const until = end.exec(html)?.index;
    yield html.slice(begin.lastIndex, until);
    if (until === undefined) return;
    begin.lastIndex = until;
  }
}

/** Size, in pixels, of the screen for which a page is read. */
const SCREEN: Readonly<Record<string, number>> = { width: 1280, height: 800 };
const PIXELS: Readonly<Record<string, number>> = { px: 1, em: 16, rem: 16, pt: 4 / 3, cm: 37.8, in: 96 };
/** Values of features that the screen does not have. */
const NOT_THERE =
  /^(?:prefers-color-scheme:dark|prefers-reduced-motion:reduce|prefers-contrast:(?:more|less|custom)|forced-colors:active|orientation:portrait|hover:none|any-hover:none|pointer:(?:coarse|none)|any-pointer:none|scripting:none|monochrome|display-mode:(?:standalone|fullscreen)|inverted-colors:inverted|prefers-reduced-(?:data|transparency):reduce)$/;

/** Whether the rules inside of `@media …`, `@layer …` and others count on a wide screen. */
function applies(prelude: string): boolean {
  const [, name = "", condition = ""] = /^@([a-z-]+)\s*([^]*)$/i.exec(prelude) ?? [];
  switch (name.toLowerCase()) {
    case "media":
      return condition.split(",").some((query) => mediaApplies(query.trim().toLowerCase()));
    case "layer":
    case "container":
      return true;
    case "supports":
      return !/^not\b/i.test(condition);
    default:
      return false;
  }
}

function mediaApplies(query: string): boolean {
  const [, negation = "", type = "", rest = ""] =
    /^(?:(not|only)\s+)?(?:(all|screen|print|speech|tty|tv|projection|handheld)\b)?\s*([^]*)$/.exec(query) ?? [];
  const isType = type === "" || type === "all" || type === "screen";
  const doesApply = isType && featuresApply(rest.replace(/^and\b/, ""));
  return negation === "not" ? !doesApply : doesApply;
}

function featuresApply(text: string): boolean {
  const features = text.match(/(?:not\s*)?\([^()]*\)/g) ?? [];
  const each = features.map((one) => isThere(one.replace(/^not\s*/, "").slice(1, -1)) !== one.startsWith("not"));
  return /\)\s*or\s*\(/.test(text) ? each.some(Boolean) : each.every(Boolean);
}

/** Whether the screen has a feature. An unknown feature counts as present. */
function isThere(feature: string): boolean {
  const plain = feature.replaceAll(/\s+/g, "");
  const named = /^(min|max)-(?:device-)?(width|height):(.+)$/.exec(plain);
  if (named) return compares(SCREEN[named[2] ?? ""], named[1] === "min" ? ">=" : "<=", named[3]);
  const range = /^(?:([\d.]+[a-z]*)([<>]=?))?(width|height)(?:([<>]=?|:|=)([\d.]+[a-z]*))?$/.exec(plain);
  if (!range) return !NOT_THERE.test(plain);
  const [, least, turned = "", side = "", sign = "", most] = range;
  return compares(SCREEN[side], TURNED[turned], least) && compares(SCREEN[side], sign, most);
}

const TURNED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

function compares(size: number | undefined, sign: string | undefined, value: string | undefined): boolean {
  const [, number, unit = ""] = /^([\d.]+)([a-z]*)$/.exec(value ?? "") ?? [];
  if (size === undefined || number === undefined || sign === undefined) return true;
  const other = Number(number) * (PIXELS[unit] ?? 1);
  return COMPARISONS[sign]?.(size, other) ?? true;
}

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ":": (a, b) => a === b,
  "=": (a, b) => a === b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
};

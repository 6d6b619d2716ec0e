import { compile } from "css-select";
import { isTraversal, parse, type Selector as Token, SelectorType } from "css-what";
import {
  type Block,
  type Declarations,
  declarationsIn,
  hides,
  HIDING_PROPERTIES,
  joined,
  mayHide,
} from "./declarations.ts";
import { type Attributes, elementsIn, type PageElement } from "./elements.ts";
import { rulesIn, type StyleRule } from "./sheets.ts";

/** A rule for one selector. */
interface Rule {
  readonly selector: Selector;
  readonly block: Block;
  readonly place: number;
}

/** All elements of the page, and the ids and classes that they have. */
interface Surroundings {
  readonly elements: readonly PageElement[];
  readonly keys: ReadonlySet<string>;
}

/** Rules by what each of their elements has. */
type Index = Map<string, Rule[]>;

/** The styles of a page, as far as they hide something: those of its elements and of its own style sheets. */
export class StyleRules {
  readonly #page: string;
  readonly #rules: readonly StyleRule[];
  /** The custom properties of the page, wherever they are set; the last of each name. */
  readonly #named: ReadonlyMap<string, string>;
  readonly #hiding: Index;
  /** Those that may show again what others hide; made when something is hidden. */
  #others: Index | undefined;
  #known: Surroundings | undefined;
  readonly #steps = new Steps();

  constructor(page: string) {
    this.#page = page;
    this.#rules = rulesIn(page);
    this.#named = namedIn(this.#rules);
    this.#hiding = this.#indexOf((style) => mayHide(this.resolved(style)));
  }

  /** The declarations with the values of custom properties in place of their names. */
  resolved(style: Declarations): Declarations {
    const uses = [...style].filter(([, value]) => value.includes("var("));
    if (uses.length === 0) return style;
    const own = (name: string) => style.get(name) ?? this.#named.get(name);
    return new Map([...style, ...uses.map(([name, value]): [string, string] => [name, valueOf(value, own)])]);
  }

  /**
   * Whether its own style, or the rules, hide an element; `place` is its place among all elements of the page, in the order in which they
   * begin. Of a page whose rules take too long, everything is hidden that they may hide.
   */
  hide(name: string, attributes: Attributes, place: number): boolean {
    const own = attributes["style"] === undefined ? undefined : declarationsIn(attributes["style"]);
    const isOwn = own !== undefined && hides(this.resolved(joined(own)));
    if (this.#rules.length === 0 || (this.#hiding.size === 0 && !isOwn)) return isOwn;
    const seen = this.#seen(name, attributes, place);
    const keys = keysOf(seen);
    const mayBe = isOwn || keys.some((key) => this.#hiding.has(key));
    if (this.#steps.isOver) return mayBe;
    try {
      return this.#hidesNow(seen, keys, { own, isOwn });
    } catch (error) {
      if (!(error instanceof StepsTaken)) throw error;
      return mayBe;
    }
  }

  #hidesNow(
    seen: Seen,
    keys: readonly string[],
    { own, isOwn }: { readonly own: Block | undefined; readonly isOwn: boolean },
  ): boolean {
    const hiding = this.#matching(this.#hiding, keys, seen);
    if (hiding.length === 0 && !isOwn) return false;
    this.#others ??= this.#indexOf((style) => !mayHide(this.resolved(style)));
    return hides(this.resolved(cascade([...hiding, ...this.#matching(this.#others, keys, seen)], own)));
  }

  #seen(name: string, attributes: Attributes, place: number): Seen {
    return {
      name,
      id: attributes["id"]?.toLowerCase(),
      classes: classesIn(attributes),
      element: () => this.#surroundings.elements[place],
      isInPage: (key) => this.#surroundings.keys.has(key),
    };
  }

  get #surroundings(): Surroundings {
    if (this.#known) return this.#known;
    const elements = elementsIn(this.#page);
    this.#known = { elements, keys: new Set(elements.flatMap(({ attributes }) => namesOf(attributes))) };
    return this.#known;
  }

  #matching(index: Index, keys: readonly string[], seen: Seen): readonly Rule[] {
    return keys.flatMap((key) => (index.get(key) ?? []).filter((rule) => this.#matches(rule, seen)));
  }

  #matches({ selector }: Rule, seen: Seen): boolean {
    this.#steps.take(1);
    return selector.matches(seen, this.#steps);
  }

  #indexOf(isWanted: (style: Declarations) => boolean): Index {
    const index: Index = new Map();
    for (const [place, { selectors, ...block }] of this.#rules.entries()) {
      const style = joined(block);
      if (!concernsHiding(style) || !isWanted(style)) continue;
      for (const selector of selectorsIn(selectors)) {
        const known = index.get(selector.key);
        if (known) known.push({ selector, block, place });
        else index.set(selector.key, [{ selector, block, place }]);
      }
    }
    return index;
  }
}

const concernsHiding = (style: Declarations): boolean => [...style.keys()].some((name) => HIDING_PROPERTIES.has(name));

const keysOf = ({ name, id, classes }: Seen): readonly string[] => [...keysWith(id, classes), name, "*"];

const keysWith = (id: string | undefined, classes: readonly string[]): readonly string[] => [
  ...(id === undefined ? [] : [`#${id}`]),
  ...new Set(classes.map((one) => `.${one}`)),
];

const classesIn = ({ class: text = "" }: Attributes): readonly string[] =>
  text === ""
    ? []
    : text
        .toLowerCase()
        .split(/\s+/)
        .filter((one) => one !== "");

const namesOf = (attributes: Attributes): readonly string[] =>
  keysWith(attributes["id"]?.toLowerCase(), classesIn(attributes));

function namedIn(rules: readonly StyleRule[]): ReadonlyMap<string, string> {
  const all = rules.flatMap((rule) => [...joined(rule)].filter(([name]) => name.startsWith("--")));
  return new Map(all);
}

/** What counts of all declarations for one element. */
function cascade(rules: readonly Rule[], own: Block | undefined): Declarations {
  const order = rules.toSorted((a, b) => a.selector.weight - b.selector.weight || a.place - b.place);
  const blocks = [...order.map(({ block }) => block), ...(own ? [own] : [])];
  return new Map([...blocks.flatMap(({ plain }) => [...plain]), ...blocks.flatMap(({ important }) => [...important])]);
}

/** A value that has `var(--name, fallback)` in it. */
function valueOf(value: string, named: (name: string) => string | undefined): string {
  return value.replaceAll(/var\(\s*(--[\w-]{1,100})\s*(?:,([^()]{0,200}))?\)/g, (_whole, name: string, other = "") =>
    (named(name) ?? String(other)).trim(),
  );
}

/** An element, and where a rule needs them, its surroundings. */
interface Seen {
  readonly name: string;
  readonly id: string | undefined;
  readonly classes: readonly string[];
  /** Undefined where the surroundings are not known. */
  element(): PageElement | undefined;
  /** Whether any element of the page has this id or class. */
  isInPage(key: string): boolean;
}

/** One selector of a rule. */
interface Selector {
  /** What each element has that it matches: `#id`, `.class`, the name, or `*` for any. Lower case. */
  readonly key: string;
  /** What decides between two rules: a larger one counts. */
  readonly weight: number;
  matches(seen: Seen, steps: Steps): boolean;
}

/** The selectors of a rule; none where browsers do not know one of them. */
function selectorsIn(text: string): readonly Selector[] {
  try {
    return parse(text)
      .filter((tokens) => !tokens.some(isNever))
      .map(selectorOf);
  } catch {
    return [];
  }
}

const ID = 1_000_000;
const CLASS = 1000;

function selectorOf(tokens: readonly Token[]): Selector {
  const subject = tokens.slice(tokens.findLastIndex(isTraversal) + 1);
  const keys = subject.map(keyOf);
  const key =
    keys.find((one) => one?.startsWith("#")) ?? keys.find((one) => one?.startsWith(".")) ?? keys.find(Boolean);
  const isPlain = subject.length === tokens.length && keys.every((one) => one !== undefined);
  const all = keys.filter((one) => one !== undefined);
  return {
    key: key ?? "*",
    weight: weightOf(tokens),
    matches: isPlain ? (seen) => all.every((one) => has(seen, one)) : compiled(tokens),
  };
}

/** What an element has that a part of a selector asks for; undefined for a part that asks something else. */
function keyOf(token: Token): string | undefined {
  if (token.type === SelectorType.Tag) return token.name.toLowerCase();
  if (token.type !== SelectorType.Attribute || token.ignoreCase !== "quirks") return undefined;
  return `${token.name === "id" ? "#" : "."}${token.value.toLowerCase()}`;
}

function has({ name, id, classes }: Seen, key: string): boolean {
  if (key.startsWith("#")) return id === key.slice(1);
  return key.startsWith(".") ? classes.includes(key.slice(1)) : name === key;
}

const weightOf = (tokens: readonly Token[]): number => tokens.reduce((sum, token) => sum + weight(token), 0);

function weight(token: Token): number {
  if (token.type === SelectorType.Tag) return 1;
  if (token.type === SelectorType.Attribute) return token.name === "id" && token.ignoreCase === "quirks" ? ID : CLASS;
  if (token.type !== SelectorType.Pseudo || token.name === "where") return 0;
  return Array.isArray(token.data) ? Math.max(0, ...token.data.map(weightOf)) : CLASS;
}

/** A page that nobody points at or writes into. */
const AT_REST = [
  "hover active focus focus-within focus-visible target target-within visited fullscreen modal popover-open",
  "user-valid user-invalid playing autofill picture-in-picture",
]
  .join(" ")
  .split(" ");

/** What a part of a selector says that no element of a page fits. */
const isNever = ({ type, ...token }: Token): boolean =>
  type === SelectorType.PseudoElement ||
  (type === SelectorType.Pseudo && "name" in token && AT_REST.includes(token.name));

function compiled(tokens: readonly Token[]): Selector["matches"] {
  const named = tokens.flatMap((token) => keyOf(token) ?? []).filter((key) => /^[.#]/.test(key));
  let query: ((element: PageElement) => boolean) | undefined;
  return (seen, steps) => {
    const element = seen.element();
    if (element === undefined) return false;
    query ??= named.every((key) => seen.isInPage(key)) ? queryOf(tokens, steps) : () => false;
    return query(element);
  };
}

/** A selector that css-select does not know may be known to browsers: it counts for each element with its key. */
function queryOf(tokens: readonly Token[], steps: Steps): (element: PageElement) => boolean {
  const pseudos = {
    ...Object.fromEntries(AT_REST.map((name) => [name, () => false])),
    empty: ({ children, hasText }: PageElement) => children.length === 0 && !hasText,
  };
  try {
    return compile<PageElement, PageElement>([[...tokens]], { adapter: adapterFor(steps), pseudos, quirksMode: true });
  } catch {
    return () => true;
  }
}

const adapterFor = (steps: Steps) => ({
  isTag: (_element: PageElement): _element is PageElement => steps.take(1),
  equals: (a: PageElement, b: PageElement) => steps.take(1) && a === b,
  getName: ({ name }: PageElement) => name,
  getParent: ({ parent }: PageElement) => (steps.take(1), parent ?? null),
  getChildren: ({ children }: PageElement) => (steps.take(1), children),
  getSiblings: (element: PageElement) => (steps.take(1), element.parent?.children ?? [element]),
  prevElementSibling: ({ parent, place }: PageElement) => (steps.take(1), parent?.children[place - 1] ?? null),
  hasAttrib: ({ attributes }: PageElement, name: string) => steps.take(1) && Object.hasOwn(attributes, name),
  getAttributeValue({ attributes }: PageElement, name: string) {
    const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    steps.take(1 + (value?.length ?? 0) / 64);
    return value;
  },
  getText: () => "",
  removeSubsets: (elements: PageElement[]) => elements,
});

/** Steps that the rules of one page may take: some tenths of a second. */
const MOST_STEPS = 3_000_000;

/** Thrown in the middle of a rule when there are none left. */
class StepsTaken extends Error {}
const TAKEN = new StepsTaken("the rules of a page took too long");

/** Counts what rules look at, so that no page keeps its reader busy with them. */
class Steps {
  #left = MOST_STEPS;

  get isOver(): boolean {
    return this.#left <= 0;
  }

  /** Always true. Throws `StepsTaken` when there are none left. */
  take(count: number): true {
    this.#left -= count;
    if (this.#left <= 0) throw TAKEN;
    return true;
  }
}

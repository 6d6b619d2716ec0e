import { compile } from "css-select";
import { isTraversal, parse, type Selector as Token, SelectorType } from "css-what";
import {
  type DeclarationBlock,
  type Declarations,
  declarationsIn,
  hides,
  HIDING_PROPERTIES,
  joinedDeclarations,
  mayHide,
} from "./declarations.ts";
import { type Attributes, elementsIn, type PageElement } from "./elements.ts";
import { rulesIn, type StyleRule } from "./sheets.ts";

/** A rule for one selector. */
interface Rule {
  readonly selector: Selector;
  readonly block: DeclarationBlock;
  readonly place: number;
}

/** All elements of the page, and their ids and classes. */
interface Surroundings {
  readonly elements: readonly PageElement[];
  readonly keys: ReadonlySet<string>;
}

/** Rules by the key of their selector. */
type Index = Map<string, Rule[]>;

/** The styles of a page that hide content: those of its elements and of its own style sheets. */
export class StyleRules {
  readonly #page: string;
  readonly #rules: readonly StyleRule[];
  /** The custom properties of the page, from every rule; of each name the last value. */
  readonly #named: ReadonlyMap<string, string>;
  readonly #hiding: Index;
  /** Rules that may show hidden elements again; made when the first element is hidden. */
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
   * Whether an element is hidden by its own style, or by the rules; `place` is its index among all elements of the
   * page, in the order in which they begin. When the rules of a page take too long, every element counts as hidden that
   * they may hide.
   */
  hide(name: string, attributes: Attributes, place: number): boolean {
    const own = attributes["style"] === undefined ? undefined : declarationsIn(attributes["style"]);
    const isOwn = own !== undefined && hides(this.resolved(joinedDeclarations(own)));
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
    { own, isOwn }: { readonly own: DeclarationBlock | undefined; readonly isOwn: boolean },
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
      const style = joinedDeclarations(block);
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
  const all = rules.flatMap((rule) => [...joinedDeclarations(rule)].filter(([name]) => name.startsWith("--")));
  return new Map(all);
}

/** The declarations that count for one element. */
function cascade(rules: readonly Rule[], own: DeclarationBlock | undefined): Declarations {
  const order = rules.toSorted((a, b) => a.selector.weight - b.selector.weight || a.place - b.place);
  const blocks = [...order.map(({ block }) => block), ...(own ? [own] : [])];
  return new Map([...blocks.flatMap(({ plain }) => [...plain]), ...blocks.flatMap(({ important }) => [...important])]);
}

/** A value with its `var(--name, fallback)` replaced. */
function valueOf(value: string, named: (name: string) => string | undefined): string {
  return value.replaceAll(/var\(\s*(--[\w-]{1,100})\s*(?:,([^()]{0,200}))?\)/g, (_whole, name: string, other = "") =>
    (named(name) ?? String(other)).trim(),
  );
}

/** An element, with its surroundings for rules that need them. */
interface Seen {
  readonly name: string;
  readonly id: string | undefined;
  readonly classes: readonly string[];
  /** The element in its surroundings; undefined where these are not known. */
  element(): PageElement | undefined;
  /** Whether any element of the page has this id or class. */
  isInPage(key: string): boolean;
}

/** A selector of a rule. */
interface Selector {
  /** Key of each element that matches: `#id`, `.class`, the name, or `*` for any. Lower case. */
  readonly key: string;
  /** Weight that decides between two rules: the larger one counts. */
  readonly weight: number;
  matches(seen: Seen, steps: Steps): boolean;
}

/** The selectors of a rule; none when browsers do not know one of them. */
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

/** The key that a part of a selector asks for; undefined for any other part. */
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

/** Pseudo-classes that match nothing on a page without a pointer and without input. */
const AT_REST = [
  "hover active focus focus-within focus-visible target target-within visited fullscreen modal popover-open",
  "user-valid user-invalid playing autofill picture-in-picture",
]
  .join(" ")
  .split(" ");

/** Whether a part of a selector matches no element of a page. */
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

/**
 * The compiled selector. A selector that css-select does not know may be known to browsers, so it matches each element
 * with its key.
 */
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

/** Most steps of the rules of one page: some tenths of a second. */
const MOST_STEPS = 3_000_000;

/** Thrown in the middle of a rule when no steps are left. */
class StepsTaken extends Error {}
const TAKEN = new StepsTaken("the rules of a page took too long");

/** Counts the steps of rules, so that no page keeps its reader busy with its rules. */
class Steps {
  #left = MOST_STEPS;

  get isOver(): boolean {
    return this.#left <= 0;
  }

  /** Takes steps. Always true. Throws `StepsTaken` when no steps are left. */
  take(count: number): true {
    this.#left -= count;
    if (this.#left <= 0) throw TAKEN;
    return true;
  }
}

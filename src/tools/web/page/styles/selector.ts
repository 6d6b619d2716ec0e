import { compile } from "css-select";
import { isTraversal, parse, type Selector as Token, SelectorType } from "css-what";
import type { PageElement } from "./elements.ts";
import type { Steps } from "./steps.ts";

/** An element, and where a rule needs them, its surroundings. */
export interface Seen {
  readonly name: string;
  readonly id: string | undefined;
  readonly classes: readonly string[];
  /** Undefined where the surroundings are not known. */
  element(): PageElement | undefined;
  /** Whether any element of the page has this id or class. */
  isInPage(key: string): boolean;
}

/** One selector of a rule. */
export interface Selector {
  /** What each element has that it matches: `#id`, `.class`, the name, or `*` for any. Lower case. */
  readonly key: string;
  /** What decides between two rules: a larger one counts. */
  readonly weight: number;
  matches(seen: Seen, steps: Steps): boolean;
}

/** The selectors of a rule; none where browsers do not know one of them. */
export function selectorsIn(text: string): readonly Selector[] {
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

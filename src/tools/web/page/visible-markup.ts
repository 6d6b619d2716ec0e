import { Parser } from "htmlparser2";
import { StyleRules } from "./styles/style-rules.ts";
import type { Attributes } from "./styles/elements.ts";

/** The visible content of a page, as markup without styles and scripts. */
export interface VisibleMarkup {
  readonly html: string;
  readonly title: string;
  /** Characters of text in `html`. */
  readonly shown: number;
  /** Characters of text that the page hides. */
  readonly hidden: number;
  readonly scripts: number;
  /** Address to which the page itself sends its readers on; unset when there is none. */
  readonly leadsTo?: string;
  /** True when there was more than `most`. */
  readonly isCut: boolean;
}

interface Wish {
  /** The address of the page. */
  readonly url: string;
  /** Most characters of markup. */
  readonly most: number;
  /** True to leave out menus, headers, footers and side columns. */
  readonly onlyMain: boolean;
}

/** Elements without text for a reader. */
const DROPPED = new Set(
  (
    "head title style svg canvas iframe object embed audio video map select datalist textarea " +
    "input frame frameset noembed noframes applet portal"
  ).split(" "),
);
const FRAME = new Set(["nav", "header", "footer", "aside", "menu"]);
const VOID = new Set(["br", "hr", "img", "wbr", "col"]);
/** Attributes that are kept, because they describe a text. */
const KEPT = ["id", "class", "role", "dir", "lang", "colspan", "rowspan", "start", "datetime", "itemprop", "rel"];
/** Most characters of an attribute. Only the rules that find an article read ids and classes. */
const MOST_NAMES = 100;
const MOST_ALT = 80;
/** Depth below which only the text of elements counts. */
const MOST_DEPTH = 150;
const PART = 16 * 1024;
/** Content of `http-equiv="refresh"`, such as `5; url=/there`. */
const REFRESH = /^\s*[\d.]{1,9}\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']{1,2000})/i;

/** The visible content of a page. `rules`: those of the same page, when they are known. */
export function visibleMarkup(page: string, wish: Wish, rules: StyleRules = new StyleRules(page)): VisibleMarkup {
  const reader = new Reader(wish, rules);
  const parser = new Parser(reader, { decodeEntities: true, lowerCaseTags: true });
  for (let at = 0; at < page.length && !reader.isFull; at += PART) parser.write(page.slice(at, at + PART));
  parser.end();
  return reader.result();
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const quoted = (text: string): string => escaped(text).replaceAll('"', "&quot;");

/** An open element. */
interface Open {
  readonly name: string;
  /** True when the element is in the markup, and so needs an end. */
  readonly isWritten: boolean;
}

class Reader {
  readonly #wish: Wish;
  readonly #rules: StyleRules;
  readonly #open: Open[] = [];
  readonly #parts: string[] = [];
  #base: string;
  #size = 0;
  /** Number of elements that have begun. */
  #count = 0;
  /** Depth at which the omitted part begins; undefined outside of one. */
  #skipFrom: number | undefined;
  #isSkipHidden = false;
  #title = "";
  #isTitled = false;
  #leadsTo: string | undefined;
  #counts = { shown: 0, hidden: 0, scripts: 0 };

  constructor(wish: Wish, rules: StyleRules) {
    this.#wish = wish;
    this.#rules = rules;
    this.#base = wish.url;
  }

  get isFull(): boolean {
    return this.#size > this.#wish.most;
  }

  onopentag(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#note(name, attributes);
    const isLeft = this.#skipFrom !== undefined || this.isFull || this.#isLeftOut(name, attributes);
    this.#count += 1;
    const isWritten = !isLeft && this.#open.length < MOST_DEPTH && !STRUCTURE.has(name);
    this.#open.push({ name, isWritten });
    if (isWritten) this.#write(`<${name}${this.#attributes(name, attributes)}>`);
  }

  /** Notes the facts of elements without text: scripts, the base address, and a redirect. */
  #note(name: string, { href, content, "http-equiv": directive = "" }: Readonly<Record<string, string>>): void {
    if (name === "script") this.#counts.scripts += 1;
    if (name === "base" && href !== undefined) this.#base = this.#absolute(href) ?? this.#base;
    if (name === "meta" && directive.trim().toLowerCase() === "refresh")
      this.#leadsTo ??= this.#absolute(REFRESH.exec(content ?? "")?.[1]);
  }

  /** Whether an element is left out. Notes the depth at which the omitted part begins. */
  #isLeftOut(name: string, attributes: Readonly<Record<string, string>>): boolean {
    const isUnseen = isHidden(name, attributes, { rules: this.#rules, place: this.#count });
    const isDropped = DROPPED.has(name) || name === "script" || (this.#wish.onlyMain && FRAME.has(name));
    if (!isUnseen && !isDropped) return false;
    this.#skipFrom = this.#open.length;
    this.#isSkipHidden = isUnseen && !isDropped;
    return true;
  }

  ontext(text: string): void {
    const within = this.#open.at(-1)?.name;
    if (within === "title" && this.#isTitle) this.#title += text;
    if (this.#skipFrom !== undefined) {
      if (this.#isSkipHidden) this.#counts.hidden += text.trim().length;
      return;
    }
    if (this.isFull) return;
    const kept = text.slice(0, this.#wish.most);
    this.#counts.shown += kept.trim().length;
    this.#write(escaped(kept));
  }

  /** Whether a title is the first of the page; a picture has titles of its own. */
  get #isTitle(): boolean {
    return !this.#isTitled && this.#title.length < 1000 && !this.#open.some(({ name }) => name === "svg");
  }

  onclosetag(): void {
    const closed = this.#open.pop();
    if (closed?.name === "title" && this.#title !== "") this.#isTitled = true;
    if (this.#skipFrom === this.#open.length) this.#skipFrom = undefined;
    if (closed?.isWritten === true && !VOID.has(closed.name)) this.#parts.push(`</${closed.name}>`);
  }

  result(): VisibleMarkup {
    const title = this.#title.replaceAll(/\s+/g, " ").trim();
    const leadsTo = this.#leadsTo;
    return {
      html: this.#parts.join(""),
      title,
      ...this.#counts,
      isCut: this.isFull,
      ...(leadsTo !== undefined && { leadsTo }),
    };
  }

  #write(part: string): void {
    this.#parts.push(part);
    this.#size += part.length;
  }

  #attributes(name: string, given: Readonly<Record<string, string>>): string {
    const kept = KEPT.flatMap((key) => {
      const value = given[key];
      return value === undefined || value === "" ? [] : [` ${key}="${quoted(value.slice(0, MOST_NAMES))}"`];
    });
    const link = name === "a" ? this.#absolute(given["href"]) : undefined;
    const source = name === "img" ? this.#absolute(given["src"]) : undefined;
    return [
      ...kept,
      ...(link === undefined ? [] : [` href="${quoted(link)}"`]),
      ...(source === undefined
        ? []
        : [` src="${quoted(source)}" alt="${quoted((given["alt"] ?? "").slice(0, MOST_ALT))}"`]),
    ].join("");
  }

  /** A link of the page as an address; undefined when it leads to nothing that can be fetched. */
  #absolute(link: string | undefined): string | undefined {
    if (link === undefined || link.length > 2000 || /^\s*(?:#|javascript:|data:)/i.test(link)) return undefined;
    const url = URL.parse(link.trim(), this.#base);
    return url && /^(?:https?|mailto):$/.test(url.protocol) ? url.href : undefined;
  }
}

const STRUCTURE = new Set(["html", "body", "title", "meta", "link", "base", "param", "source", "track", "wbr"]);

/** Classes by which the field's style libraries hide a text from people who look at the page. */
const HIDING_CLASSES = new Set(
  (
    "sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only ui-helper-hidden-accessible " +
    "a11y-hidden offscreen off-screen invisible is-hidden hide"
  ).split(" "),
);
/** Classes that hide, unless another class shows the element again on a wide screen. */
const NARROW_CLASSES = new Set(["hidden", "d-none"]);
const SHOWN_AGAIN = /^(?:(?:sm|md|lg|xl|2xl):(?:block|flex|grid|contents|inline|table)|d-(?:sm|md|lg|xl|xxl)-(?!none))/;
/** Elements whose content a browser with scripts never shows. */
const UNSEEN_ELEMENTS = new Set(["noscript", "template"]);

/**
 * Whether a person who looks at the page does not see the element; `place` is its index among all elements that begin.
 */
function isHidden(name: string, attributes: Attributes, { rules, place }: Surroundings): boolean {
  if (UNSEEN_ELEMENTS.has(name)) return true;
  // Pages hide their whole body until their scripts have run.
  if (name === "html" || name === "body") return false;
  if (saysHidden(name, attributes)) return true;
  const names = (attributes["class"] ?? "").toLowerCase().split(/\s+/);
  return isHiddenByClass(names.filter((one) => one !== "")) || rules.hide(name, attributes, place);
}

interface Surroundings {
  readonly rules: StyleRules;
  readonly place: number;
}

const saysHidden = (name: string, attributes: Attributes): boolean =>
  "hidden" in attributes ||
  attributes["aria-hidden"]?.trim().toLowerCase() === "true" ||
  (name === "dialog" && !("open" in attributes));

function isHiddenByClass(names: readonly string[]): boolean {
  if (names.some((one) => HIDING_CLASSES.has(one))) return true;
  return names.some((one) => NARROW_CLASSES.has(one)) && !names.some((one) => SHOWN_AGAIN.test(one));
}

import { Parser } from "htmlparser2";

export type Attributes = Readonly<Record<string, string>>;

/** An element of a page, with its facts for style rules. */
export interface PageElement {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parent: PageElement | undefined;
  readonly children: PageElement[];
  /** Index of the element among the children of its parent. */
  readonly place: number;
  hasText: boolean;
}

/** Most elements that are read; rules that need the surroundings of an element do not find later ones. */
const MOST_ELEMENTS = 300_000;

/**
 * The elements of a page in the order in which they begin. `html` and `body` are around all others, even if the page
 * has no tags for them.
 */
export function elementsIn(page: string): readonly PageElement[] {
  const reader = new ElementReader();
  const parser = new Parser(reader, { decodeEntities: true, lowerCaseTags: true });
  const part = 16 * 1024;
  for (let at = 0; at < page.length && reader.elements.length < MOST_ELEMENTS; at += part)
    parser.write(page.slice(at, at + part));
  parser.end();
  return reader.elements;
}

class ElementReader {
  readonly elements: PageElement[] = [];
  readonly #open: PageElement[] = [];
  #html = madeIn(undefined, "html", {});
  #body = madeIn(this.#html, "body", {});

  onopentag(name: string, attributes: Attributes): void {
    const element = this.#made(name, attributes);
    this.elements.push(element);
    this.#open.push(element);
  }

  ontext(text: string): void {
    const within = this.#open.at(-1);
    if (within && text.trim() !== "") within.hasText = true;
  }

  onclosetag(): void {
    this.#open.pop();
  }

  #made(name: string, attributes: Attributes): PageElement {
    const isFirst = this.elements.length === 0;
    if (name === "html" && isFirst) {
      this.#html = madeIn(undefined, "html", attributes);
      this.#body = madeIn(this.#html, "body", {});
      return this.#html;
    }
    if (name === "body" && this.#body.children.length === 0) {
      this.#html.children.splice(this.#html.children.indexOf(this.#body), 1);
      this.#body = madeIn(this.#html, "body", attributes);
      return this.#body;
    }
    const around = this.#open.at(-1);
    const top = name === "head" ? this.#html : this.#body;
    return madeIn(around === undefined || around === this.#html ? top : around, name, attributes);
  }
}

function madeIn(parent: PageElement | undefined, name: string, attributes: Attributes): PageElement {
  const children = parent?.children ?? [];
  const made = { name, attributes, parent, children: [], place: children.length, hasText: false };
  children.push(made);
  return made;
}

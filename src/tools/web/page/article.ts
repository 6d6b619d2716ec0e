import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";

/** The used parts of a DOM node. */
export interface PageNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string;
  readonly childNodes: Iterable<PageNode>;
  getAttribute(name: string): string | null;
  remove(): void;
}

export interface Article {
  readonly root: PageNode;
  readonly title: string;
  readonly isReadable: boolean;
}

export const TEXT_NODE = 3;
export const ELEMENT_NODE = 1;

/** Least characters, and least share of the page's text: an article with less of both is probably no article. */
const LEAST_CHARS = 200;
const LEAST_SHARE = 0.5;

/** The article of a page without hidden parts, or the whole page when it has no article or `readability` is off. */
export function articleOf(html: string, { title, readability }: { title: string; readability: boolean }): Article {
  const whole = bodyOf(html, title);
  if (!readability) return { root: whole.body, title, isReadable: false };
  const all = whole.body.textContent.trim().length;
  const article = new Readability<PageNode>(whole, { serializer: (node: PageNode) => node }).parse();
  const root = article?.content;
  const size = article?.textContent?.trim().length ?? 0;
  if (root && size > 0 && (size >= LEAST_CHARS || size >= all * LEAST_SHARE))
    return { root, title: article.title?.trim() || title, isReadable: true };
  // The search for an article changes the document.
  return { root: bodyOf(html, title).body, title, isReadable: false };
}

function bodyOf(html: string, title: string) {
  const head = `<title>${title.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</title>`;
  return parseHTML(`<!doctype html><html><head>${head}</head><body>${html}</body></html>`).document;
}

/** Removes all nodes after so many characters of text and links. Returns whether there were any. */
export function cutAfter(root: PageNode, most: number): boolean {
  let left = most;
  let isCut = false;
  const visit = (node: PageNode): void => {
    // A copy of the list, because removing a child changes the node's own list.
    for (const child of Array.from(node.childNodes)) {
      if (left <= 0) {
        isCut ||= child.textContent.trim() !== "";
        child.remove();
        continue;
      }
      if (child.nodeType === TEXT_NODE) left -= child.textContent.length;
      if (child.nodeType !== ELEMENT_NODE) continue;
      left -= child.getAttribute("href")?.length ?? 0;
      visit(child);
    }
  };
  visit(root);
  return isCut;
}

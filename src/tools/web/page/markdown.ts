import TurndownService from "turndown";
import { highlightedCodeBlock, strikethrough, tables } from "turndown-plugin-gfm";
import { ELEMENT_NODE, TEXT_NODE, type PageNode } from "./article.ts";

/** A part of a page as Markdown. */
export function markdownOf(root: PageNode): string {
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  service.use([tables, strikethrough, highlightedCodeBlock]);
  // Tables that only arrange a page have no headings; their text is worth more than their markup.
  service.addRule("plainTable", {
    filter: (node) => node.nodeName === "TABLE" && node.querySelector("th") === null,
    replacement: (content) => `\n\n${content.trim()}\n\n`,
  });
  service.addRule("emptyLink", { filter: (node) => node.nodeName === "A" && isEmpty(node), replacement: () => "" });
  service.addRule("image", { filter: "img", replacement: (_content, node) => imageOf(node) });
  return tidy(service.turndown(root));
}

const isEmpty = (node: PageNode): boolean => node.textContent.trim() === "";

function imageOf(node: PageNode): string {
  const alt = (node.getAttribute("alt") ?? "").replaceAll(/[\s[\]]+/g, " ").trim();
  return alt === "" ? "" : `![${alt}](${node.getAttribute("src") ?? ""})`;
}

const tidy = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();

const BLOCKS = new Set(
  (
    "ADDRESS ARTICLE ASIDE BLOCKQUOTE DD DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P " +
    "PRE SECTION TABLE TR UL"
  ).split(" "),
);

/** A part of a page as text: one line for each paragraph. */
export function plainTextOf(root: PageNode): string {
  const lines: string[] = [];
  let line = "";
  const end = (): void => {
    const text = line.replaceAll(/\s+/g, " ").trim();
    if (text !== "") lines.push(text);
    line = "";
  };
  const visit = (node: PageNode): void => {
    if (node.nodeType === TEXT_NODE) line += node.textContent;
    if (node.nodeType !== ELEMENT_NODE) return;
    const isBlock = BLOCKS.has(node.nodeName.toUpperCase()) || node.nodeName.toUpperCase() === "BR";
    if (isBlock) end();
    for (const child of node.childNodes) visit(child);
    if (isBlock) end();
    else if (/^T[DH]$/i.test(node.nodeName)) line += " ";
  };
  visit(root);
  end();
  return lines.join("\n");
}

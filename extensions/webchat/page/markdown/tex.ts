import katex from "katex";
import { h, type ComponentChildren, type VNode } from "preact";

/** The elements of MathML that a formula consists of, and their attributes. None of them can act. */
const ELEMENTS = new Set([
  "math",
  "mrow",
  "mi",
  "mn",
  "mo",
  "ms",
  "mtext",
  "mspace",
  "msup",
  "msub",
  "msubsup",
  "munder",
  "mover",
  "munderover",
  "mfrac",
  "msqrt",
  "mroot",
  "mtable",
  "mtr",
  "mtd",
  "mpadded",
  "mphantom",
  "menclose",
  "mstyle",
  "semantics",
]);
const ATTRIBUTES = new Set([
  "display",
  "mathvariant",
  "mathcolor",
  "mathbackground",
  "mathsize",
  "stretchy",
  "fence",
  "separator",
  "form",
  "lspace",
  "rspace",
  "minsize",
  "maxsize",
  "symmetric",
  "displaystyle",
  "scriptlevel",
  "width",
  "height",
  "depth",
  "voffset",
  "rowspacing",
  "columnspacing",
  "columnalign",
  "rowlines",
  "columnlines",
  "linethickness",
  "accent",
  "accentunder",
  "movablelimits",
  "largeop",
  "notation",
]);

/** Limits against a formula that is meant to be endless or huge. */
const LIMITS = { maxSize: 20, maxExpand: 300 } as const;
/** The most characters that the macros of a formula may add: each use of one adds at most the length of the formula. */
const MOST_ADDED = 6000;
const DEFINES = /\\(?:g?def|let|futurelet|(?:new|renew|provide)command)(?![A-Za-z])/;

/** They expand a text before it is kept, so that a short formula doubles with each. */
const DOUBLES = /\\[ex]def(?![A-Za-z])/;

const limitsOf = (tex: string) => ({
  ...LIMITS,
  ...(DEFINES.test(tex) && { maxExpand: Math.min(LIMITS.maxExpand, Math.floor(MOST_ADDED / tex.length)) }),
});

/** A formula as MathML; undefined for a text that is no formula. Nothing in it is a link or runs. */
export function formulaView(tex: string, isBlock: boolean): VNode | undefined {
  if (DOUBLES.test(tex)) return undefined;
  try {
    const options = {
      output: "mathml",
      displayMode: isBlock,
      throwOnError: true,
      strict: "ignore",
      trust: false,
    } as const;
    const html = katex.renderToString(tex, { ...options, ...limitsOf(tex) });
    const math = new DOMParser().parseFromString(html, "text/html").querySelector("math");
    const view = math === null ? undefined : viewOf(math);
    return typeof view === "object" && view !== null && "type" in view ? view : undefined;
  } catch {
    return undefined;
  }
}

function viewOf(node: Node): VNode | string | undefined {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent ?? "";
  if (!(node instanceof Element) || !ELEMENTS.has(node.localName)) return undefined;
  const attributes: Record<string, string> = {};
  for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) attributes[name] = value;
  const children: ComponentChildren[] = [...node.childNodes].map(viewOf);
  return h(node.localName, attributes, children);
}

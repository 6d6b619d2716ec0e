import type { Locator, Page } from "playwright-core";
import { shorten } from "../../../utils/text/shorten.ts";
import type { BrowserInput } from "../input.ts";
import { frameAt } from "../refs.ts";

const MOST_CHARS = 12_000;
/** Roles that can be operated, and roles that describe the place in the page. */
const INTERACTIVE =
  /^\s*- (?:button|link|textbox|searchbox|checkbox|radio|combobox|listbox|option|menuitem\w*|switch|slider|spinbutton|tab|treeitem|heading|dialog|alert|iframe)\b|\[cursor=pointer\]/;
const ADDRESS = /^\s*- \/url:/;
/** A group without a name and without an effect. */
const WRAPPER = /^\s*- (?:generic|group|none|presentation)(?: \[(?:ref=\w+|active)\])*:?$/;
/** Options of `mode: "efficient"`, where the call does not set its own. */
const EFFICIENT = { interactive: true, compact: true, depth: 6, maxChars: 10_000 };

/** How a page is shown. */
type Look = Pick<
  BrowserInput,
  "interactive" | "compact" | "depth" | "maxChars" | "mode" | "limit" | "urls" | "selector" | "frame" | "snapshotFormat"
>;

/** The page, or a part of it, as a tree of roles and names, with the refs by which `act` finds elements. */
export async function snapshotOf(page: Page, given: Look): Promise<string> {
  const look = given.mode === undefined ? given : { ...EFFICIENT, ...given };
  const { depth, maxChars = MOST_CHARS } = look;
  const tree = await partOf(page, look).ariaSnapshot({ mode: "ai", ...(depth !== undefined && { depth }) });
  return shorten(shownLines(tree.split("\n"), look).join("\n"), maxChars, leftOut);
}

const leftOut = (left: number): string =>
  `\n[... ${left} characters left out: use depth, selector, interactive or maxChars ...]\n`;

/** The page, one of its frames, or an element of either. */
function partOf(page: Page, { selector, frame }: Look): Page | Locator {
  const css = selector === undefined ? undefined : `css=${selector}`;
  if (frame !== undefined)
    return frameAt(page, frame)
      .locator(css ?? "css=body")
      .first();
  return css === undefined ? page : page.locator(css).first();
}

function shownLines(all: readonly string[], look: Look): readonly string[] {
  const { interactive = false, urls = !interactive, compact = false, limit } = look;
  const told = urls ? all : all.filter((line) => !ADDRESS.test(line));
  const operable = interactive ? operableOf(told) : told;
  const short = compact ? withoutWrappers(operable) : operable;
  const named = look.snapshotFormat === "aria" ? short.map(ariaLine) : short;
  return limit === undefined || named.length <= limit
    ? named
    : [...named.slice(0, limit), `[... ${named.length - limit} lines left out: use limit ...]`];
}

/** The lines that can be operated, without indentation: the tree has gaps. */
const operableOf = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => INTERACTIVE.test(line) || ADDRESS.test(line)).map((line) => line.trim());

/** Replaces each group by its content. */
function withoutWrappers(lines: readonly string[]): readonly string[] {
  const around: number[] = [];
  return lines.flatMap((line) => {
    const indent = line.length - line.trimStart().length;
    while ((around.at(-1) ?? -1) >= indent) around.pop();
    const shown = line.slice(2 * around.length);
    if (!WRAPPER.test(line)) return [shown];
    around.push(indent);
    return [];
  });
}

/** Older prompts know the refs of this format as `ax12`. */
const ariaLine = (line: string): string => line.replace("[ref=e", "[ref=ax").replace(" [cursor=pointer]", "");

import type { Page } from "playwright-core";
import { shorten } from "../../utils/text/shorten.ts";
import type { BrowserInput } from "./input.ts";

const MOST_CHARS = 12_000;
/** Roles that can be operated, and those that say where one is. */
const INTERACTIVE =
  /^\s*- (?:button|link|textbox|searchbox|checkbox|radio|combobox|listbox|option|menuitem\w*|switch|slider|spinbutton|tab|treeitem|heading|dialog|alert|iframe)\b/;

/** The page as a tree of roles and names, with the refs by which `act` finds elements. */
export async function snapshotOf(
  page: Page,
  { interactive, depth, maxChars = MOST_CHARS }: Pick<BrowserInput, "interactive" | "depth" | "maxChars">,
): Promise<string> {
  const tree = await page.ariaSnapshot({ mode: "ai", ...(depth !== undefined && { depth }) });
  const lines = tree.split("\n");
  const shown =
    interactive === true ? lines.filter((line) => INTERACTIVE.test(line)).map((line) => line.trim()) : lines;
  const note = (left: number): string =>
    `\n[... ${left} characters left out: use depth, interactive or maxChars ...]\n`;
  return shorten(shown.join("\n"), maxChars, note);
}

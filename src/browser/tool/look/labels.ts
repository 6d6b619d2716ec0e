import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { withinMs } from "../within-ms.ts";

/** Labels of one picture; more would cover it. */
const MOST_LABELS = 150;
const LABELLED =
  /^\s*- (?:button|link|textbox|searchbox|checkbox|radio|combobox|listbox|menuitem\w*|switch|slider|spinbutton|tab|treeitem)\b/;

interface Mark {
  readonly ref: string;
  readonly box: readonly number[];
}

/** Draws the marks above the page, in an element that the page's styles do not reach. */
const DRAW = `(id, marks) => {
  const host = document.createElement("div");
  host.id = id;
  host.style.cssText = "all:initial;position:fixed;inset:0;z-index:2147483647;pointer-events:none";
  const root = host.attachShadow({ mode: "closed" });
  for (const { ref, box: [x, y, width, height] } of marks) {
    const frame = document.createElement("div");
    frame.style.cssText = "position:fixed;box-sizing:border-box;border:1px solid #d00;left:" + x + "px;top:" + y + "px;width:" + width + "px;height:" + height + "px";
    const label = document.createElement("span");
    label.textContent = ref;
    label.style.cssText = "position:absolute;left:0;top:0;font:bold 11px monospace;color:#fff;background:#d00;padding:0 2px";
    frame.append(label);
    root.append(frame);
  }
  document.documentElement.append(host);
}`;

/** A picture of what is visible, in which each element that can be operated has its ref. Rejects after so many milliseconds. */
export async function labelledPicture(page: Page, ms: number): Promise<Buffer> {
  const marks = marksIn(await page.ariaSnapshot({ mode: "ai", boxes: true }));
  const id = `refs-${randomUUID()}`;
  await withinMs(page.evaluate(`(${DRAW})(${JSON.stringify(id)}, ${JSON.stringify(marks)})`), ms);
  try {
    return await page.screenshot({ type: "jpeg", quality: 70 });
  } finally {
    await withinMs(page.evaluate(`document.getElementById(${JSON.stringify(id)})?.remove()`), ms);
  }
}

/** What frames show has places of its own, and no label. */
function marksIn(tree: string): readonly Mark[] {
  const marks = tree.split("\n").flatMap((line): Mark[] => {
    const ref = /\[ref=(e\d+)\]/.exec(line)?.[1];
    const box = /\[box=(-?[\d.]+),(-?[\d.]+),([\d.]+),([\d.]+)\]/.exec(line)?.slice(1).map(Number);
    return ref !== undefined && box !== undefined && LABELLED.test(line) ? [{ ref, box }] : [];
  });
  return marks.slice(0, MOST_LABELS);
}

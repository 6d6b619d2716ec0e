import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page, Request } from "playwright-core";
import { errorResult, textResult } from "../../../tools/define.ts";
import type { ToolResult } from "../../../types/run/tool.ts";
import { shorten } from "../../../utils/text/shorten.ts";
import type { Tab } from "../../tabs.ts";
import { actionMs, type Actions, type BrowserCall, tabOf } from "../call.ts";
import { pageResult } from "../page-result.ts";
import { at } from "../refs.ts";
import { snapshotOf } from "./snapshot.ts";
import { withinMs } from "../within-ms.ts";

/** Bytes of a picture; providers accept no larger ones. */
const MOST_IMAGE_BYTES = 4_500_000;
/** Lines of the console, errors and requests of a result that names no limit. */
const LINES = 60;
/** Characters of the text of a page. */
const MOST_TEXT = 12_000;
const MOST_ADDRESS = 300;

type Name = "snapshot" | "text" | "screenshot" | "console" | "errors" | "requests" | "pdf";

/** Looks at a page without changing it. */
export const LOOKING: Actions<Name> = {
  async snapshot(call) {
    const tab = await tabOf(call);
    const tree = await snapshotOf(tab.page, call.input);
    const result = await pageResult(tab, [tree]);
    return call.input.labels === true
      ? withImage(result, await labelledPicture(tab.page, actionMs(call)), "image/jpeg")
      : result;
  },
  screenshot: async (call) => screenshot(call, await tabOf(call)),
  async text(call) {
    const tab = await tabOf(call);
    const all = await tab.page.innerText("body");
    return pageResult(tab, [shorten(all, call.input.maxChars ?? MOST_TEXT)]);
  },
  async console(call) {
    const tab = await tabOf(call);
    return pageResult(tab, last(tab.lines, call));
  },
  async errors(call) {
    const tab = await tabOf(call);
    const lines = tab.lines.filter((line) => line.startsWith("error: "));
    return pageResult(tab, lines.length === 0 ? ["[no errors]"] : last(lines, call));
  },
  async requests(call) {
    const tab = await tabOf(call);
    return pageResult(tab, last(await tab.page.requests(), call).map(requestLine));
  },
  async pdf(call) {
    const { page } = await tabOf(call);
    const { files } = call.browsers.ports;
    await mkdir(files, { recursive: true });
    const path = join(files, `${randomUUID()}.pdf`);
    await page.pdf({ path });
    return textResult(`Saved the page as ${path}.`, { path });
  },
};

const last = <T>(all: readonly T[], { input: { limit = LINES } }: BrowserCall): readonly T[] => all.slice(-limit);

function requestLine(request: Request): string {
  const end = request.existingResponse()?.status() ?? request.failure()?.errorText ?? "no answer yet";
  const url = request.url();
  return `${request.method()} ${shorten(url, MOST_ADDRESS)} (${request.resourceType()}): ${end}`;
}

async function screenshot({ input }: BrowserCall, tab: Tab): Promise<ToolResult> {
  const { fullPage = false, type = "png" } = input;
  const part = partOf(input, tab.page);
  if (part !== undefined && fullPage)
    return errorResult("fullPage is for the whole page: leave it out, or ref and element.");
  const target = part ?? tab.page;
  const whole = part === undefined ? { fullPage } : {};
  const asJpeg = (quality: number) => target.screenshot({ ...whole, type: "jpeg", quality });
  const first = await (type === "png" ? target.screenshot({ ...whole, type }) : asJpeg(80));
  const fits = first.length <= MOST_IMAGE_BYTES;
  const bytes = fits ? first : await asJpeg(50);
  if (bytes.length > MOST_IMAGE_BYTES)
    return errorResult("The picture is too large: leave fullPage out, or name a ref.");
  return withImage(await pageResult(tab, []), bytes, fits && type === "png" ? "image/png" : "image/jpeg");
}

/** The element that a picture is wanted of. */
function partOf({ ref, element }: BrowserCall["input"], page: Page): Locator | undefined {
  if (element !== undefined) return page.locator(`css=${element}`).first();
  return ref === undefined ? undefined : at(page, ref);
}

const withImage = ({ content, details }: ToolResult, bytes: Buffer, mimeType: string): ToolResult => ({
  content: [...content, { type: "image", data: bytes.toString("base64"), mimeType }],
  ...(details && { details }),
});

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

/**
 * A picture of the visible part, in which each element that can be operated has its ref. Rejects after so many
 * milliseconds.
 */
async function labelledPicture(page: Page, ms: number): Promise<Buffer> {
  const marks = marksIn(await page.ariaSnapshot({ mode: "ai", boxes: true }));
  const id = `refs-${randomUUID()}`;
  await withinMs(page.evaluate(`(${DRAW})(${JSON.stringify(id)}, ${JSON.stringify(marks)})`), ms);
  try {
    return await page.screenshot({ type: "jpeg", quality: 70 });
  } finally {
    await withinMs(page.evaluate(`document.getElementById(${JSON.stringify(id)})?.remove()`), ms);
  }
}

/** Marks of the elements in a tree. Elements in frames get no label, because their positions are those of the frame. */
function marksIn(tree: string): readonly Mark[] {
  const marks = tree.split("\n").flatMap((line): Mark[] => {
    const ref = /\[ref=(e\d+)\]/.exec(line)?.[1];
    const box = /\[box=(-?[\d.]+),(-?[\d.]+),([\d.]+),([\d.]+)\]/.exec(line)?.slice(1).map(Number);
    return ref !== undefined && box !== undefined && LABELLED.test(line) ? [{ ref, box }] : [];
  });
  return marks.slice(0, MOST_LABELS);
}

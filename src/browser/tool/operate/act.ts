import type { Page } from "playwright-core";
import type { Deed } from "../input.ts";
import { at } from "../refs.ts";
import { withinMs } from "../within-ms.ts";

interface Acting {
  readonly page: Page;
  readonly mayEvaluate: boolean;
  /** Milliseconds for code of the model; everything else has the browser's own limit. */
  readonly mostMs: number;
}

/** Milliseconds between two keys of what is typed slowly. */
const KEY_MS = 30;
const held = (delayMs: number | undefined) => (delayMs === undefined ? {} : { delay: delayMs });

type Kind = NonNullable<Deed["kind"]>;
type Simple = Exclude<Kind, "batch">;

/** What each kind of `act` does. Each rejects with a text for the model. */
const KINDS: Readonly<Record<Simple, (deed: Deed, acting: Acting) => Promise<string | undefined>>> = {
  async click({ ref, button, modifiers, doubleClick, delayMs }, { page }) {
    const options = { ...(button && { button }), ...(modifiers && { modifiers }), ...held(delayMs) };
    const element = at(page, ref);
    await (doubleClick === true ? element.dblclick(options) : element.click(options));
    return undefined;
  },
  async clickCoords({ x, y, button, doubleClick, modifiers, delayMs }, { page }) {
    if (x === undefined || y === undefined) throw new Error("Give x and y.");
    if (modifiers) throw new Error("clickCoords has no modifiers: click a ref.");
    const options = { ...(button && { button }), ...held(delayMs) };
    await (doubleClick === true ? page.mouse.dblclick(x, y, options) : page.mouse.click(x, y, options));
    return undefined;
  },
  async type({ ref, text = "", slowly, submit, delayMs }, { page }) {
    const element = at(page, ref);
    const isSlow = slowly === true || delayMs !== undefined;
    await (isSlow ? element.pressSequentially(text, { delay: delayMs ?? KEY_MS }) : element.fill(text));
    if (submit === true) await element.press("Enter");
    return undefined;
  },
  async press({ key, ref, delayMs }, { page }) {
    if (key === undefined) throw new Error("Give the key.");
    await (ref === undefined ? page.keyboard.press(key, held(delayMs)) : at(page, ref).press(key, held(delayMs)));
    return undefined;
  },
  async hover({ ref }, { page }) {
    await at(page, ref).hover();
    return undefined;
  },
  async scrollIntoView({ ref }, { page }) {
    await at(page, ref).scrollIntoViewIfNeeded();
    return undefined;
  },
  async drag({ startRef, endRef }, { page }) {
    await at(page, startRef).dragTo(at(page, endRef));
    return undefined;
  },
  async select({ ref, values = [] }, { page }) {
    const chosen = await at(page, ref).selectOption(values);
    return `Selected: ${chosen.join(", ")}.`;
  },
  async fill({ fields = [] }, { page }) {
    if (fields.length === 0) throw new Error("Give fields, each with ref and value.");
    for (const { ref, value } of fields) {
      const element = at(page, ref);
      await (typeof value === "boolean" ? element.setChecked(value) : element.fill(String(value)));
    }
    return undefined;
  },
  async resize({ width, height }, { page }) {
    if (width === undefined || height === undefined) throw new Error("Give width and height.");
    await page.setViewportSize({ width, height });
    return undefined;
  },
  wait,
  async evaluate({ fn }, { page, mayEvaluate, mostMs }) {
    if (!mayEvaluate) throw new Error("JavaScript of the model is off (browser.evaluateEnabled).");
    if (fn === undefined) throw new Error("Give fn.");
    const value = await withinMs(page.evaluate<unknown>(called(fn)), mostMs);
    return `Result: ${JSON.stringify(value) ?? "undefined"}`;
  },
  async close(_deed, { page }) {
    await page.close();
    return undefined;
  },
};

/** Does it, or each of a batch in turn; what there is to tell. */
export async function act(deed: Deed, batch: readonly Deed[], acting: Acting): Promise<readonly string[]> {
  const { kind } = deed;
  if (kind === undefined) throw new Error("Give kind.");
  if (kind !== "batch") return told(await KINDS[kind](deed, acting));
  const lines: string[] = [];
  for (const one of batch) {
    if (one.kind === undefined || one.kind === "batch")
      throw new Error("Each deed of a batch has a kind that is no batch.");
    lines.push(...told(await KINDS[one.kind](one, acting)));
  }
  return lines;
}

/** Code that calls a function, and leaves any other value. */
const called = (fn: string): string =>
  `(() => { const given = (${fn}\n); return typeof given === "function" ? given() : given; })()`;

const told = (line: string | undefined): readonly string[] => (line === undefined ? [] : [line]);

async function wait({ timeMs, text, textGone, url, loadState }: Deed, { page }: Acting): Promise<undefined> {
  if (timeMs !== undefined) await page.waitForTimeout(timeMs);
  if (text !== undefined) await page.getByText(text).first().waitFor();
  if (textGone !== undefined) await page.getByText(textGone).first().waitFor({ state: "hidden" });
  if (url !== undefined) await page.waitForURL(url);
  if (loadState !== undefined) await page.waitForLoadState(loadState);
}

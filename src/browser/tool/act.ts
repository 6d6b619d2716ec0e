import type { Locator, Page } from "playwright-core";
import type { Deed } from "./input.ts";

interface Acting {
  readonly page: Page;
  readonly mayEvaluate: boolean;
  /** Milliseconds for code of the model; everything else has the browser's own limit. */
  readonly mostMs: number;
}

type Kind = NonNullable<Deed["kind"]>;
type Simple = Exclude<Kind, "batch">;

/** What each kind of `act` does. Each rejects with a text for the model. */
const KINDS: Readonly<Record<Simple, (deed: Deed, acting: Acting) => Promise<string | undefined>>> = {
  async click({ ref, button, modifiers, doubleClick }, { page }) {
    const options = { ...(button && { button }), ...(modifiers && { modifiers }) };
    const element = at(page, ref);
    await (doubleClick === true ? element.dblclick(options) : element.click(options));
    return undefined;
  },
  async clickCoords({ x, y, button }, { page }) {
    if (x === undefined || y === undefined) throw new Error("Give x and y.");
    await page.mouse.click(x, y, button ? { button } : {});
    return undefined;
  },
  async type({ ref, text = "", slowly, submit }, { page }) {
    const element = at(page, ref);
    await (slowly === true ? element.pressSequentially(text, { delay: 30 }) : element.fill(text));
    if (submit === true) await element.press("Enter");
    return undefined;
  },
  async press({ key, ref }, { page }) {
    if (key === undefined) throw new Error("Give the key.");
    await (ref === undefined ? page.keyboard.press(key) : at(page, ref).press(key));
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
    const value = await within(page.evaluate<unknown>(called(fn)), mostMs);
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

/** A page whose code does not end can only be closed. */
async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`Timeout ${ms}ms exceeded`)), ms);
  // When it ends too late, nobody waits for it.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
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

/** The element of a ref. A number or a selector is none. */
export function at(page: Page, ref: string | undefined): Locator {
  if (ref === undefined || !/^(?:f\d+)?e\d+$/.test(ref))
    throw new Error("Give a ref of the last snapshot, such as e12. A page that was loaded anew needs a new snapshot.");
  return page.getByRef(ref);
}

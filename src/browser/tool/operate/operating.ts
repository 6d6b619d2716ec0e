import type { CDPSession, Page } from "playwright-core";
import { errorResult, textResult } from "../../../tools/define.ts";
import type { ToolResult } from "../../../types/run/tool.ts";
import type { Tab } from "../../tabs.ts";
import { actionMs, type Actions, type BrowserCall, opened, settled, tabOf } from "../call.ts";
import { checkedResult, downloaded, navigate, whyNotOpened } from "../navigate.ts";
import { pageResult } from "../page-result.ts";
import { at } from "../refs.ts";
import { loadOnce, once } from "../../../utils/share-calls.ts";
import type { BrowserInput, Deed } from "../input.ts";
import { withinMs } from "../within-ms.ts";

/** Operates a page. */
export const OPERATING: Actions<"act" | "upload" | "download" | "dialog" | "emulate"> = {
  async act(call) {
    const tab = await tabOf(call);
    const { page } = tab;
    const { evaluateEnabled: mayEvaluate } = call.browsers.ports.config();
    const lines = await act(call.input, call.input.actions ?? [], { page, mayEvaluate, mostMs: actionMs(call) });
    await settled(page, call.context.signal);
    return page.isClosed() ? textResult(`Closed ${tab.id}.`) : checkedResult(call, tab, lines);
  },
  upload: async (call) => upload(call, await tabOf(call)),
  download,
  async dialog(call) {
    const tab = await tabOf(call);
    const { accept = false, promptText: text } = call.input;
    tab.answer = { accept, text };
    return pageResult(tab, [`The next dialog of the page is ${accept ? "accepted" : "dismissed"}.`]);
  },
  async emulate(call) {
    const tab = await tabOf(call);
    return pageResult(tab, await emulate(tab.page, call.input));
  },
};

/** Files that the agent may read itself, and no others. */
async function upload({ input, context, files }: BrowserCall, tab: Tab): Promise<ToolResult> {
  const { paths = [], ref } = input;
  if (paths.length === 0) return errorResult("Give paths.");
  const found = await Promise.all(paths.map((path) => files.locate(path, context.workspace, "read")));
  const element = at(tab.page, ref);
  const isInput = (await element.and(tab.page.locator("input[type=file]")).count()) > 0;
  if (isInput) await element.setInputFiles(found);
  else {
    const [chooser] = await Promise.all([tab.page.waitForEvent("filechooser"), element.click()]);
    await chooser.setFiles(found);
  }
  return pageResult(tab, [`Chose ${found.length} files.`]);
}

/** Fetches the download of an element or an address, or waits for a running download of the page. */
async function download(call: BrowserCall): Promise<ToolResult> {
  const { ref, targetUrl } = call.input;
  const refused = targetUrl === undefined ? undefined : await whyNotOpened(call);
  if (refused !== undefined) return errorResult(refused);
  const tab = await tabOf(call);
  if (targetUrl !== undefined) return navigate(call, tab, await opened(call));
  const { page, downloads, downloading } = tab;
  if (ref !== undefined) await Promise.all([page.waitForEvent("download"), at(page, ref).click()]);
  else if (downloads.length + downloading.size === 0)
    return errorResult("The page downloads nothing. Give the ref of what is to be clicked, or targetUrl.");
  await downloaded(tab);
  const lines = downloading.size > 0 ? ["The download goes on: call download again to wait for it."] : [];
  return checkedResult(call, tab, lines);
}

/** The connections with the settings of a page: the settings end with the connection. */
const sessionOf = once((page: Page) => loadOnce(() => page.context().newCDPSession(page)));

/** The window sizes of resized pages, as they were before. */
const windows = new WeakMap<Page, ReturnType<Page["viewportSize"]>>();

/** Properties of the display that a page sees. */
type Wish = Pick<BrowserInput, "width" | "height" | "colorScheme" | "locale" | "timezone" | "offline">;

/**
 * Sets the given properties of a page, or resets all of them where none is given. Resolves with lines for the result.
 * Rejects with a text for the model.
 */
async function emulate(page: Page, wish: Wish): Promise<readonly string[]> {
  const set = settings(wish);
  if ((wish.width === undefined) !== (wish.height === undefined)) throw new Error("Give width and height.");
  mustExist(wish);
  await apply(page, set.length === 0 ? { ...USUAL, ...windows.get(page) } : wish);
  return [set.length === 0 ? "Set back to how the browser is." : `Set: ${set.join(", ")}.`];
}

const USUAL = { colorScheme: null, locale: "", timezone: "", offline: false } as const;

async function apply(page: Page, wish: Omit<Wish, "colorScheme"> & Pick<typeof USUAL | Wish, "colorScheme">) {
  const { width, height, colorScheme, locale, timezone, offline } = wish;
  if (width !== undefined && height !== undefined) await resize(page, { width, height });
  if (colorScheme !== undefined) await page.emulateMedia({ colorScheme });
  const session = await sessionOf(page)();
  if (locale !== undefined) await session.send("Emulation.setLocaleOverride", { locale });
  if (timezone !== undefined) await session.send("Emulation.setTimezoneOverride", { timezoneId: timezone });
  if (offline !== undefined) await setOffline(session, offline);
}

/** The browser takes any name, and then keeps its own settings. */
function mustExist({ locale, timezone }: Wish): void {
  try {
    Intl.DateTimeFormat(locale, { timeZone: timezone }).format(0);
  } catch {
    throw new Error("There is no such locale or time zone. Write them as sv-SE and Europe/Stockholm.");
  }
}

async function resize(page: Page, size: { readonly width: number; readonly height: number }): Promise<void> {
  if (!windows.has(page)) windows.set(page, page.viewportSize());
  await page.setViewportSize(size);
}

async function setOffline(session: CDPSession, offline: boolean): Promise<void> {
  await session.send("Network.enable");
  const speed = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
  await session.send("Network.emulateNetworkConditions", { offline, ...speed });
}

const settings = ({ width, height, colorScheme, locale, timezone, offline }: Wish): readonly string[] =>
  Object.entries({ width, height, colorScheme, locale, timezone, offline }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${String(value)}`],
  );

interface Acting {
  readonly page: Page;
  readonly mayEvaluate: boolean;
  /** Milliseconds for code of the model; everything else has the browser's own limit. */
  readonly mostMs: number;
}

/** Milliseconds between two keys of slow typing. */
const KEY_MS = 30;
const held = (delayMs: number | undefined) => (delayMs === undefined ? {} : { delay: delayMs });

type Kind = NonNullable<Deed["kind"]>;
type Simple = Exclude<Kind, "batch">;

/** Implementations of the kinds of `act`. Each rejects with a text for the model. */
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

/** Does the deed, or each deed of a batch in turn. Resolves with lines for the result. */
async function act(deed: Deed, batch: readonly Deed[], acting: Acting): Promise<readonly string[]> {
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

import type { CDPSession, Page } from "playwright-core";
import { errorResult, textResult } from "../../../tools/define.ts";
import type { ToolResult } from "../../../types/run/tool.ts";
import type { Tab } from "../../tabs.ts";
import { actionMs, type Actions, type Call, opened, settled, tabOf } from "../call.ts";
import { checkedResult, downloaded, navigate, whyNotOpened } from "../navigate.ts";
import { pageResult } from "../page-result.ts";
import { at } from "../refs.ts";
import { act } from "./act.ts";
import { loadOnce, once } from "../../../utils/share-calls.ts";
import type { BrowserInput } from "../input.ts";

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
async function upload({ input, context, files }: Call, tab: Tab): Promise<ToolResult> {
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

/** Fetches what an element or an address gives to download, or waits for what the page downloads already. */
async function download(call: Call): Promise<ToolResult> {
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

/** The connections that hold what was set: it ends with them. */
const sessionOf = once((page: Page) => loadOnce(() => page.context().newCDPSession(page)));

/** The windows of pages whose size was set, as they were before. */
const windows = new WeakMap<Page, ReturnType<Page["viewportSize"]>>();

/** How a page believes to be shown. */
type Wish = Pick<BrowserInput, "width" | "height" | "colorScheme" | "locale" | "timezone" | "offline">;

/** Sets what is given, and everything back where nothing is; the lines to tell. Rejects with a text for the model. */
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

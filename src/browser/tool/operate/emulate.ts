import type { CDPSession, Page } from "playwright-core";
import { loadOnce, once } from "../../../utils/share-calls.ts";
import type { BrowserInput } from "../input.ts";

/** The connections that hold what was set: it ends with them. */
const sessionOf = once((page: Page) => loadOnce(() => page.context().newCDPSession(page)));

/** The windows of pages whose size was set, as they were before. */
const windows = new WeakMap<Page, ReturnType<Page["viewportSize"]>>();

/** How a page believes to be shown. */
type Wish = Pick<BrowserInput, "width" | "height" | "colorScheme" | "locale" | "timezone" | "offline">;

/** Sets what is given, and everything back where nothing is; the lines to tell. Rejects with a text for the model. */
export async function emulate(page: Page, wish: Wish): Promise<readonly string[]> {
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

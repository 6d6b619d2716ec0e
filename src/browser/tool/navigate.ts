import type { Response } from "playwright-core";
import { errorResult } from "../../tools/define.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import type { Browsers } from "../browsers.ts";
import type { OpenBrowser } from "../profile-session.ts";
import type { Tab } from "../tabs.ts";
import type { BrowserInput } from "./input.ts";
import { pageResult } from "./page-result.ts";

/** Milliseconds that an address may take which is a download. */
const DOWNLOAD_MS = 20_000;

interface Going {
  readonly input: BrowserInput;
  readonly browsers: Browsers;
}

/** Why an address is not opened: only web addresses are, whose host the rules allow. */
export async function whyNotOpened({ input, browsers }: Going): Promise<string | undefined> {
  const url = URL.parse(input.targetUrl ?? "");
  if (url === null) return "Give targetUrl, a web address.";
  return whyClosed(url, browsers);
}

async function whyClosed(url: URL, { rules }: Browsers): Promise<string | undefined> {
  if (url.href === "about:blank") return undefined;
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `The browser opens web addresses only, not ${url.protocol}`;
  const checked = await rules.check(url.hostname).catch(() => ({ refused: `${url.hostname} was not found` }));
  return "refused" in checked ? `The page was not opened: ${checked.refused} (browser.ssrfPolicy).` : undefined;
}

/** Opens the address of a call in a tab. Rejects where nothing answers. */
export async function navigate(going: Going, tab: Tab, { proxy }: Pick<OpenBrowser, "proxy">): Promise<ToolResult> {
  const before = proxy.refused;
  try {
    const answer = await tab.page.goto(going.input.targetUrl ?? "", { waitUntil: "domcontentloaded" });
    return await checkedResult(going, tab, statusLines(answer));
  } catch (error) {
    const why = proxy.whyRefusedSince(before);
    if (why !== undefined) return errorResult(`The page was not opened: ${why} (browser.ssrfPolicy).`);
    if (!/Download is starting/.test(String(error))) throw error;
    await downloaded(tab);
    return pageResult(tab, ["The address is a file to download; the tab shows the page from before."]);
  }
}

const statusLines = (answer: Response | null): readonly string[] =>
  answer !== null && answer.status() >= 400 ? [`status: ${answer.status()}`] : [];

/** Resolves when the downloads of a tab have ended, or after a time limit: a later call reports the rest. */
export async function downloaded({ page, downloads, downloading }: Tab): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(() => late.resolve(), DOWNLOAD_MS);
  // The browser reports a download a moment after it has refused to show the file as a page.
  const begins = downloads.length + downloading.size > 0 ? undefined : page.waitForEvent("download", { timeout: 0 });
  await Promise.race([Promise.resolve(begins).then(() => Promise.all(downloading)), late.promise]).catch(
    () => undefined,
  );
  clearTimeout(timer);
}

/** The page where a call has led. A page that may not be open is left at once, and its content is not in the result. */
export async function checkedResult(
  { browsers }: Pick<Going, "browsers">,
  tab: Tab,
  lines: readonly string[],
): Promise<ToolResult> {
  const url = URL.parse(tab.page.url());
  const refused = url === null ? undefined : await whyClosed(url, browsers);
  if (refused === undefined) return pageResult(tab, lines);
  await tab.page.goto("about:blank");
  return errorResult(refused);
}

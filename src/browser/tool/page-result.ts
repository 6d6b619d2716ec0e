import type { Page } from "playwright-core";
import { textResult } from "../../tools/define.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { visibleText } from "../../utils/text/clean-text.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import type { Tab } from "../tabs.ts";

/** Content of the page, and news of tabs, marked as content of somebody else. */
export async function pageResult(tab: Tab, lines: readonly string[]): Promise<ToolResult> {
  const { page, dialog, downloads } = tab;
  const title = await titleOfPage(page);
  tab.dialog = undefined;
  const told = [
    `tab: ${tab.id}`,
    `url: ${pageAddress(page)}`,
    ...(title === "" ? [] : [`title: ${title}`]),
    ...(dialog === undefined ? [] : [`dialog: ${dialog}`]),
    ...tab.news(),
    ...lines,
  ];
  const files = downloads.splice(0).map((path) => `Downloaded to ${path}.`);
  const text = [wrapped(told.join("\n"), page.url()), ...files].join("\n");
  return textResult(text, { tab: tab.id, url: pageAddress(page), ...EXTERNAL });
}

/** A page may give itself an address of megabytes. */
export const pageAddress = (page: Page): string => shorten(page.url(), MOST_ADDRESS);
const MOST_ADDRESS = 500;
const MOST_TITLE = 200;

/** Milliseconds for a page to give its title; a busy page has none. */
const TITLE_MS = 2000;

export async function titleOfPage(page: Page): Promise<string> {
  const title = page.title().catch(() => "");
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(""), TITLE_MS);
  try {
    return shorten(await Promise.race([title, late.promise]), MOST_TITLE);
  } finally {
    clearTimeout(timer);
  }
}

export const EXTERNAL = { externalContent: { untrusted: true, source: "browser", provider: "browser", wrapped: true } };

/**
 * The text without characters that nobody sees, and so that its closing marker is inside the default limit of a tool's
 * result.
 */
export const wrapped = (text: string, url: string): string =>
  wrapUntrusted(shorten(visibleText(text), 15_000), { label: "Browser", from: URL.parse(url)?.origin ?? url });

import type { BrowserContext, Dialog, Page } from "playwright-core";
import { errorText } from "../utils/text/error-text.ts";
import type { Downloads } from "./downloads.ts";

/** Tabs of one browser. A page that opens more loses them. */
export const MOST_TABS = 20;
const MOST_LINES = 200;
const LINE_CHARS = 500;

export interface Tab {
  readonly id: string;
  readonly page: Page;
  /** Lines that the page wrote to its console, and errors; newest last. */
  readonly lines: string[];
  /** Answers of `dialog` to the next question of the page. */
  answer?: { readonly accept: boolean; readonly text?: string | undefined } | undefined;
  /** The last question of the page, and how it was answered. */
  dialog?: string | undefined;
  /** Paths of downloads that no result has named yet. */
  readonly downloads: string[];
  /** Settle when the downloads of the page have ended. */
  readonly downloading: Set<Promise<void>>;
  /** Lines about tabs that pages have opened or that crashed since somebody asked. */
  news(): readonly string[];
}

/** The open tabs of a browser, with ids that stay the same. */
export class Tabs {
  readonly #tabs: Tab[] = [];
  readonly #downloads: Downloads;
  /** New and crashed tabs that no result has named yet. */
  #opened: Tab[] = [];
  #crashed: string[] = [];
  #last = 0;
  #current: Tab | undefined;
  /** Tabs that were closed because there were too many. */
  closedForNumber = 0;

  constructor(context: BrowserContext, downloads: Downloads) {
    this.#downloads = downloads;
    for (const page of context.pages()) this.#add(page);
    context.on("page", (page) => {
      const tab = this.#add(page);
      if (this.#tabs.includes(tab)) this.#opened.push(tab);
    });
  }

  get all(): readonly Tab[] {
    return this.#tabs;
  }

  get isFull(): boolean {
    return this.#tabs.length >= MOST_TABS;
  }

  /** The tab of calls without `targetId`. */
  get current(): Tab | undefined {
    return this.#current && this.#tabs.includes(this.#current) ? this.#current : this.#tabs.at(-1);
  }

  focus(tab: Tab): void {
    this.#current = tab;
  }

  /** The tab of a page, which a call has just opened. */
  of(page: Page): Tab {
    const tab = this.#add(page);
    this.#opened = this.#opened.filter((one) => one !== tab);
    return tab;
  }

  #news(): readonly string[] {
    const opened = this.#opened.splice(0).filter((tab) => this.#tabs.includes(tab));
    return [
      ...opened.map(({ id, page }) => `opened by the page: ${id} ${page.url().slice(0, LINE_CHARS)}`),
      ...this.#crashed.splice(0).map((id) => `crashed, and was closed: ${id}`),
    ];
  }

  /** The tab by its id, or by its place `1`, `2`, …; undefined when there is none. */
  find(name: string): Tab | undefined {
    return this.#tabs.find(({ id }) => id === name) ?? this.#tabs[Number(name) - 1];
  }

  #add(page: Page): Tab {
    const known = this.#tabs.find((tab) => tab.page === page);
    if (known) return known;
    const tab: Tab = {
      id: `t${++this.#last}`,
      page,
      lines: [],
      downloads: [],
      downloading: new Set(),
      news: () => this.#news(),
    };
    if (this.isFull) {
      this.closedForNumber += 1;
      page.close().catch(ignoreClosed);
      return tab;
    }
    this.#tabs.push(tab);
    this.#watch(tab);
    return tab;
  }

  #watch(tab: Tab): void {
    const { page } = tab;
    const note = (text: string): void => {
      tab.lines.push(text.slice(0, LINE_CHARS));
      if (tab.lines.length > MOST_LINES) tab.lines.shift();
    };
    page.on("console", (message) => note(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => note(`error: ${error.message}`));
    // A crashed tab is of no further use.
    page.on("crash", () => {
      this.#crashed.push(tab.id);
      page.close().catch(ignoreClosed);
      this.#remove(tab);
    });
    page.on("dialog", (dialog) => answerDialog(tab, dialog).catch(ignoreClosed));
    page.on("download", (download) => {
      const kept = this.#downloads
        .keep(download)
        .then(
          (path) => void tab.downloads.push(path),
          (error: unknown) => note(`error: ${errorText(error)}`),
        )
        .finally(() => tab.downloading.delete(kept));
      tab.downloading.add(kept);
    });
    page.once("close", () => this.#remove(tab));
  }

  #remove(tab: Tab): void {
    const at = this.#tabs.indexOf(tab);
    if (at !== -1) this.#tabs.splice(at, 1);
  }
}

/** Refuses what nobody has answered beforehand, so that no page waits. No page keeps the agent from leaving it. */
async function answerDialog(tab: Tab, dialog: Dialog): Promise<void> {
  if (dialog.type() === "beforeunload") return dialog.accept();
  const { answer } = tab;
  tab.answer = undefined;
  tab.dialog = `${dialog.type()}: ${dialog.message().slice(0, LINE_CHARS)} (${answer?.accept === true ? "accepted" : "dismissed"})`;
  if (answer?.accept === true) await dialog.accept(answer.text);
  else await dialog.dismiss();
}

/** The page was closed meanwhile. */
const ignoreClosed = (): void => undefined;

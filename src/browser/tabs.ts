import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { BrowserContext, Dialog, Download, Page } from "playwright-core";
import { stat, rm } from "node:fs/promises";

/** Tabs of one browser. A page that opens more loses them. */
const MOST_TABS = 20;
const MOST_LINES = 200;
const LINE_CHARS = 500;
const MOST_DOWNLOAD_BYTES = 100 * 1024 * 1024;

export interface Tab {
  readonly id: string;
  readonly page: Page;
  /** What the page wrote to its console, and errors; newest last. */
  readonly lines: string[];
  /** Answers of `dialog` to the next question of the page. */
  answer?: { readonly accept: boolean; readonly text?: string | undefined } | undefined;
  /** The last question of the page, and how it was answered. */
  dialog?: string | undefined;
  readonly downloads: string[];
}

/** The open tabs of a browser, with ids that stay the same. */
export class Tabs {
  readonly #tabs: Tab[] = [];
  readonly #downloads: string;
  #last = 0;
  #current: Tab | undefined;
  /** Tabs that were closed because there were too many. */
  closedForNumber = 0;

  /** `downloads`: the folder for what pages download. */
  constructor(context: BrowserContext, downloads: string) {
    this.#downloads = downloads;
    for (const page of context.pages()) this.#add(page);
    context.on("page", (page) => this.#add(page));
  }

  get all(): readonly Tab[] {
    return this.#tabs;
  }

  /** The one that calls mean which name none. */
  get current(): Tab | undefined {
    return this.#current && this.#tabs.includes(this.#current) ? this.#current : this.#tabs.at(-1);
  }

  focus(tab: Tab): void {
    this.#current = tab;
  }

  /** The tab of a page, which the browser has just opened. */
  of(page: Page): Tab {
    return this.#tabs.find((tab) => tab.page === page) ?? this.#add(page);
  }

  /** By its id, or by its place `1`, `2`, …; undefined when there is none. */
  find(name: string): Tab | undefined {
    return this.#tabs.find(({ id }) => id === name) ?? this.#tabs[Number(name) - 1];
  }

  #add(page: Page): Tab {
    const known = this.#tabs.find((tab) => tab.page === page);
    if (known) return known;
    const tab: Tab = { id: `t${++this.#last}`, page, lines: [], downloads: [] };
    if (this.#tabs.length >= MOST_TABS) {
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
    page.on("crash", () => note("error: the page crashed"));
    page.on("dialog", (dialog) => answerDialog(tab, dialog).catch(ignoreClosed));
    page.on("download", (download) => {
      this.#keep(tab, download).catch((error: unknown) => note(`error: a download failed: ${String(error)}`));
    });
    page.once("close", () => {
      const at = this.#tabs.indexOf(tab);
      if (at !== -1) this.#tabs.splice(at, 1);
    });
  }

  async #keep(tab: Tab, download: Download): Promise<void> {
    const name = download
      .suggestedFilename()
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")
      .slice(-80);
    const path = join(this.#downloads, `${randomUUID()}-${name}`);
    await download.saveAs(path);
    if ((await stat(path)).size <= MOST_DOWNLOAD_BYTES) tab.downloads.push(path);
    else {
      await rm(path, { force: true });
      tab.lines.push(`error: a download of more than ${MOST_DOWNLOAD_BYTES} bytes was removed`);
    }
  }
}

/** Refuses what nobody has answered beforehand, so that no page waits. */
async function answerDialog(tab: Tab, dialog: Dialog): Promise<void> {
  const { answer } = tab;
  tab.answer = undefined;
  tab.dialog = `${dialog.type()}: ${dialog.message().slice(0, LINE_CHARS)} (${answer?.accept === true ? "accepted" : "dismissed"})`;
  if (answer?.accept === true) await dialog.accept(answer.text);
  else await dialog.dismiss();
}

/** The page was closed meanwhile. */
const ignoreClosed = (): void => undefined;

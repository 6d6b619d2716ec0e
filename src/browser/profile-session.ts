import { rm } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type * as PlaywrightModule from "playwright-core";
import type { BrowserContext } from "playwright-core";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { background } from "../utils/background.ts";
import { BROWSER_ARGUMENTS, findBrowser, openProfile } from "./chromium.ts";
import type { BrowserConfig } from "./config.ts";
import { GuardProxy } from "./guard/guard-proxy.ts";
import type { BrowserHostRules } from "./guard/host-rules.ts";
import { Downloads } from "./downloads.ts";
import { forgetStored, storedIn } from "./stored.ts";
import { Tabs } from "./tabs.ts";

export type Playwright = Pick<typeof PlaywrightModule, "chromium">;

export interface BrowserPorts {
  /** The config as it is now. */
  config(): BrowserConfig;
  /** The folder with a folder for each profile. */
  readonly profiles: string;
  /** The folder for downloads of pages and for files saved from them. */
  readonly files: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Bytes that the pages of a profile may store; 2 GB when unset. */
  readonly mostStored?: number;
  /** The library that drives the browser; fetched when it is not there. Rejects with `OpenClawError`. */
  load(signal: AbortSignal): Promise<Playwright>;
}

/** A running browser. */
export interface OpenBrowser {
  readonly context: BrowserContext;
  readonly tabs: Tabs;
  readonly proxy: GuardProxy;
}

const START_MS = 30_000;
const MOST_STORED = 2 * 1024 ** 3;
/** Milliseconds between two looks at what pages have stored. */
const LOOK_MS = 5000;
/** Milliseconds without a call after which a browser is closed. */
const IDLE_MS = 10 * 60_000;
/** Failed starts and crashes, within these milliseconds, that stop further starts for the rest of that time. */
const BREAKER = { times: 3, ms: 10 * 60_000 };

/** A page opens at most ten windows by itself: the browser needs a tenth of a second for each, in which it does nothing else. */
const FEW_WINDOWS = `(() => {
  const open = window.open;
  let left = 10;
  window.open = (...args) => (left-- > 0 ? open.apply(window, args) : null);
})()`;

/** Variables of the gateway's environment that a browser needs: none with a secret. */
const VARIABLES = [
  "PATH",
  "HOME",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
];

/** The browser of one profile. It starts with the first call that needs it, and ends when nobody has used it for a while. */
export class ProfileSession {
  readonly #name: string;
  readonly #ports: BrowserPorts;
  readonly #rules: BrowserHostRules;
  #opening: Promise<OpenBrowser> | undefined;
  #open: OpenBrowser | undefined;
  /** Ends the browsers that were open: none starts meanwhile, since a profile has one at a time. */
  #closing: Promise<void> = Promise.resolve();
  #failures: number[] = [];
  #forgetIdle: (() => void) | undefined;
  #forgetLook: (() => void) | undefined;
  /** Removes what pages have stored: no browser starts meanwhile. */
  #removing: Promise<void> | undefined;

  constructor(name: string, ports: BrowserPorts, rules: BrowserHostRules) {
    this.#name = name;
    this.#ports = ports;
    this.#rules = rules;
  }

  get running(): OpenBrowser | undefined {
    return this.#open;
  }

  /** The browser, started if need be. Rejects with a text for the model. */
  async use(signal: AbortSignal): Promise<OpenBrowser> {
    this.#stayOpen();
    if (this.#open) return this.#open;
    this.#opening ??= this.#start(signal).finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /** Ends the browser and its connections. A call that comes meanwhile starts another one. Never rejects. */
  close(): Promise<void> {
    this.#forgetIdle?.();
    this.#forgetLook?.();
    const [open, opening] = [this.#open, this.#opening];
    this.#open = undefined;
    // A start that failed has left nothing to close.
    const begun = async () => open ?? (await opening?.catch(() => undefined));
    this.#closing = this.#closing.then(begun).then((found) => found && this.#end(found));
    return this.#closing;
  }

  async #end(open: OpenBrowser): Promise<void> {
    if (this.#open === open) this.#open = undefined;
    // A browser that crashed is closed already.
    await open.context.close().catch(() => undefined);
    await open.proxy.close();
  }

  async #start(signal: AbortSignal): Promise<OpenBrowser> {
    this.#checkBreaker();
    await this.#closing;
    // A failure of the removal is logged already.
    await this.#removing?.catch(() => undefined);
    const config = this.#ports.config();
    const program = await findBrowser(config.executablePath, this.#ports.env);
    if (program === undefined) throw new Error(NO_BROWSER);
    const { chromium } = await this.#ports.load(signal);
    const proxy = new GuardProxy(this.#rules);
    try {
      const context = await chromium.launchPersistentContext(await this.#folder(), {
        executablePath: program,
        headless: config.headless,
        chromiumSandbox: !config.noSandbox,
        args: [...BROWSER_ARGUMENTS, ...config.extraArgs],
        proxy: { server: await proxy.open() },
        acceptDownloads: true,
        downloadsPath: this.#partial,
        timeout: START_MS,
        env: this.#environment(),
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
      });
      await context.addInitScript(FEW_WINDOWS);
      return this.#began(context, proxy, config);
    } catch (error) {
      await proxy.close();
      this.#failures.push(this.#ports.clock.now());
      throw startError(error, config);
    }
  }

  #began(context: BrowserContext, proxy: GuardProxy, { actionTimeoutMs }: BrowserConfig): OpenBrowser {
    context.setDefaultTimeout(actionTimeoutMs);
    context.setDefaultNavigationTimeout(actionTimeoutMs * 3);
    const downloads = new Downloads({ partial: this.#partial, kept: this.#ports.files });
    const open = { context, proxy, tabs: new Tabs(context, downloads) };
    this.#open = open;
    this.#watchStored(open);
    context.once("close", () => {
      if (this.#open !== open) return;
      this.#failures.push(this.#ports.clock.now());
      this.#ports.log.warn("the browser ended by itself", { profile: this.#name });
      background("end of the browser", this.#end(open), this.#ports.log);
    });
    return open;
  }

  /** Limits the storage of all sites together. The browser itself limits only each site. */
  #watchStored(open: OpenBrowser): void {
    this.#forgetLook = this.#ports.clock.after(LOOK_MS, () => {
      if (this.#open === open) background("look at a browser's files", this.#lookAtStored(open), this.#ports.log);
    });
  }

  async #lookAtStored(open: OpenBrowser): Promise<void> {
    const { profiles, log, mostStored = MOST_STORED } = this.#ports;
    const profile = join(profiles, this.#name);
    const bytes = await storedIn(profile);
    if (bytes <= mostStored) return this.#watchStored(open);
    log.warn("a browser was ended: its pages stored too much, which is removed", { profile: this.#name, bytes });
    this.#removing = this.close().then(() => forgetStored(profile));
    await this.#removing.finally(() => (this.#removing = undefined));
  }

  async #folder(): Promise<string> {
    const folder = join(this.#ports.profiles, this.#name);
    await openProfile(folder);
    // A browser that was killed may have left partial downloads.
    await rm(this.#partial, { recursive: true, force: true });
    return folder;
  }

  /** Beside the profiles, whose names have no dot. */
  get #partial(): string {
    return join(this.#ports.profiles, `${this.#name}.downloads`);
  }

  #environment(): Record<string, string> {
    const { env } = this.#ports;
    return Object.fromEntries(VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  }

  #checkBreaker(): void {
    const now = this.#ports.clock.now();
    this.#failures = this.#failures.filter((at) => now - at < BREAKER.ms);
    const [first] = this.#failures;
    if (first === undefined || this.#failures.length < BREAKER.times) return;
    const minutes = Math.ceil((first + BREAKER.ms - now) / 60_000);
    throw new Error(
      `The browser failed ${BREAKER.times} times in a short time. It is started again in ${minutes} min at the earliest; the log says why it failed.`,
    );
  }

  #stayOpen(): void {
    this.#forgetIdle?.();
    this.#forgetIdle = this.#ports.clock.after(IDLE_MS, () =>
      background("end of an idle browser", this.close(), this.#ports.log),
    );
  }
}

/** Text for the model, and for the person that the model answers. */
export const NO_BROWSER =
  "There is no browser on this machine. The operator can install Chromium, or name a program with browser.executablePath.";

function startError(error: unknown, { noSandbox }: BrowserConfig): Error {
  const text = error instanceof Error ? error.message : String(error);
  const isSandbox = !noSandbox && /sandbox|namespace/i.test(text);
  const fix = isSandbox
    ? " The browser's own sandbox does not work here: the operator can run the gateway as another user than root, or set browser.noSandbox."
    : "";
  return new Error(`The browser did not start: ${firstLine(text)}.${fix}`, { cause: error });
}

/** Playwright's errors go on with a log of the call. */
export const firstLine = (text: string): string =>
  stripVTControlCharacters(text.split("\n")[0] ?? "")
    .replace(/\.+$/, "")
    .slice(0, 300);

import type { Page } from "playwright-core";
import type { FileBackend } from "../../types/run/backend.ts";
import type { ToolContext, ToolResult } from "../../types/run/tool.ts";
import { wait } from "../../utils/pause.ts";
import type { Browsers } from "../browsers.ts";
import type { OpenBrowser, ProfileSession } from "../profile-session.ts";
import type { Tab } from "../tabs.ts";
import type { BrowserAction, BrowserInput } from "./input.ts";

/** A call of the tool. */
export interface BrowserCall {
  readonly input: BrowserInput;
  readonly context: ToolContext;
  readonly session: ProfileSession;
  readonly browsers: Browsers;
  readonly files: FileBackend;
}

/** Implementations of some of the actions. Each may reject with a text for the model. */
export type Actions<Name extends BrowserAction> = Readonly<Record<Name, (call: BrowserCall) => Promise<ToolResult>>>;

/** The browser of a call, started if need be. */
export const opened = ({ session, context }: BrowserCall): Promise<OpenBrowser> => session.use(context.signal);

/** The tab that a call means. A browser without one gets an empty one. */
export async function tabOf(call: BrowserCall): Promise<Tab> {
  const { context, tabs } = await opened(call);
  const { targetId } = call.input;
  const found = targetId === undefined ? (tabs.current ?? tabs.of(await context.newPage())) : tabs.find(targetId);
  if (found) return limitedTab(call, found);
  throw new Error(`There is no tab ${targetId ?? ""}. There are: ${tabs.all.map(({ id }) => id).join(", ")}`);
}

/** The tab with the time limits of the call. */
export function limitedTab(call: BrowserCall, tab: Tab): Tab {
  const ms = actionMs(call);
  tab.page.setDefaultTimeout(ms);
  tab.page.setDefaultNavigationTimeout(call.input.timeoutMs ?? ms * 3);
  return tab;
}

/** Milliseconds that one action of a call may take. */
export const actionMs = ({ input, browsers }: BrowserCall): number =>
  input.timeoutMs ?? browsers.ports.config().actionTimeoutMs;

/** Milliseconds in which a page opens the target of a click. */
const SETTLE_MS = 150;

/** Waits a moment: the browser reports a new tab, a download or a crash a little after the act that caused it. */
export async function settled(page: Page, signal: AbortSignal): Promise<void> {
  if (!page.isClosed()) await wait(SETTLE_MS, signal);
}

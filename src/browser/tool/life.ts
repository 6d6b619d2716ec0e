import { errorResult, textResult } from "../../tools/define.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import type { Browsers } from "../browsers.ts";
import { findBrowser } from "../chromium.ts";
import { NO_BROWSER, type OpenBrowser, type ProfileSession } from "../profile-session.ts";
import { MOST_TABS, type Tabs } from "../tabs.ts";
import { type Actions, limited, opened, tabOf } from "./call.ts";
import { navigate, whyNotOpened } from "./navigate.ts";
import { addressOf, EXTERNAL, pageResult, titleOf, wrapped } from "./page-result.ts";

type Name = "status" | "doctor" | "profiles" | "start" | "stop" | "tabs" | "open" | "navigate" | "focus" | "close";

/** Browsers and their tabs. */
export const LIFE: Actions<Name> = {
  status: async ({ session, browsers }) => textResult(statusOf(session, browsers)),
  doctor: async ({ session, browsers }) => textResult(await doctorText(session, browsers)),
  profiles: async ({ browsers }) => textResult(`Profiles: ${browsers.profiles.join(", ")}.`),
  async start(call) {
    await opened(call);
    return textResult(statusOf(call.session, call.browsers));
  },
  async stop({ session }) {
    await session.close();
    return textResult("The browser is closed.");
  },
  tabs: async ({ session }) => tabsResult(session.running),
  async open(call) {
    const open = await opened(call);
    const { context, tabs } = open;
    const refused = await whyNotOpened(call);
    if (refused !== undefined) return errorResult(refused);
    // A browser begins with an empty tab.
    const [first, second] = tabs.all;
    const isEmpty = first?.page.url() === "about:blank" && second === undefined;
    if (tabs.isFull) return errorResult(tooManyText(tabs));
    const tab = limited(call, isEmpty ? first : tabs.of(await context.newPage()));
    tabs.focus(tab);
    return navigate(call, tab, open);
  },
  async navigate(call) {
    const refused = await whyNotOpened(call);
    return refused === undefined ? navigate(call, await tabOf(call), await opened(call)) : errorResult(refused);
  },
  async focus(call) {
    const tab = await tabOf(call);
    (await opened(call)).tabs.focus(tab);
    await tab.page.bringToFront();
    return pageResult(tab, []);
  },
  async close(call) {
    const tab = await tabOf(call);
    await tab.page.close();
    return textResult(`Closed ${tab.id}.`);
  },
};

function statusOf({ running }: ProfileSession, { ports }: Pick<Browsers, "ports">): string {
  const { headless } = ports.config();
  if (!running) return "The browser is not running; open starts it.";
  return `The browser is running (${headless ? "headless" : "with a window"}), ${running.tabs.all.length} tabs.`;
}

/** Whether a browser can be started, and how it is. */
async function doctorText(session: ProfileSession, { ports }: Browsers): Promise<string> {
  const { executablePath, evaluateEnabled } = ports.config();
  const program = await findBrowser(executablePath, ports.env);
  return [
    program === undefined ? NO_BROWSER : `Program: ${program}.`,
    statusOf(session, { ports }),
    `JavaScript of the model (evaluate) is ${evaluateEnabled ? "on" : "off"}.`,
  ].join("\n");
}

const tooManyText = (tabs: Tabs): string =>
  `There are ${MOST_TABS} tabs, which is the most. Close one that is not needed any more (close with its targetId), or use one of them ` +
  `(navigate with targetId): ${tabs.all.map(({ id }) => id).join(", ")}. The action tabs names their addresses.`;

async function tabsResult(open: OpenBrowser | undefined): Promise<ToolResult> {
  if (!open) return textResult("The browser is not running; open starts it.");
  const rows = await Promise.all(
    open.tabs.all.map(async ({ id, page }) => `${id} ${addressOf(page)} ${await titleOf(page)}`),
  );
  const closed = open.tabs.closedForNumber;
  const note = closed > 0 ? [`${closed} tabs that pages opened were closed: there are at most ${MOST_TABS}`] : [];
  return textResult(wrapped([...rows, ...note].join("\n"), "about:tabs"), EXTERNAL);
}

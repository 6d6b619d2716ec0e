import { errorResult, textResult } from "../../../tools/define.ts";
import type { ToolResult } from "../../../types/run/tool.ts";
import type { Tab } from "../../tabs.ts";
import { actionMs, type Actions, type Call, opened, settled, tabOf } from "../call.ts";
import { checkedResult, downloaded, navigate, whyNotOpened } from "../navigate.ts";
import { pageResult } from "../page-result.ts";
import { at } from "../refs.ts";
import { act } from "./act.ts";
import { emulate } from "./emulate.ts";

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

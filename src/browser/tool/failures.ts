import { errorResult } from "../../tools/define.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import { firstLine } from "../profile-session.ts";
import { EXTERNAL } from "./page-result.ts";

/** What keeps an element from being operated, as Playwright's log of the call names it. */
const OBSTACLES: readonly (readonly [RegExp, string])[] = [
  [/<([a-z]+)[^>]*>.*intercepts pointer events/i, "something else lies above the element"],
  [/element is not enabled/i, "the element is disabled"],
  [/element is not visible/i, "the element is not visible"],
  [/element is not editable/i, "nothing can be typed into the element"],
  [/element is not stable/i, "the element moves"],
  [/element is outside of the viewport/i, "the element is outside of the window"],
];

/** Words of Playwright, in which a page may have put its own: an error that its code throws, or an address. */
const FOREIGN = /^[a-zA-Z]+\.[a-zA-Z]+: /;

/** Why an action failed, in words that name what can be done. What a page may have written is marked as such. */
export function failureOf(error: unknown): ToolResult {
  const text = error instanceof Error ? error.message : String(error);
  const known = knownReason(text);
  if (known !== undefined) return errorResult(known);
  if (!FOREIGN.test(text)) return errorResult(firstLine(text));
  return errorResult(`It failed:\n${wrapUntrusted(firstLine(text), { label: "Browser" })}`, EXTERNAL);
}

function knownReason(text: string): string | undefined {
  const ms = /Timeout (\d+)ms exceeded/.exec(text)?.[1];
  if (ms !== undefined) return lateText(text, Number(ms));
  if (/has been closed|Target crashed|Page crashed/i.test(text))
    return "The tab has crashed or was closed. See tabs, or open the address anew.";
  if (/does not match any element/.test(text))
    return "Nothing on the page fits that selector or ref. Take a new snapshot.";
  if (/parsing (?:css )?selector|Malformed selector|Unknown engine/i.test(text)) return "That is no CSS selector.";
  const code = /net::ERR_([A-Z_]+)/.exec(text)?.[1];
  return code === undefined ? undefined : `The page was not opened: ${code.toLowerCase().replaceAll("_", " ")}.`;
}

function lateText(text: string, ms: number): string {
  const seconds = `${ms / 1000} s`;
  const obstacle = OBSTACLES.find(([words]) => words.test(text))?.[1];
  if (obstacle !== undefined) return `Not done within ${seconds}: ${obstacle}. Take a new snapshot.`;
  if (/waiting for (?:locator|getByRef|getByText)|waitFor/i.test(text) && !/resolved to/.test(text))
    return `Not found on the page within ${seconds}. Take a new snapshot.`;
  return `The page did not answer within ${seconds}: it may be busy. If that lasts, close the tab and open the address anew.`;
}

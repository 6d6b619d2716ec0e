import { firstLine } from "../profile-session.ts";

/** What keeps an element from being operated, as Playwright's log of the call names it. */
const OBSTACLES: readonly (readonly [RegExp, string])[] = [
  [/<([a-z]+)[^>]*>.*intercepts pointer events/i, "something else lies above the element"],
  [/element is not enabled/i, "the element is disabled"],
  [/element is not visible/i, "the element is not visible"],
  [/element is not editable/i, "nothing can be typed into the element"],
  [/element is not stable/i, "the element moves"],
  [/element is outside of the viewport/i, "the element is outside of the window"],
];

/** Why an action failed, for the model: what Playwright says, in words that name what can be done. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const ms = /Timeout (\d+)ms exceeded/.exec(text)?.[1];
  if (ms !== undefined) return lateText(text, Number(ms));
  if (/crashed|has been closed/i.test(text))
    return "The tab has crashed or was closed. See tabs, or open the address anew.";
  const code = /net::ERR_([A-Z_]+)/.exec(text)?.[1];
  return code === undefined ? firstLine(text) : `The page was not opened: ${code.toLowerCase().replaceAll("_", " ")}.`;
}

function lateText(text: string, ms: number): string {
  const seconds = `${ms / 1000} s`;
  const obstacle = OBSTACLES.find(([words]) => words.test(text))?.[1];
  if (obstacle !== undefined) return `Not done within ${seconds}: ${obstacle}. Take a new snapshot.`;
  if (/waiting for (?:locator|getByRef|getByText)|waitFor/i.test(text) && !/resolved to/.test(text))
    return `Not found on the page within ${seconds}. Take a new snapshot.`;
  return `The page did not answer within ${seconds}: it may be busy. If that lasts, close the tab and open the address anew.`;
}

import type { Attributes } from "./elements.ts";
import type { StyleRules } from "./style-rules.ts";

/** Classes by which the field's style libraries hide a text from people who look at the page. */
const HIDING_CLASSES = new Set(
  (
    "sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only ui-helper-hidden-accessible " +
    "a11y-hidden offscreen off-screen invisible is-hidden hide"
  ).split(" "),
);
/** Classes that hide, unless another class shows the element again on a wide screen. */
const NARROW_CLASSES = new Set(["hidden", "d-none"]);
const SHOWN_AGAIN = /^(?:(?:sm|md|lg|xl|2xl):(?:block|flex|grid|contents|inline|table)|d-(?:sm|md|lg|xl|xxl)-(?!none))/;
/** Elements whose content a browser with scripts shows in no case. */
const UNSEEN_ELEMENTS = new Set(["noscript", "template"]);

/** Whether a person who looks at the page does not see the element, which is the one at this place of all that begin. */
export function isHidden(name: string, attributes: Attributes, { rules, place }: Surroundings): boolean {
  if (UNSEEN_ELEMENTS.has(name)) return true;
  // Pages hide their whole body until their scripts have run.
  if (name === "html" || name === "body") return false;
  if (saysHidden(name, attributes)) return true;
  const names = (attributes["class"] ?? "").toLowerCase().split(/\s+/);
  return isHiddenByClass(names.filter((one) => one !== "")) || rules.hide(name, attributes, place);
}

interface Surroundings {
  readonly rules: StyleRules;
  readonly place: number;
}

const saysHidden = (name: string, attributes: Attributes): boolean =>
  "hidden" in attributes ||
  attributes["aria-hidden"]?.trim().toLowerCase() === "true" ||
  (name === "dialog" && !("open" in attributes));

function isHiddenByClass(names: readonly string[]): boolean {
  if (names.some((one) => HIDING_CLASSES.has(one))) return true;
  return names.some((one) => NARROW_CLASSES.has(one)) && !names.some((one) => SHOWN_AGAIN.test(one));
}

import type { StyleRules } from "./style-rules.ts";
import { declarationsIn, hides } from "./style.ts";

type Attributes = Readonly<Record<string, string>>;

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

/** Whether a person who looks at the page does not see the element. */
export function isHidden(name: string, attributes: Attributes, rules: StyleRules): boolean {
  if (UNSEEN_ELEMENTS.has(name)) return true;
  // Pages hide their whole body until their scripts have run.
  if (name === "html" || name === "body") return false;
  if (saysHidden(name, attributes)) return true;
  const { style, class: classes, id } = attributes;
  if (style !== undefined && hides(rules.resolved(declarationsIn(style)))) return true;
  const names = classes === undefined ? [] : classes.split(/\s+/).filter((one) => one !== "");
  return isHiddenByClass(names.map((one) => one.toLowerCase())) || rules.hide({ name, id, classes: names });
}

const saysHidden = (name: string, attributes: Attributes): boolean =>
  "hidden" in attributes ||
  attributes["aria-hidden"]?.trim().toLowerCase() === "true" ||
  (name === "dialog" && !("open" in attributes));

function isHiddenByClass(names: readonly string[]): boolean {
  if (names.some((one) => HIDING_CLASSES.has(one))) return true;
  return names.some((one) => NARROW_CLASSES.has(one)) && !names.some((one) => SHOWN_AGAIN.test(one));
}

import { cloneElement, type ComponentChildren, isValidElement } from "preact";
import { pieces, seen } from "./words.ts";

/** As `t`, for a text in whose places elements of the page stand. */
export const rich = (text: string, values: Readonly<Record<string, ComponentChildren>>): ComponentChildren =>
  pieces(text, values["n"]).map((piece, index) => (index % 2 === 0 ? piece : placed(values[piece], piece)));

function placed(value: ComponentChildren, name: string): ComponentChildren {
  if (typeof value === "string") return seen(value);
  return isValidElement(value) ? cloneElement(value, { key: name }) : value;
}

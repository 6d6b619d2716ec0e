import { isFields } from "../../utils/fields.ts";
import { own } from "../../utils/own.ts";

/** Values that a template can name. */
export interface TemplateScene {
  readonly payload: unknown;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly path: string;
  readonly now: string;
}

const PLACE = /\{\{\s*([^{}]{1,200}?)\s*\}\}/g;
/** UTF-16 units of one value, and of all values together with the template. */
const MOST_VALUE_CHARS = 100_000;
const MOST_CHARS = 400_000;

/**
 * Fills `{{field}}`, `{{list[0].field}}`, `{{headers.x}}`, `{{query.x}}`, `{{path}}` and `{{now}}`. A missing value is
 * empty; objects are JSON.
 */
export function fillTemplate(template: string, scene: TemplateScene): string {
  return template.replaceAll(PLACE, (_, name: string) => textOf(valueAt(name, scene))).slice(0, MOST_CHARS);
}

function valueAt(name: string, { payload, headers, query, path, now }: TemplateScene): unknown {
  if (name === "path") return path;
  if (name === "now") return now;
  const [head = "", ...rest] = stepsOf(name);
  if (head === "headers") return own(headers, rest.join(".").toLowerCase());
  if (head === "query") return own(query, rest.join("."));
  const steps = head === "payload" ? rest : [head, ...rest];
  let value: unknown = payload;
  for (const step of steps) value = stepInto(value, step);
  return value;
}

/** The steps of a path: `messages[0].subject` is `messages`, `0`, `subject`. */
const stepsOf = (name: string): readonly string[] => name.split(/[.[\]]/).filter((step) => step !== "");

function stepInto(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^\d{1,6}$/.test(step) ? value[Number(step)] : undefined;
  return isFields(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.slice(0, MOST_VALUE_CHARS);
}

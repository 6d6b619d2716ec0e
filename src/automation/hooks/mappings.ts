import { defined } from "../../utils/defined.ts";
import { isFields } from "../../utils/fields.ts";
import type { HookAct, HookRefusal } from "./acts.ts";
import type { HookMapping, HooksConfig } from "./config.ts";
import { own } from "../../utils/own.ts";

/** Number of items of a list that may become requests of their own. */
const MOST_ITEMS = 200;

/** Mail that `gog gmail watch serve` reports. */
const GMAIL: HookMapping = {
  id: "gmail",
  match: { path: "gmail" },
  action: "agent",
  wakeMode: "now",
  name: "Gmail",
  sessionKey: "hook:gmail:{{messages[0].id}}",
  messageTemplate:
    "New mail from {{messages[0].from}}\nSubject: {{messages[0].subject}}\n\n{{messages[0].snippet}}\n{{messages[0].body}}",
  forEach: "messages",
  deliver: true,
  channel: "last",
  allowUnsafeExternalContent: false,
};

/** The preset, completed by `hooks.gmail`. */
function gmailMapping({ gmail: { model, thinking, allowUnsafeExternalContent } }: HooksConfig): HookMapping {
  return { ...GMAIL, ...defined({ model, thinking }), allowUnsafeExternalContent };
}

/** Whether the preset is on. A watched account needs the preset, even if `presets` does not name it. */
const hasGmail = ({ presets, gmail }: HooksConfig): boolean => presets.includes("gmail") || gmail.account !== undefined;

/** The path of a mapping without slashes around it. */
export const mappingPath = (path: string): string => path.replace(/^\/+|\/+$/g, "");

/** The mapping for a request: the first that fits, among the config's mappings and then the presets. */
export function mappingFor(config: HooksConfig, name: string, payload: unknown): HookMapping | undefined {
  const source = isFields(payload) ? payload["source"] : undefined;
  const all = [...config.mappings, ...(hasGmail(config) ? [gmailMapping(config)] : [])];
  return all.find(
    ({ match }) =>
      (match.path === undefined || mappingPath(match.path) === name) &&
      (match.source === undefined || match.source === source),
  );
}

/** The acts that a mapping makes of a request: one act, or one for each item of a list. */
export function actsOf(mapping: HookMapping, scene: TemplateScene): readonly HookAct[] | HookRefusal {
  if (mapping.forEach === undefined) return [actOf(mapping, scene)].flat();
  const list = isFields(scene.payload) ? scene.payload[mapping.forEach] : undefined;
  if (!Array.isArray(list)) return { status: 400, error: `the body has no list "${mapping.forEach}"` };
  if (list.length > MOST_ITEMS) return { status: 400, error: `"${mapping.forEach}" has more than ${MOST_ITEMS} items` };
  const field = mapping.forEach;
  return list.flatMap((item: unknown) => {
    const payload = { ...(isFields(scene.payload) ? scene.payload : {}), [field]: [item] };
    return actOf(mapping, { ...scene, payload });
  });
}

function actOf(mapping: HookMapping, scene: TemplateScene): readonly HookAct[] {
  const {
    action,
    messageTemplate,
    textTemplate,
    name = nameOf(mapping),
    allowUnsafeExternalContent: isTrusted,
    agentId,
  } = mapping;
  const template = action === "wake" ? (textTemplate ?? messageTemplate) : (messageTemplate ?? textTemplate);
  const text = (template === undefined ? JSON.stringify(scene.payload, null, 1) : fillTemplate(template, scene)).trim();
  if (text === "") return [];
  const sessionKey = mapping.sessionKey === undefined ? undefined : fillTemplate(mapping.sessionKey, scene);
  const common = { name, agentId, sessionKey, isTrusted };
  if (action === "wake") return [{ kind: "wake", text, mode: mapping.wakeMode, ...common }];
  const { deliver, channel, to, model, thinking, timeoutSeconds, sessionMode } = mapping;
  return [
    { kind: "agent", message: text, ...common, deliver, channel, to, model, thinking, timeoutSeconds, sessionMode },
  ];
}

const nameOf = ({ id, match }: HookMapping): string => id ?? match.path ?? match.source ?? "Hook";

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
function fillTemplate(template: string, scene: TemplateScene): string {
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

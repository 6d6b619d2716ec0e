import { z } from "zod";

const ACTIONS = [
  "status",
  "doctor",
  "start",
  "stop",
  "profiles",
  "tabs",
  "open",
  "focus",
  "close",
  "navigate",
  "snapshot",
  "text",
  "screenshot",
  "console",
  "pdf",
  "upload",
  "dialog",
  "act",
] as const;

const KINDS = [
  "click",
  "clickCoords",
  "type",
  "press",
  "hover",
  "scrollIntoView",
  "drag",
  "select",
  "fill",
  "resize",
  "wait",
  "evaluate",
  "batch",
  "close",
] as const;

const text = z.string().optional();
const ref = text.describe("Ref of an element in the last snapshot, such as e12");

/** One deed on a page. */
const deed = z.object({
  kind: z.enum(KINDS).optional().describe("What act does"),
  ref,
  text: text.describe("Text to type, or that a wait is for"),
  submit: z.boolean().optional().describe("Presses Enter after typing"),
  slowly: z.boolean().optional().describe("Types key by key"),
  key: text.describe("Key to press, such as Enter or Control+a"),
  button: z.enum(["left", "right", "middle"]).optional(),
  modifiers: z.array(z.enum(["Alt", "Control", "ControlOrMeta", "Meta", "Shift"])).optional(),
  doubleClick: z.boolean().optional(),
  x: z.number().optional(),
  y: z.number().optional(),
  startRef: text,
  endRef: text,
  values: z.array(z.string()).max(50).optional().describe("Options to select"),
  fields: z
    .array(z.object({ ref: z.string(), value: z.union([z.string(), z.boolean(), z.number()]) }))
    .max(50)
    .optional()
    .describe("Fields to fill"),
  width: z.int().min(100).max(4000).optional(),
  height: z.int().min(100).max(4000).optional(),
  timeMs: z.int().min(0).max(30_000).optional().describe("Milliseconds to wait"),
  textGone: text.describe("Waits until this text is gone"),
  url: text.describe("Waits for this address; * stands for anything"),
  loadState: z.enum(["load", "domcontentloaded", "networkidle"]).optional(),
  fn: text.describe("JavaScript for evaluate: an expression or a function"),
});
export type Deed = z.output<typeof deed>;

export const browserInput = z.object({
  action: z.enum(ACTIONS).describe("open and navigate need targetUrl; act needs kind"),
  profile: text.describe("Profile, with its own logins"),
  targetUrl: text,
  targetId: text.describe("Tab, such as t1; the current one when left out"),
  ...deed.shape,
  actions: z.array(deed).max(20).optional().describe("Deeds of a batch"),
  interactive: z.boolean().optional().describe("Snapshot of what can be operated only"),
  depth: z.int().min(1).max(50).optional(),
  maxChars: z.int().min(500).max(15_000).optional(),
  fullPage: z.boolean().optional(),
  paths: z.array(z.string()).max(10).optional().describe("Files of the workspace to upload into ref"),
  accept: z.boolean().optional().describe("Answer to the page's next dialog"),
  promptText: text,
});
export type BrowserInput = z.output<typeof browserInput>;

/** Older prompts put the fields of act into `request`. */
export function flattened(args: unknown): unknown {
  if (typeof args !== "object" || args === null || !("request" in args)) return args;
  const { request, ...rest } = args;
  return typeof request === "object" && request !== null ? { ...request, ...rest } : args;
}

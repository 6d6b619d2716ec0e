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
  "errors",
  "requests",
  "pdf",
  "upload",
  "download",
  "dialog",
  "emulate",
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

/** An act on a page. */
const deed = z.lazy(() =>
  z.object({
    kind: z.enum(KINDS).optional().describe("What act does"),
    ref,
    text: text.describe("Text to type, or that a wait is for"),
    submit: z.boolean().optional().describe("Presses Enter after typing"),
    slowly: z.boolean().optional().describe("Types key by key"),
    delayMs: z.int().min(0).max(5000).optional().describe("Milliseconds between key or button down and up"),
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
  }),
);
export type Deed = z.output<typeof deed>;

/** The longest that a call may ask for; a call itself ends a little later. */
const MOST_MS = 110_000;

/** Options of a snapshot. */
const look = {
  interactive: z.boolean().optional().describe("Snapshot of what can be operated only"),
  compact: z.boolean().optional().describe("Without nameless groups"),
  mode: z.enum(["efficient"]).optional().describe("interactive, compact and short"),
  depth: z.int().min(1).max(50).optional(),
  selector: text.describe("CSS selector of the part that a snapshot shows"),
  frame: text.describe("Ref or CSS selector of the frame that a snapshot shows"),
  urls: z.boolean().optional().describe("Addresses of links"),
  labels: z.boolean().optional().describe("Adds a picture with the refs on it"),
  snapshotFormat: z.enum(["ai", "aria"]).optional(),
  limit: z.int().min(1).max(1000).optional().describe("Most elements, lines or requests"),
  maxChars: z.int().min(500).max(15_000).optional(),
};

export const browserInput = z.lazy(() =>
  z.object({
    action: z.enum(ACTIONS).describe("open and navigate need targetUrl; act needs kind"),
    profile: text.describe("Profile, with its own logins"),
    targetUrl: text,
    targetId: text.describe("Tab, such as t1; the current one when left out"),
    timeoutMs: z.int().min(100).max(MOST_MS).optional(),
    ...deed.unwrap().shape,
    actions: z.array(deed).max(20).optional().describe("Deeds of a batch"),
    ...look,
    fullPage: z.boolean().optional(),
    element: text.describe("CSS selector of what a screenshot shows"),
    type: z.enum(["png", "jpeg"]).optional(),
    paths: z.array(z.string()).max(10).optional().describe("Files of the workspace to upload into ref"),
    accept: z.boolean().optional().describe("Answer to the page's next dialog"),
    promptText: text,
    colorScheme: z.enum(["light", "dark", "no-preference"]).optional().describe("Of emulate, as the next three"),
    locale: text,
    timezone: text,
    offline: z.boolean().optional(),
    // Hidden from models: older prompts use these keys. The refs of a snapshot are of both sorts.
    refs: z.enum(["role", "aria"]).optional(),
    target: z.enum(["host", "sandbox", "node"]).optional(),
    node: text,
  }),
);
export type BrowserInput = z.output<typeof browserInput>;
export type BrowserAction = BrowserInput["action"];

/** Part of the input that a model is shown. */
export const shownInput = z.lazy(() => browserInput.unwrap().omit({ refs: true, target: true, node: true }));

/** Older prompts put the fields of act into `request`. */
export function flattened(args: unknown): unknown {
  if (typeof args !== "object" || args === null || !("request" in args)) return args;
  const { request, ...rest } = args;
  return typeof request === "object" && request !== null ? { ...request, ...rest } : args;
}

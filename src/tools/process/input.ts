import type { ToolContext } from "../../types/run/tool.ts";
import type { ExecSettings } from "../../types/settings.ts";
import { alsoSources } from "../../types/run/untrusted.ts";
import { isContained } from "../exec/contained.ts";
import { whyUnshowable } from "../exec/hidden.ts";
import type { ExecLimits } from "../exec/rules/document.ts";
import { narrowed, narrowedAfter } from "../exec/rules/policy.ts";
import type { BackgroundProcess } from "./background-process.ts";
import { isUnasked, UNASKED_TEXTS } from "../../types/run/unasked.ts";

/** Input for a process. */
export interface ProcessInput {
  readonly bytes: Uint8Array;
  /** True when the input ends with these bytes. */
  readonly ends: boolean;
  /** The input in a form for the person who decides about it. */
  readonly shown: string;
}

/** Most bytes of an input: more than a program reads at a time. Longer texts belong into a file. */
const MOST_BYTES = 64 * 1024;

/**
 * The input with a text. `shown` is the text itself when unset. Returns a text for the model when the input is too
 * long.
 */
function inputOf(text: string, { ends = false, shown = text }: { ends?: boolean; shown?: string } = {}) {
  const bytes = Buffer.from(text);
  return bytes.length > MOST_BYTES
    ? `That is more than ${MOST_BYTES} bytes; write it to a file instead.`
    : { bytes, ends, shown };
}

/** The input of the action `write`; a text for the model when there is none. */
export function textInput(data = "", eof = false): ProcessInput | string {
  if (data === "" && !eof) return "The action write needs data, or eof.";
  return inputOf(data, { ends: eof, shown: data === "" ? "[end of the input]" : data });
}

/** The input of the action `submit`: a line, or only its end. */
export const submitInput = (one: BackgroundProcess, text = ""): ProcessInput | string =>
  inputOf(`${text}${isTerminal(one) ? "\r" : "\n"}`, { shown: text === "" ? "[Enter]" : text });

/** The input of the action `paste`. Only a terminal marks pasted text. */
export const pasteInput = (one: BackgroundProcess, text = "", bracketed = true): ProcessInput | string =>
  text === ""
    ? "The action paste needs a text."
    : inputOf(bracketed && isTerminal(one) ? pasted(text) : text, { shown: text });

const isTerminal = ({ of: { running } }: BackgroundProcess): boolean => running.input === "terminal";

interface Keys {
  readonly keys?: readonly string[] | undefined;
  readonly hex?: readonly string[] | undefined;
  readonly literal?: string | undefined;
}

/** The input of the action `send-keys`: the text, then the keys, then the bytes. */
export function keyInput({ keys = [], hex = [], literal = "" }: Keys): ProcessInput | string {
  const unknown = [
    ...keys.filter((key) => bytesOfKey(key) === undefined),
    ...hex.filter((one) => byteOfHex(one) === undefined),
  ];
  if (unknown.length > 0) return `These are no keys or bytes: ${unknown.join(", ")}. Nothing was written.`;
  const ofKeys = keys.map((key) => bytesOfKey(key) ?? "").join("");
  const ofHex = hex.map((one) => byteOfHex(one) ?? 0);
  const bytes = Buffer.concat([Buffer.from(`${literal}${ofKeys}`), Buffer.from(ofHex)]);
  if (bytes.length === 0) return "The action send-keys needs keys, hex or literal.";
  const shown = [literal, ...keys.map((key) => `[${key}]`), ...hex.map((one) => `[0x${one}]`)].join("");
  return bytes.length > MOST_BYTES ? "Those are too many keys at once." : { bytes, ends: false, shown };
}

/** Rules for an input. */
interface InputRules {
  /** Settings of the config and the conversation. */
  readonly settings: ExecSettings;
  /** Present limits of the approvals document. */
  limits(): Promise<ExecLimits>;
}

/**
 * Reason why a process must not get an input; undefined when it may. Commands that need a question make the input need
 * one too: a shell or an interpreter takes its input for commands.
 */
export async function refusedInput(
  { name, of: { cwd, backend } }: BackgroundProcess,
  { shown }: ProcessInput,
  { settings, limits }: InputRules,
  { approvals, signal, untrusted }: Pick<ToolContext, "approvals" | "signal" | "untrusted">,
): Promise<string | undefined> {
  const sources = (await untrusted?.()) ?? [];
  const narrow = async () => narrowedAfter(narrowed(settings, await limits()), sources);
  const { security, ask } = await narrow();
  if (security === "full" && ask !== "always") return undefined;
  const off = whyOff({ security, ask });
  if (off !== undefined) return off;
  if (isContained(backend, { ask }, sources)) return undefined;
  // The question also shows the name, and a command in a sandbox ran without a question.
  const unreadable = whyUnshowable(shown, [cwd, name.replaceAll("\t", " ")]);
  if (unreadable !== undefined) return `${NOT_WRITTEN} nobody can be asked about it: ${unreadable}.`;
  const reason = `It is the input of a command that is running: ${name}.${alsoSources(sources)}`;
  const answer = await approvals.ask({ command: shown, cwd, reason }, signal);
  // The operator's files may have been made stricter while the question waited.
  if (answer === "allow-once" || answer === "allow-always") return whyOff(await narrow());
  if (!isUnasked(answer)) return `${NOT_WRITTEN} ${ANSWERS[answer]}`;
  return `${NOT_WRITTEN} nobody can be asked about it: ${UNASKED_TEXTS[answer]}.`;
}

function whyOff({ security, ask }: Pick<ExecSettings, "security" | "ask">): string | undefined {
  if (security === "deny") return `${NOT_WRITTEN} commands are switched off (tools.exec or exec-approvals.json).`;
  if (security === "full" || ask !== "off") return undefined;
  return `${NOT_WRITTEN} only listed commands run here, and an input is none (tools.exec or exec-approvals.json).`;
}

export const NOT_WRITTEN = "Nothing was written:";

const ANSWERS = {
  deny: "a person refused it. Do not try it in another form; ask the user what to do instead.",
  timeout: "nobody answered the question whether it may be. Tell the user that it waits for approval.",
  abort: "the run was stopped.",
} as const;

const ESCAPE = "\u001B";

/** Bytes that a terminal sends for a key. */
const NAMED: Readonly<Record<string, string>> = {
  enter: "\r",
  return: "\r",
  tab: "\t",
  escape: ESCAPE,
  esc: ESCAPE,
  space: " ",
  backspace: "\u007F",
  bspace: "\u007F",
  up: `${ESCAPE}[A`,
  down: `${ESCAPE}[B`,
  right: `${ESCAPE}[C`,
  left: `${ESCAPE}[D`,
  home: `${ESCAPE}[H`,
  end: `${ESCAPE}[F`,
  insert: `${ESCAPE}[2~`,
  delete: `${ESCAPE}[3~`,
  pageup: `${ESCAPE}[5~`,
  pagedown: `${ESCAPE}[6~`,
  btab: `${ESCAPE}[Z`,
  f1: `${ESCAPE}OP`,
  f2: `${ESCAPE}OQ`,
  f3: `${ESCAPE}OR`,
  f4: `${ESCAPE}OS`,
  f5: `${ESCAPE}[15~`,
  f6: `${ESCAPE}[17~`,
  f7: `${ESCAPE}[18~`,
  f8: `${ESCAPE}[19~`,
  f9: `${ESCAPE}[20~`,
  f10: `${ESCAPE}[21~`,
  f11: `${ESCAPE}[23~`,
  f12: `${ESCAPE}[24~`,
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  arrowup: "up",
  arrowdown: "down",
  arrowright: "right",
  arrowleft: "left",
  pgup: "pageup",
  pgdn: "pagedown",
  ppage: "pageup",
  npage: "pagedown",
  dc: "delete",
  del: "delete",
  ic: "insert",
};

/**
 * The bytes of a key as tmux names keys (`C-c`, `M-x`, `S-Tab`, `Enter`, `F1`), of `^C`, or of one character. Undefined
 * for any other text.
 */
function bytesOfKey(key: string): string | undefined {
  const meta = /^(?:M|Alt)-(.+)$/is.exec(key)?.[1];
  if (meta !== undefined) {
    const rest = bytesOfKey(meta);
    return rest === undefined ? undefined : `${ESCAPE}${rest}`;
  }
  const control = /^(?:C-|Ctrl[-+]|\^)(.+)$/is.exec(key)?.[1];
  if (control !== undefined) return controlOf(control);
  if (/^S-Tab$/i.test(key)) return NAMED["btab"];
  return /^.$/su.test(key) ? key : namedKey(key.toLowerCase());
}

const namedKey = (name: string): string | undefined => {
  const found = Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? name) : name;
  return Object.hasOwn(NAMED, found) ? NAMED[found] : undefined;
};

/** The character of a key with Control, which clears the upper bits. */
function controlOf(key: string): string | undefined {
  if (key === "?") return "\u007F";
  const char = /^space$/i.test(key) ? "@" : key.toUpperCase();
  return /^[@-_]$/.test(char) ? String.fromCharCode(char.charCodeAt(0) & 0x1f) : undefined;
}

/** The byte of two hex digits, with `0x` or without. Undefined for any other text. */
function byteOfHex(hex: string): number | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,2})$/i.exec(hex.trim())?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

const PASTE_BEGIN = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;

/**
 * A text with the marks that a terminal puts around pasted text, so that programs do not take its lines for commands.
 * The text cannot end the mark itself.
 */
const pasted = (text: string): string => `${PASTE_BEGIN}${text.replaceAll(ESCAPE, "")}${PASTE_END}`;

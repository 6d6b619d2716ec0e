import { isInternalEvent } from "../engine/internal-event.ts";
import type { ChatMessage, InputProvenance } from "./model.ts";
import { emptyUsage } from "./usage.ts";
import { type Fields, isFields } from "../../utils/fields.ts";

/** A message whose fields all have their types. */
export interface ReadChatMessage {
  readonly message: ChatMessage;
  /** A value had a wrong type, or a part lacked a required field: it is mended, or left out. */
  readonly isOdd: boolean;
  /** False where a part of the content is left out, because it could not be mended. */
  readonly isWhole: boolean;
}

/**
 * Reads a message that this or another program wrote, and gives all its fields their types, so that no later code has
 * to check them. The result is the same object where nothing has to be changed. Fields of a wrong type are mended, or
 * left out when they cannot be. Other programs write an answer or a result as one string, have a role `tool`, and leave
 * out fields. Undefined when `value` is no message. `at`: the milliseconds of a message that does not have its own
 * time.
 */
export function readChatMessage(value: unknown, at = 0): ReadChatMessage | undefined {
  if (!isFields(value)) return undefined;
  const role = value["role"] === "tool" ? "toolResult" : value["role"];
  if (role !== "user" && role !== "assistant" && role !== "toolResult") return undefined;
  const mending = new Mending();
  const content = contentOf(role, value["content"], mending);
  if (content === undefined) return undefined;
  const isSame = role === value["role"] && content === value["content"];
  const fields = isSame ? value : { ...value, role, content };
  const message = mending.fields(fields, { ...FIELDS[role](content), timestamp: timeOr(at) });
  return isMessage(message) ? { message, isOdd: mending.isOdd, isWhole: mending.isWhole } : undefined;
}

type Role = ChatMessage["role"];
type Content = string | readonly unknown[];

/** The value that a field has to have; the given one where it is right, undefined where the field is to be left out. */
type Mend = (value: unknown) => unknown;
type Mends = Readonly<Record<string, Mend>>;

/** Mends values, and records whether any value was mended: see `ReadChatMessage`. */
export class Mending {
  isOdd = false;
  isWhole = true;

  /**
   * The object with these fields mended; the same object where all fields are right. A field that was not there is not
   * odd.
   */
  fields(value: Fields, mends: Mends): Fields {
    let mended: Record<string, unknown> | undefined;
    for (const [name, mend] of Object.entries(mends)) {
      const given = value[name];
      const right = mend(given);
      if (Object.is(right, given)) continue;
      if (given !== undefined) this.isOdd = true;
      mended ??= { ...value };
      if (right === undefined) Reflect.deleteProperty(mended, name);
      else mended[name] = right;
    }
    return mended ?? value;
  }

  /** The parts that can be read; the same list where all parts are right. */
  parts(given: readonly unknown[], read: (part: unknown, mending: Mending) => Fields | undefined): readonly unknown[] {
    const parts = given.map((part) => read(part, this)).filter((part) => part !== undefined);
    if (parts.length < given.length) this.isWhole = false;
    if (parts.length === given.length && parts.every((part, index) => part === given[index])) return given;
    this.isOdd = true;
    return parts;
  }
}

const isMessage = (value: Fields): value is Fields & ChatMessage => typeof value["role"] === "string";

/** Only the content of user messages may be one string in memory. A result without content still answers its call. */
function contentOf(role: Role, content: unknown, mending: Mending): Content | undefined {
  if (typeof content === "string") return role === "user" ? content : [textPart(content)];
  if (Array.isArray(content)) return mending.parts(content, role === "assistant" ? readAnswerPart : readSeenPart);
  if (role !== "toolResult") return undefined;
  mending.isOdd = true;
  mending.isWhole = false;
  return [];
}

const text: Mend = (value) => (typeof value === "string" ? value : "");
const textOrNone: Mend = (value) => (typeof value === "string" ? value : undefined);
const flagOrNone: Mend = (value) => (typeof value === "boolean" ? value : undefined);
/** A number is what some programs write where a text belongs. */
const textOf: Mend = (value) => (typeof value === "number" || typeof value === "boolean" ? String(value) : value);
const idOf: Mend = (value) => (value === "" || typeof textOf(value) !== "string" ? UNNAMED : textOf(value));
const figure: Mend = (value) => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0);

/** The latest time that a date can have. */
const LAST_MS = 8.64e15;

/** The milliseconds of a time, which some programs write as a text; `at` where it is none. */
const timeOr =
  (at: number): Mend =>
  (value) => {
    const ms = typeof value === "string" ? Date.parse(value) : value;
    return typeof ms === "number" && Math.abs(ms) <= LAST_MS ? ms : at;
  };

/** The id of a call and of a result that name none. In one answer they belong together in their order. */
export const UNNAMED = "unnamed";

const STOPS: ReadonlySet<unknown> = new Set(["stop", "length", "toolUse", "error", "aborted"]);

/** The fields of each role, besides its content and its time. */
const FIELDS: Readonly<Record<Role, (content: Content) => Mends>> = {
  user: () => ({ provenance, internalEvents: eventsOrNone, steered: flagOrNone }),
  assistant: (content) => ({
    api: text,
    provider: text,
    model: text,
    usage,
    stopReason: (value) => (STOPS.has(value) ? value : usualStop(content)),
    errorMessage: textOrNone,
  }),
  toolResult: () => ({ toolCallId: idOf, toolName: text, isError: (value) => value === true }),
};

const usualStop = (content: Content): string =>
  typeof content !== "string" && content.some((part) => isFields(part) && part["type"] === "toolCall")
    ? "toolUse"
    : "stop";

/** Where a stored message says that it came from. A person wrote a turn only where nothing says otherwise. */
export const readProvenance = (value: unknown): InputProvenance | undefined => {
  const read = provenance(value);
  return isFields(read) && isProvenance(read) ? read : undefined;
};

const isProvenance = (value: Fields): value is Fields & InputProvenance => typeof value["kind"] === "string";

const provenance: Mend = (value) =>
  isFields(value)
    ? new Mending().fields(value, {
        kind: (kind) => (typeof kind === "string" ? kind : "inter_session"),
        originSessionId: textOrNone,
        sourceSessionKey: textOrNone,
        sourceChannel: textOrNone,
        sourceTool: textOrNone,
      })
    : undefined;

/** Events that other code may rely on: each has its type and its texts. */
const eventsOrNone: Mend = (value) => {
  const events = Array.isArray(value) ? value.filter(isInternalEvent) : [];
  return events.length === 0 || (Array.isArray(value) && events.length < value.length) ? undefined : value;
};

const costs: Mends = { input: figure, output: figure, cacheRead: figure, cacheWrite: figure, total: figure };
const usage: Mend = (value) =>
  isFields(value)
    ? new Mending().fields(value, {
        input: figure,
        output: figure,
        cacheRead: figure,
        cacheWrite: figure,
        totalTokens: figure,
        cost: (cost) => new Mending().fields(isFields(cost) ? cost : {}, costs),
      })
    : emptyUsage();

const textPart = (said: string) => ({ type: "text", text: said });

/** A part of a message or result. Undefined when nothing of it can be shown. */
export function readSeenPart(part: unknown, mending: Mending): Fields | undefined {
  if (typeof part === "string") return textPart(part);
  if (!isFields(part)) return undefined;
  if (isText(part)) return readText(part, mending);
  if (part["type"] !== "image" && typeof part["data"] !== "string") return textPart("[a part that cannot be shown]");
  if (typeof part["data"] !== "string" || part["data"] === "") return textPart("[image: its data is missing]");
  // The type is found out from the data.
  return mending.fields(part, { type: () => "image", mimeType: (value) => textOrNone(value) ?? UNKNOWN_TYPE });
}

const UNKNOWN_TYPE = "application/octet-stream";

/** A part of an answer of a model. */
function readAnswerPart(part: unknown, mending: Mending): Fields | undefined {
  if (typeof part === "string") return textPart(part);
  if (!isFields(part)) return undefined;
  if (isText(part)) return readText(part, mending);
  if (part["type"] === "thinking" || (typeof part["type"] !== "string" && typeof part["thinking"] === "string"))
    return readThinking(part, mending);
  return part["type"] === "toolCall" || isFields(part["arguments"]) ? readCall(part, mending) : undefined;
}

const isText = ({ type, text: said }: Fields): boolean =>
  type === "text" || (typeof type !== "string" && typeof said === "string");

function readText(part: Fields, mending: Mending): Fields | undefined {
  const read = mending.fields(part, { type: () => "text", text: textOf, textSignature: textOrNone });
  return typeof read["text"] === "string" ? read : undefined;
}

function readThinking(part: Fields, mending: Mending): Fields | undefined {
  const read = mending.fields(part, {
    type: () => "thinking",
    thinking: textOf,
    thinkingSignature: textOrNone,
    redacted: flagOrNone,
  });
  return typeof read["thinking"] === "string" ? read : undefined;
}

function readCall(part: Fields, mending: Mending): Fields {
  const { id, name, arguments: given } = part;
  if (id === undefined || name === undefined || given === undefined) mending.isOdd = true;
  return mending.fields(part, {
    type: () => "toolCall",
    id: idOf,
    name: (value) => text(textOf(value)),
    arguments: readArguments,
    thoughtSignature: textOrNone,
  });
}

/** The arguments of a call as an object, which some programs write as JSON. Without any where they are no object. */
export function readArguments(given: unknown): Fields {
  if (isFields(given)) return given;
  if (typeof given !== "string") return {};
  try {
    const parsed: unknown = JSON.parse(given);
    return isFields(parsed) ? parsed : {};
  } catch {
    // A part of an object is not valid as arguments.
    return {};
  }
}

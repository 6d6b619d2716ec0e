import { isFields, type Fields } from "../../utils/fields.ts";
import { isCompleteJson } from "../pi.ts";

/** Mends the events of one API's stream. Made anew for each answer. */
export interface EventFormat {
  /** Events have a name, which is also their type. */
  readonly isNamed: boolean;
  /** A call of a tool has begun. */
  readonly hasCalls: boolean;
  /** Events in place of a given one: the same event when it is valid, none when it cannot be mended. */
  mend(event: Fields): readonly Fields[];
  /**
   * Reads a body that is no stream, where it is a whole answer: `mend` makes an event of it. Unset when no body is one.
   */
  whole?(body: Fields): Fields | undefined;
}

/** How the streams of an API are mended. Undefined: they are passed on as they are. */
export function formatFor(api: string): EventFormat | undefined {
  return FORMATS.get(api)?.();
}

const FORMATS: ReadonlyMap<string, () => EventFormat> = new Map<string, () => EventFormat>([
  ["openai-completions", () => new ChatFormat()],
  ["mistral-conversations", () => ({ isNamed: false, hasCalls: false, mend: (event) => [event] })],
  ["anthropic-messages", () => new MessagesFormat()],
  ["openai-responses", () => new ResponsesFormat()],
  ["azure-openai-responses", () => new ResponsesFormat()],
  ["openai-codex-responses", () => new ResponsesFormat()],
  ["google-generative-ai", () => ({ isNamed: false, hasCalls: false, mend: (event) => [mendGoogle(event)] })],
  ["google-vertex", () => ({ isNamed: false, hasCalls: false, mend: (event) => [mendGoogle(event)] })],
]);

/** Reasons that are a failure; the SDK knows what to do about them, or says their word. */
const FAILURES =
  /error|fail|filter|safety|sensitiv|refus|block|abort|cancel|insufficient|overload|recitation|prohibited|malformed|unexpected|timeout|unavailable|exceed/i;
const LENGTH = /length|max|limit/i;
const OF_TOOLS = /tool|function/i;

/** The words of an API for the ends that are no failure. */
interface Ends {
  readonly known: ReadonlySet<string>;
  readonly stop: string;
  readonly length: string;
  readonly tools: string;
}

/** The word that an SDK knows for one that it does not. */
function endFor(given: unknown, { known, stop, length, tools }: Ends): unknown {
  if (typeof given !== "string" || given === "" || known.has(given) || FAILURES.test(given)) return given;
  if (LENGTH.test(given)) return length;
  return OF_TOOLS.test(given) ? tools : stop;
}

/** The object with this value; itself when it has it. */
const withValue = (of: Fields, name: string, value: unknown): Fields =>
  of[name] === value ? of : { ...of, [name]: value };

const CHAT_ENDS: Ends = {
  known: new Set(["stop", "end", "length", "function_call", "tool_calls"]),
  stop: "stop",
  length: "length",
  tools: "tool_calls",
};

/** OpenAI's chat API and the many servers that imitate it. */
class ChatFormat implements EventFormat {
  readonly isNamed = false;
  readonly #places = new CallPlaces();

  get hasCalls(): boolean {
    return this.#places.count > 0;
  }

  mend(event: Fields): readonly Fields[] {
    const choices: unknown = event["choices"];
    const given: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isFields(given)) return [event];
    const choice = isFields(given["message"]) && !isFields(given["delta"]) ? inOnePiece(given) : given;
    const ended = withValue(choice, "finish_reason", endFor(choice["finish_reason"], CHAT_ENDS));
    const { delta } = ended;
    const mended = isFields(delta) ? withValue(ended, "delta", this.#withCalls(delta)) : ended;
    return [mended === given ? event : { ...event, choices: [mended] }];
  }

  whole(body: Fields): Fields | undefined {
    const { choices } = body;
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    return isFields(choice) && isFields(choice["message"]) ? body : undefined;
  }

  /** Each call at a place of its own, and in today's form. */
  #withCalls(delta: Fields): Fields {
    const { tool_calls: given, function_call: legacy } = delta;
    const calls = [...callsIn(given), ...(isFields(legacy) ? [{ function: legacy }] : [])];
    const isNone = given === undefined || given === null || (Array.isArray(given) && given.length === 0);
    if (calls.length === 0) return isNone ? delta : { ...delta, tool_calls: [] };
    const placed = calls.map((call) => this.#places.put(call));
    const isSame =
      Array.isArray(given) && placed.length === given.length && placed.every((call, at) => call === given[at]);
    if (isSame) return delta;
    const { function_call: _, ...rest } = delta;
    return { ...rest, tool_calls: placed };
  }
}

/** Servers that cannot stream answer in one piece. */
const inOnePiece = ({ message, ...rest }: Fields): Fields => ({ ...rest, delta: message });

const callsIn = (given: unknown): readonly Fields[] => {
  if (Array.isArray(given)) return given.filter(isFields);
  return isFields(given) ? [given] : [];
};

interface CallPlace {
  readonly index: number;
  /** Id of the call; empty when it has none, or that of another call. */
  id: string;
  /** Arguments of the call so far. */
  args: string;
}

/**
 * Finds the call that a delta belongs to. Servers leave out the number of a call, give two calls the same number, or
 * name both by one id.
 */
class CallPlaces {
  readonly #all: CallPlace[] = [];
  readonly #byKey = new Map<string, CallPlace>();
  #last: CallPlace | undefined;

  get count(): number {
    return this.#all.length;
  }

  /** The delta with the number of its call; itself when nothing is odd. */
  put(given: Fields): Fields {
    const call = isFields(given["function"]) || typeof given["name"] !== "string" ? given : nested(given);
    const said = isFields(call["function"]) ? call["function"] : {};
    const delta = { id: wordOf(call["id"]), name: wordOf(said["name"]), args: argumentsOf(said["arguments"]) };
    const key = keyOf(call, delta.id);
    const known = this.#knownFor(key, delta);
    const place = known && !isOther(known, delta) ? known : this.#open(call["index"]);
    if (place.id === "" && this.#all.every(({ id }) => id !== delta.id)) place.id = delta.id;
    for (const one of [key, place.id]) if (one !== undefined && one !== "") this.#byKey.set(one, place);
    this.#last = place;
    place.args += delta.args;
    const hasOwnId = delta.id === "" || place.id === delta.id;
    return hasOwnId ? withValue(call, "index", place.index) : { ...call, index: place.index, id: place.id };
  }

  #knownFor(key: string | undefined, { name }: CallDelta): CallPlace | undefined {
    const known = key === undefined ? undefined : this.#byKey.get(key);
    return known ?? (key?.startsWith("#") !== true && (key === undefined || name === "") ? this.#last : undefined);
  }

  #open(asked: unknown): CallPlace {
    const isFree = typeof asked === "number" && this.#all.every(({ index }) => index !== asked);
    const next = this.#all.reduce((most, { index }) => Math.max(most, index + 1), 0);
    const place = { index: isFree ? asked : next, id: "", args: "" };
    this.#all.push(place);
    return place;
  }
}

interface CallDelta {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

/** Key by which a server marks its calls: a number, else an id. */
function keyOf({ index }: Fields, id: string): string | undefined {
  if (typeof index === "number" || typeof index === "string") return `#${index}`;
  return id === "" ? undefined : id;
}

/**
 * Whether a delta begins another call than the call at its place. Some servers repeat the name, or give each delta a
 * new id.
 */
function isOther(known: CallPlace, { id, name, args }: CallDelta): boolean {
  if (name === "" || (known.args !== "" && !isCompleteJson(known.args))) return false;
  const hasOtherId = id !== "" && known.id !== "" && id !== known.id;
  return hasOtherId || (known.args !== "" && args !== "");
}

/** A call whose name and arguments are not in `function`. */
const nested = ({ name, arguments: args, ...rest }: Fields): Fields => ({
  ...rest,
  function: { name, arguments: args },
});

const wordOf = (given: unknown): string => (typeof given === "string" ? given : "");

function argumentsOf(given: unknown): string {
  if (typeof given === "string") return given;
  return given === undefined || given === null ? "" : JSON.stringify(given);
}

const MESSAGES_ENDS: Ends = {
  known: new Set(["end_turn", "max_tokens", "tool_use", "refusal", "pause_turn", "stop_sequence", "sensitive"]),
  stop: "end_turn",
  length: "max_tokens",
  tools: "tool_use",
};
const BLOCK_TYPES: ReadonlySet<unknown> = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);
/** The kind of block that a delta belongs to. */
const BLOCK_OF: Readonly<Record<string, Fields>> = {
  text_delta: { type: "text", text: "" },
  thinking_delta: { type: "thinking", thinking: "" },
};

/** Anthropic's API. */
class MessagesFormat implements EventFormat {
  readonly isNamed = true;
  hasCalls = false;
  /** Numbers of the blocks that the SDK has begun. */
  readonly #begun = new Set<unknown>();

  mend(event: Fields): readonly Fields[] {
    switch (event["type"]) {
      case "message_start":
        return [withUsage(event)];
      case "content_block_start":
        return this.#start(event);
      case "content_block_delta":
        return this.#delta(event);
      case "message_delta":
        return [ended(event)];
      default:
        return typeof event["type"] === "string" ? [event] : [];
    }
  }

  #start(event: Fields): readonly Fields[] {
    const block = event["content_block"];
    if (!isFields(block)) return [];
    if (block["type"] === "tool_use") this.hasCalls = true;
    if (BLOCK_TYPES.has(block["type"])) this.#begun.add(event["index"]);
    return [event];
  }

  /** The text of a block that never began, or of an unknown kind, would be lost. */
  #delta(event: Fields): readonly Fields[] {
    const { index, delta } = event;
    if (!isFields(delta)) return [];
    const block = this.#begun.has(index) ? undefined : BLOCK_OF[wordOf(delta["type"])];
    if (!block) return [event];
    this.#begun.add(index);
    return [{ type: "content_block_start", index, content_block: block }, event];
  }
}

function withUsage(event: Fields): Fields {
  const message = isFields(event["message"]) ? event["message"] : {};
  const usage = isFields(message["usage"]) ? message["usage"] : {};
  return withValue(event, "message", withValue(message, "usage", usage));
}

function ended(event: Fields): Fields {
  const delta = isFields(event["delta"]) ? event["delta"] : {};
  const usage = isFields(event["usage"]) ? event["usage"] : {};
  const reason = endFor(delta["stop_reason"], MESSAGES_ENDS);
  return withValue(withValue(event, "usage", usage), "delta", withValue(delta, "stop_reason", reason));
}

const STATUSES: ReadonlySet<unknown> = new Set([
  "completed",
  "incomplete",
  "failed",
  "cancelled",
  "in_progress",
  "queued",
]);

/** OpenAI's Responses API. */
class ResponsesFormat implements EventFormat {
  readonly isNamed = false;
  hasCalls = false;

  mend(event: Fields): readonly Fields[] {
    const { type, item, part, response } = event;
    switch (type) {
      case "response.created":
        return [isFields(response) ? event : { ...event, response: {} }];
      case "response.output_item.added":
      case "response.output_item.done":
        return isFields(item) ? this.#item(event, item) : [];
      case "response.content_part.added":
      case "response.reasoning_summary_part.added":
        return isFields(part) ? [event] : [];
      case "response.function_call_arguments.done":
        return typeof event["arguments"] === "string" ? [event] : [];
      case "response.completed":
        return [withStatus(event)];
      default:
        return [event];
    }
  }

  #item(event: Fields, item: Fields): readonly Fields[] {
    const { type, content, summary } = item;
    if (type === "function_call") this.hasCalls = true;
    const isDone = event["type"] === "response.output_item.done";
    // The SDK would take the text of the deltas away.
    if (isDone && type === "message" && !Array.isArray(content)) return [];
    const listed = withValue(withValue(item, "content", listOf(content)), "summary", listOf(summary));
    return [withValue(event, "item", listed)];
  }
}

/** The list without entries that are no objects; undefined for a value that is no list. */
function listOf(given: unknown): unknown {
  if (!Array.isArray(given)) return undefined;
  return given.every(isFields) ? given : given.filter(isFields);
}

function withStatus(event: Fields): Fields {
  const { response } = event;
  if (!isFields(response)) return event;
  const { status } = response;
  if (status === undefined || status === null || STATUSES.has(status)) return event;
  return { ...event, response: { ...response, status: "completed" } };
}

const GOOGLE_ENDS: Ends = {
  known: new Set([
    "STOP",
    "MAX_TOKENS",
    "FINISH_REASON_UNSPECIFIED",
    "OTHER",
    "LANGUAGE",
    "SPII",
    "BLOCKLIST",
    "NO_IMAGE",
    "IMAGE_OTHER",
  ]),
  stop: "STOP",
  length: "MAX_TOKENS",
  tools: "STOP",
};

/** Google's API. */
function mendGoogle(event: Fields): Fields {
  const candidates: unknown = event["candidates"];
  const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
  if (!isFields(candidate)) return event;
  const { content, finishReason } = candidate;
  const parts = isFields(content) ? content["parts"] : undefined;
  const said = isFields(content) && parts !== undefined ? withValue(content, "parts", partsIn(parts)) : content;
  const mended = withValue(withValue(candidate, "content", said), "finishReason", endFor(finishReason, GOOGLE_ENDS));
  return mended === candidate ? event : { ...event, candidates: [mended] };
}

function partsIn(parts: unknown): unknown {
  if (!Array.isArray(parts)) return [];
  if (parts.every((part) => isFields(part) && part["text"] !== null)) return parts;
  return parts.filter(isFields).map((part) => (part["text"] === null ? { ...part, text: "" } : part));
}

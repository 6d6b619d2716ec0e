import type { HookName } from "../../types/hook/hook-table.ts";
import type { HookContext, HookHandler } from "../../types/hook/hooks.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** An internal event, in the field's names. A handler may add to `messages` and change the content of `context`. */
export interface InternalEvent {
  readonly type: string;
  readonly action: string;
  readonly sessionKey: string;
  readonly timestamp: Date;
  readonly messages: unknown;
  readonly context: Readonly<Record<string, unknown>>;
}

/** Text of a handler for the chat of a conversation, whose key a plugin gives in any form. */
export interface SaidByHook<Key extends string = string> {
  readonly sessionKey: Key;
  readonly text: string;
  /** The same for the same event. */
  readonly event: string;
}

/** Functions that a handler of internal events may use. */
export interface ListenerPorts {
  now(): number;
  /** The config as the handler may see it; called when the handler reads it. */
  cfg(): unknown;
  /** Sends a text to a conversation's chat; returns at once. */
  say(said: SaidByHook): void;
}

/** Internal events that a hook reports. */
interface Telling {
  /** As `type:action`; the action `*` is any. */
  readonly events: readonly string[];
  of(facts: Fields): string;
}

const one = (event: string): Telling => ({ events: [event], of: () => event });

const TELLINGS: readonly (readonly [HookName, Telling])[] = [
  ["gateway_start", one("gateway:startup")],
  ["session:reset", { events: ["command:new", "command:reset", "session:auto-reset"], of: resetEvent }],
  ["command", { events: ["command:*"], of: ({ command }) => `command:${String(command)}` }],
  ["before_compaction", one("session:compact:before")],
  ["after_compaction", one("session:compact:after")],
  ["session:patch", one("session:patch")],
  ["agent:bootstrap", one("agent:bootstrap")],
  ["message_received", one("message:received")],
  ["message:transcribed", one("message:transcribed")],
  ["message:preprocessed", one("message:preprocessed")],
  ["message_sent", one("message:sent")],
];

function resetEvent({ reason }: Fields): string {
  return reason === "new" || reason === "reset" ? `command:${reason}` : "session:auto-reset";
}

const typeOf = (event: string): string => event.split(":", 1)[0] ?? event;

/** Whether a name that a handler listens to, a type or `type:action`, can mean the event. */
const isMeant = (name: string, event: string): boolean =>
  name === event || name === typeOf(event) || (event.endsWith(":*") && name.startsWith(event.slice(0, -1)));

/** The hooks that report the events with this name; empty for an unknown name. */
export const hooksTelling = (name: string): readonly HookName[] =>
  TELLINGS.flatMap(([hook, { events }]) => (events.some((event) => isMeant(name, event)) ? [hook] : []));

/** The name of the internal event that a hook reports. */
export const eventNameIn =
  (hook: HookName) =>
  (facts: unknown): string | undefined =>
    tellingOf(hook)?.of(isFields(facts) ? facts : {});

const tellingOf = (hook: HookName): Telling | undefined => TELLINGS.find(([name]) => name === hook)?.[1];

/**
 * The handler of a hook for a listener to these names; it is called once for each event that matches one of the names.
 */
export function handlerFor(
  hook: HookName,
  names: readonly string[],
  call: (event: InternalEvent) => unknown,
  ports: ListenerPorts,
): HookHandler {
  const nameIn = eventNameIn(hook);
  return async (given, context) => {
    const facts = isFields(given) ? given : {};
    const name = nameIn(facts);
    if (name === undefined || !names.some((wanted) => isMeant(wanted, name))) return undefined;
    const event = eventOf(name, { facts, context }, ports);
    await call(event);
    const said = saidIn(event);
    if (said) ports.say(said);
    return hook === "agent:bootstrap" ? { bootstrapFiles: event.context["bootstrapFiles"] } : undefined;
  };
}

interface Told {
  readonly facts: Fields;
  readonly context: HookContext;
}

function eventOf(name: string, { facts, context }: Told, { now, cfg }: ListenerPorts): InternalEvent {
  const type = typeOf(name);
  const key = context.sessionKey ?? facts["sessionKey"];
  const all: Readonly<Record<string, unknown>> = {};
  // The content of the event is copied only when the handler reads it: a conversation may be large.
  Object.defineProperties(all, {
    ...Object.getOwnPropertyDescriptors(context),
    ...entriesOf(facts, context),
    cfg: { get: cfg, enumerable: false },
    ...Object.getOwnPropertyDescriptors(facts),
  });
  return {
    type,
    action: name.slice(type.length + 1),
    sessionKey: typeof key === "string" ? key : "",
    timestamp: new Date(now()),
    messages: [],
    context: all,
  };
}

/** The field's names for the conversation that ends. */
function entriesOf({ sessionFile }: Fields, { sessionId }: HookContext): PropertyDescriptorMap {
  if (typeof sessionFile !== "string") return {};
  const value = { sessionId, sessionFile };
  const entry = { value, enumerable: true, writable: true, configurable: true };
  return { sessionEntry: entry, previousSessionEntry: entry };
}

/** Messages of one call that are sent, and characters of all these messages together. */
const MOST_MESSAGES = 5;
const MOST_CHARS = 4000;

/** A chat gets texts of handlers only where it asked for a new conversation, and about compactions. */
function saidIn({ type, action, sessionKey, messages, context }: InternalEvent): SaidByHook | undefined {
  if (sessionKey === "" || !Array.isArray(messages) || !mayBeSaid({ type, action, context })) return undefined;
  const { sessionId, messageCount, tokenCount } = context;
  const texts = messages.filter((text): text is string => typeof text === "string" && text.trim() !== "");
  if (texts.length === 0) return undefined;
  const event = [type, action, sessionId ?? "", messageCount ?? "", tokenCount ?? ""].map(String).join(":");
  return { sessionKey, text: shorten(texts.slice(0, MOST_MESSAGES).join("\n\n"), MOST_CHARS), event };
}

function mayBeSaid({ type, action, context }: Pick<InternalEvent, "type" | "action" | "context">): boolean {
  if (type === "session") return action.startsWith("compact:");
  const { commandSource } = context;
  const isReset = type === "command" && (action === "new" || action === "reset");
  return isReset && typeof commandSource === "string" && !commandSource.startsWith("gateway:");
}

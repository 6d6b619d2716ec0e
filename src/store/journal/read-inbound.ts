import { hash } from "node:crypto";
import { inspect } from "node:util";
import { z } from "zod";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { isFields, type Fields } from "../../utils/fields.ts";

/** A message in the shape that every reader relies on, and the faults of the message that was given. */
export interface ReadInbound {
  readonly message: InboundMessage;
  /** `sender.name: expected string, received number`, one for each fault. */
  readonly faults: readonly string[];
}

/** UTF-16 units of JSON that are kept of a message that cannot be read. */
const MOST_RAW = 64 * 1024;
const MOST_ROUNDS = 20;

const text = z.string();
const media = z.looseObject({
  kind: z.enum(["image", "audio", "voice", "video", "document", "sticker"]),
  mime: text.optional(),
  name: text.optional(),
  bytes: z.number().optional(),
  durationSeconds: z.number().optional(),
  source: z.union([
    z.looseObject({ at: z.literal("store"), id: text }),
    z.looseObject({ at: z.literal("platform"), ref: text }),
  ]),
});
const peer = z.looseObject({
  channel: text.min(1),
  account: text.min(1),
  chat: z.looseObject({ kind: z.enum(["direct", "group"]), id: text.min(1), title: text.optional() }),
  thread: text.optional(),
});
const shape = z.looseObject({
  id: text,
  eventKey: text.min(1),
  from: peer,
  sender: z.looseObject({
    id: text.min(1),
    name: text.optional(),
    username: text.optional(),
    e164: text.optional(),
    isBot: z.boolean().optional(),
    roles: z.array(text).optional(),
  }),
  text,
  media: z.array(media),
  mentionsBot: z.boolean(),
  replyTo: z
    .looseObject({
      id: text,
      sender: text.optional(),
      text: text.optional(),
      media: z.array(media).optional(),
      spoken: z.array(text).optional(),
      fromBot: z.boolean().optional(),
    })
    .optional(),
  isEdit: z.boolean().optional(),
  event: z.enum(["reaction", "news", "button", "command"]).optional(),
  reaction: z
    .looseObject({
      emoji: text,
      messageId: text,
      removed: z.boolean().optional(),
      toBot: z.boolean().optional(),
    })
    .optional(),
  news: z
    .looseObject({
      kind: z.enum(["deleted", "pinned", "unpinned", "joined", "left", "renamed"]),
      messageId: text.optional(),
      subject: text.optional(),
    })
    .optional(),
  guildId: text.optional(),
  teamId: text.optional(),
  context: z
    .looseObject({
      threadName: text.optional(),
      threadStarter: text.optional(),
      threadHistory: z.array(text).optional(),
      isForwarded: z.boolean().optional(),
    })
    .optional(),
  untrusted: z.array(text).optional(),
  receivedAt: z.number(),
  sentAt: z.number().optional(),
  options: z.looseObject({}).optional(),
  unreadable: z.never().optional(),
});

/**
 * Reads a message that an adapter offers, or that the journal has. Never throws. Numbers in place of texts become texts; an optional
 * field of a wrong type is left out. A message without what decides about it becomes one with `unreadable`, which has placeholders
 * and is never answered. `now`: epoch milliseconds.
 */
export function readInbound(given: unknown, now: number): ReadInbound {
  if (shape.safeParse(given).success && isMessage(given) && isStorable(given)) return { message: given, faults: [] };
  const data = plainData(given);
  const before = isFields(data) ? data["unreadable"] : undefined;
  if (isFields(before)) return { message: placeholder(data, before, now), faults: [] };
  return isFields(data) ? mendedMessage(data, now) : unreadable(data, ["it is no object"], now);
}

/** Mends in rounds, because each round can find faults that the round before had hidden. */
function mendedMessage(given: Fields, now: number): ReadInbound {
  const faults: string[] = [];
  let mended: Fields | undefined = given;
  for (let round = 0; mended && round < MOST_ROUNDS; round += 1) {
    const { success, error } = shape.safeParse(mended);
    if (success && isMessage(mended)) return { message: mended, faults };
    const issues = error?.issues ?? [];
    for (const { path, message } of issues) faults.push(`${path.join(".") || "message"}: ${message}`);
    mended = mend(mended, issues, now);
  }
  return unreadable(given, faults, now);
}

function unreadable(raw: unknown, faults: readonly string[], now: number): ReadInbound {
  const why = faults.slice(0, 3).join("; ");
  return { message: placeholder(raw, { why, raw }, now), faults: [why] };
}

/** A chat as the journal has it; undefined when that is none. */
export const readPeer = (given: unknown): Peer | undefined =>
  peer.safeParse(given).success && isPeer(given) ? given : undefined;

const isPeer = (_value: unknown): _value is Peer => true;

/** Whether `shape` has accepted the value, which the compiler cannot see for ids. */
const isMessage = (_value: unknown): _value is InboundMessage => true;

/** Whether JSON can have the message. Fields that no reader knows are stored too. */
function isStorable(message: InboundMessage): boolean {
  try {
    JSON.stringify(message);
    return true;
  } catch {
    return false;
  }
}

/** A value in the form that JSON has; a text for a value that JSON cannot have, such as a loop. */
function plainData(given: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(given));
  } catch {
    return inspect(given).slice(0, MOST_RAW);
  }
}

type Path = readonly PropertyKey[];

/** The message without these faults; undefined when what decides about it is missing or wrong. */
function mend(given: Fields, issues: readonly { readonly path: Path }[], now: number): Fields | undefined {
  let mended: unknown = given;
  // The loop runs from the end, so that an entry that is left out of a list moves no entry that is still to be mended.
  for (const { path } of issues.toReversed()) {
    const change = changeFor(path, valueAt(mended, path), { given, now });
    if (!change) return undefined;
    mended = "drop" in change ? withoutPath(mended, change.drop) : withPath(mended, path, change.value);
  }
  return isFields(mended) ? mended : undefined;
}

type Change = { readonly value: unknown } | { readonly drop: Path };

function changeFor(path: Path, value: unknown, { given, now }: { given: Fields; now: number }): Change | undefined {
  const name = path.filter((part) => typeof part !== "number").join(".");
  if (typeof value === "number" && TEXTS.test(name)) return { value: String(value) };
  if (value === null) return { drop: path };
  if (name === "eventKey") return { value: `shape:${digestOf(given)}` };
  if (USUAL.has(name) && path.length === 1) return { value: name === "receivedAt" ? now : USUAL.get(name) };
  if (DECIDING.test(name) && !MINOR.test(name)) return undefined;
  // A required part of something optional is missing: that is left out as a whole.
  return { drop: value === undefined ? path.slice(0, -1) : path };
}

/** Texts for which other programs have numbers. */
const TEXTS =
  /(?:^|\.)(?:id|eventKey|channel|account|thread|name|username|e164|title|messageId|ref|guildId|teamId|sender|text|subject)$/;
/** The values of required fields without which a message can still be answered. */
const USUAL = new Map<string, unknown>([
  ["id", ""],
  ["text", ""],
  ["media", []],
  ["mentionsBot", false],
  ["receivedAt", 0],
]);
/** Fields without which the sender, the chat or the kind of an event is unknown. */
const DECIDING = /^(?:$|(?:from|isEdit|event|reaction|news|options|sender(?:\.id|\.isBot)?)(?:$|\.))/;
/** Fields below the deciding ones that decide nothing. */
const MINOR = /^(?:from\.chat\.title|reaction\.toBot|news\.(?:messageId|subject)|sender\.(?!id$|isBot$).*)$/;

/** Takes the place of a message that cannot be read: who wrote it, or where, is not known for certain. */
function placeholder(given: unknown, { why, raw }: Fields, now: number): InboundMessage {
  const { eventKey, from, receivedAt, text: said } = fieldsOf(given);
  const { channel, account } = fieldsOf(from);
  const isKept = raw !== undefined && JSON.stringify(raw).length <= MOST_RAW;
  const message: unknown = {
    id: "",
    eventKey: typeof eventKey === "string" && eventKey !== "" ? eventKey : `shape:${digestOf(given)}`,
    from: { channel: nameOr(channel), account: nameOr(account), chat: { kind: "direct", id: "" } },
    sender: { id: "" },
    text: typeof said === "string" ? said.slice(0, MOST_RAW) : "",
    media: [],
    mentionsBot: false,
    receivedAt: typeof receivedAt === "number" ? receivedAt : now,
    unreadable: { why: String(why), ...(isKept && { raw }) },
  };
  if (!isMessage(message)) throw new Error("a placeholder is a message");
  return message;
}

const nameOr = (value: unknown): string => (typeof value === "string" && value !== "" ? value : "unknown");
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
const digestOf = (value: unknown): string => hash("sha256", JSON.stringify(value) ?? String(value), "hex").slice(0, 32);

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, part) => (typeof at === "object" && at !== null ? Reflect.get(at, part) : undefined),
    value,
  );

function withPath(value: unknown, [first, ...rest]: Path, to: unknown): unknown {
  if (first === undefined) return to;
  if (Array.isArray(value)) return value.map((item: unknown, at) => (at === first ? withPath(item, rest, to) : item));
  return { ...fieldsOf(value), [first]: withPath(valueAt(value, [first]), rest, to) };
}

function withoutPath(value: unknown, [first, ...rest]: Path): unknown {
  const keep = (item: unknown): unknown[] => (rest.length === 0 ? [] : [withoutPath(item, rest)]);
  if (Array.isArray(value)) return value.flatMap((item: unknown, at) => (at === first ? keep(item) : [item]));
  const entries = Object.entries(fieldsOf(value)).flatMap(([name, item]) =>
    name === first ? keep(item).map((kept): [string, unknown] => [name, kept]) : [[name, item] as const],
  );
  return Object.fromEntries(entries);
}

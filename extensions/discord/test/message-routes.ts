import { objectIn, objectsIn, textIn, type Json } from "./json.ts";
import { ok, refusal, UNKNOWN_MESSAGE } from "./rest-shapes.ts";
import type { RestCall, RestResult } from "./rest-shapes.ts";

/** What these routes need of the world. */
interface Channels {
  /** Read Message History; docs.discord.com/developers/topics/permissions */
  readonly showsHistory: boolean;
  readonly tellsNonces: boolean;
  nextId(): string;
  messages(channel: string): readonly Json[];
  find(channel: string, id: string): Json | undefined;
  addChannel(channel: Json & { id: string }): void;
}

/** docs.discord.com/developers/resources/message#get-channel-pins */
export function answerPins(
  world: Channels,
  channel: string,
  { id, method }: { id: string | undefined; method: string },
): RestResult {
  const pinned = world.messages(channel).filter((message) => message["pinned"] === true);
  if (id === undefined)
    return ok({ items: pinned.map((message) => ({ pinned_at: message["timestamp"], message })), has_more: false });
  const message = world.find(channel, id);
  if (!message) return UNKNOWN_MESSAGE;
  message["pinned"] = method === "PUT";
  return { status: 204 };
}

/** docs.discord.com/developers/resources/channel#start-thread-from-message, #start-thread-without-message */
export function startThread(
  world: Channels,
  parent: string,
  { body, message }: { body: Json; message?: string },
): RestResult {
  if (textIn(body, "name") === "") return refusal(400, 50_035, "Invalid Form Body");
  const id = message ?? world.nextId();
  const thread = {
    id,
    type: 11,
    guild_id: "900",
    parent_id: parent,
    name: textIn(body, "name"),
    last_message_id: null,
  };
  world.addChannel(thread);
  return ok(thread);
}

/** Newest first. docs.discord.com/developers/resources/message#get-channel-messages */
export function pageOf(world: Channels, channel: string, query: URLSearchParams): RestResult {
  const limit = Number(query.get("limit") ?? 50);
  const after = query.get("after");
  const before = query.get("before");
  const all = (world.showsHistory ? world.messages(channel) : []).map((message) =>
    world.tellsNonces ? message : { ...message, nonce: undefined },
  );
  if (query.has("around")) return ok(all.filter(({ id }) => id === query.get("around")));
  const earlier = before === null ? all : all.filter(({ id }) => BigInt(String(id)) < BigInt(before));
  const some =
    after === null ? earlier.slice(-limit) : all.filter(({ id }) => BigInt(String(id)) > BigInt(after)).slice(0, limit);
  return ok(some.toReversed());
}

export const NOT_INDEXED = { message: "Index not yet available. Try again later", code: 110_000, retry_after: 2 };

/** Newest first. docs.discord.com/developers/resources/message#search-guild-messages */
export function foundIn(world: Channels, query: URLSearchParams): RestResult {
  const [words, author] = [query.get("content") ?? "", query.get("author_id")];
  const found = world
    .messages(query.get("channel_id") ?? "")
    .filter((one) => textIn(one, "content").includes(words))
    .filter((one) => author === null || textIn(objectIn(one, "author"), "id") === author);
  const limit = Number(query.get("limit") ?? 25);
  return ok({
    total_results: found.length,
    messages: found
      .toReversed()
      .slice(0, limit)
      .map((one) => [one]),
  });
}

/** The bot adds or takes away its reaction. */
export function react(message: Json, emoji: string, method: string): RestResult {
  const others = objectsIn(message, "reactions").filter((one) => textIn(objectIn(one, "emoji"), "name") !== emoji);
  message["reactions"] =
    method === "PUT" ? [...others, { emoji: { id: null, name: emoji }, me: true, count: 1 }] : others;
  return { status: 204 };
}

/** Whether a message to be sent has nothing that people would see. */
export const isEmpty = ({ body, files }: Pick<RestCall, "body" | "files">): boolean =>
  textIn(body, "content") === "" && files.length === 0 && !["poll", "sticker_ids"].some((part) => part in body);

import type { APIChannel } from "discord-api-types/v10";
import type { Peer } from "openclaw/plugin-sdk";
import { isGone, isRefused, UNKNOWN_CHANNEL } from "./failures.ts";
import type { Bot } from "./bot.ts";

/** The id of a peer's channel or thread. Opens direct chats. Throws the errors of the API. */
export async function targetOf({ thread, chat }: Peer, bot: Bot): Promise<string> {
  if (thread !== undefined) return thread;
  return chat.kind === "direct" ? bot.directs.channelOf(chat.id) : channelOf(chat.id, bot);
}

/** An operator may name a person by the bare id: ids of people and channels look alike, and only Discord knows the kind. */
async function channelOf(id: string, bot: Bot): Promise<string> {
  const { api, places, directs } = bot;
  if (places.has(id)) return id;
  const direct = directs.known(id);
  if (direct !== undefined) return direct;
  try {
    places.note(await api.ask<APIChannel>("GET", `/channels/${id}`));
    return id;
  } catch (error) {
    if (isGone(error, UNKNOWN_CHANNEL)) return directOr(id, bot);
    // The channel exists; the call itself shows the bot's rights in it.
    if (isRefused(error)) return id;
    throw error;
  }
}

/** An id that is no person either is treated as a channel. */
async function directOr(id: string, { directs }: Bot): Promise<string> {
  try {
    return await directs.channelOf(id);
  } catch (error) {
    if (isRefused(error)) return id;
    throw error;
  }
}

import type { Peer } from "openclaw/plugin-sdk";
import { SLACK } from "../config.ts";
import type { ReadContext } from "./read-context.ts";

/** Ids of direct chats begin with D (docs.slack.dev/reference/objects/conversation-object). */
export const isDirect = (channel: string): boolean => channel.startsWith("D");

/** A person's id stands for the direct chat with them. */
const isPerson = (id: string): boolean => /^[UW]/.test(id);

/** Where an answer to an event goes. */
export async function peerOf(channel: string, thread: string | undefined, context: ReadContext): Promise<Peer> {
  const where = { channel: SLACK, account: context.account };
  const inThread = thread === undefined ? {} : { thread };
  if (isDirect(channel) || isPerson(channel)) return { ...where, chat: { kind: "direct", id: channel }, ...inThread };
  const title = await context.people.channel(channel);
  return { ...where, chat: { kind: "group", id: channel, ...(title !== undefined && { title }) }, ...inThread };
}

import type { Peer } from "openclaw/plugin-sdk";
import { isDirect, isPerson } from "../channel-ids.ts";
import { SLACK } from "../config.ts";
import type { ReadContext } from "./read-context.ts";

/** Where an answer to an event goes. */
export async function peerOf(channel: string, thread: string | undefined, context: ReadContext): Promise<Peer> {
  const where = { channel: SLACK, account: context.account };
  const inThread = thread === undefined ? {} : { thread };
  if (isDirect(channel) || isPerson(channel)) return { ...where, chat: { kind: "direct", id: channel }, ...inThread };
  const title = await context.people.channel(channel);
  return { ...where, chat: { kind: "group", id: channel, ...(title !== undefined && { title }) }, ...inThread };
}

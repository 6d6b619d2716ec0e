import { background, OpenClawError } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { openApi, whoAmI } from "./api.ts";
import type { Api, Self } from "./api.ts";
import { changes } from "./changes.ts";
import type { DiscordConfig } from "./config.ts";
import { Directs } from "./directs.ts";
import { badToken, INTENT_FIX, isBadToken, outcomeOf, reasonOf } from "./failures.ts";
import { Inbox } from "./inbound/inbox.ts";
import { download } from "./inbound/media.ts";
import { unanswered } from "./inbound/interactions.ts";
import { mayReadText, putMenu } from "./menu.ts";
import { missedSince } from "./inbound/missed.ts";
import { Places } from "./inbound/places.ts";
import { Recent } from "./recent.ts";
import type { Room } from "./room.ts";
import { send } from "./send.ts";
import { Session } from "./gateway/session.ts";

/** Joins the gateway. Throws `OpenClawError` when there is no token or Discord does not know it. */
export async function connect(config: DiscordConfig, host: ChannelHost): Promise<ChannelLink> {
  const end = new AbortController();
  const signal = AbortSignal.any([host.signal, end.signal]);
  const api = openApi(config, signal);
  const self = await firstContact(api, host);
  const room = furnish(api, { config, host, signal, self });
  await room.directs.restore();
  const inbox = new Inbox(room);
  const session = new Session(room, inbox);
  const work = Promise.all([session.run(), inbox.run()]);
  // Until the gateway is there, what was missed cannot be told from what is yet to come.
  await session.settled;
  background(
    "menu of commands",
    session.begun.then(async () => putMenu(room)),
  );
  return {
    send: (to, part, options) => send(to, part, options, room),
    ...changes(room),
    clearPending: (message) => unanswered(message, room),
    download: (item) => download(room, item),
    missedSince: async (since) => (session.brings(since) ? [] : missedSince(since, room)),
    async close() {
      end.abort();
      await work;
      await session.note();
      api.close();
    },
  };
}

/** What one account starts with. */
export function furnish(
  api: Api,
  { config, host, signal, self }: Pick<Room, "config" | "host" | "signal"> & { self: Self | undefined },
): Room {
  return {
    api,
    config,
    host,
    signal,
    self: { known: self },
    places: new Places(api),
    directs: new Directs(api, host),
    nonces: new Recent(1000),
    own: new Recent(5000),
    starters: new Recent(500),
    slots: new Recent(100),
    reactions: new Recent(500),
  };
}

/** Undefined when Discord cannot be asked now; the session asks again. */
async function firstContact(api: Api, host: ChannelHost): Promise<Self | undefined> {
  try {
    return await whoAmI(api);
  } catch (error) {
    if (isBadToken(error)) throw badToken();
    host.report({ kind: "trouble", reason: reasonOf(error) });
    return undefined;
  }
}

/** The name of the bot. Throws `OpenClawError` when the settings cannot work, an `Error` when nobody answers. */
export async function askName(config: DiscordConfig, signal: AbortSignal): Promise<string> {
  const api = openApi(config, signal);
  try {
    const self = await whoAmI(api);
    if (await mayReadText(api)) return self.name;
  } catch (error) {
    if (isBadToken(error)) throw badToken();
    const outcome = outcomeOf(error);
    throw new Error(outcome.kind === "sent" ? String(error) : outcome.reason, { cause: error });
  } finally {
    api.close();
  }
  throw new OpenClawError("CHANNEL_CONFIG", {
    message: "The Discord bot may not read the text of messages.",
    fix: INTENT_FIX,
  });
}

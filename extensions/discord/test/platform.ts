import { discord } from "../index.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import type { ChatNews, Peer } from "../../../src/types/chat/message.ts";
import type { Platform, PlatformFile } from "../../../test/contracts/channel.ts";
import { startFakeDiscord } from "./fake-discord.ts";
import type { FakeDiscord, Fault } from "./fake-discord.ts";
import { ADA, BOT } from "./fake-world.ts";
import { objectIn, objectsIn, textIn, type Json } from "./json.ts";

const FAULTS: Readonly<Record<Parameters<Platform["failSends"]>[0], Fault>> = {
  limited: "429",
  broken: "500",
  dropped: "drop",
  lost: "lost",
  forbidden: "403",
};
const where = { channel: discord.id, account: DEFAULT_ACCOUNT };
const CREW = { kind: "group", id: "901", title: "#crew" } as const;

/** Discord's side of the contract, and its fake. */
export async function discordPlatform(): Promise<Platform & { readonly fake: FakeDiscord }> {
  const fake = await startFakeDiscord();
  return {
    fake,
    adapter: discord,
    config: { ...fake.config },
    wrongConfig: { ...fake.config, token: "wrong" },
    direct: { ...where, chat: { kind: "direct", id: ADA.id } },
    group: { ...where, chat: CREW },
    topic: { ...where, chat: CREW, thread: "903" },
    say: (to, text, more = {}) => speak(fake, to, text, more),
    shown: (peer) => fake.shown(channelOf(fake, peer)),
    failSends: (how, count = 1) => fake.fail(FAULTS[how], { count }),
    failReceive: (count) => fake.gateway.drop(count - 1),
    ...people(fake),
    ...sights(fake),
    knowsKeys: true,
    close: () => fake.close(),
  };
}

export const channelOf = ({ world }: FakeDiscord, { chat, thread }: Peer): string =>
  thread ?? (chat.kind === "direct" ? world.direct(chat.id) : chat.id);

function speak(fake: FakeDiscord, to: Peer, text: string, how: { naming?: boolean; replyingToBot?: boolean }): string {
  const channel = channelOf(fake, to);
  const before = how.replyingToBot ? fake.world.write(channel, "before", { from: fake.world.self }) : undefined;
  const said = how.naming ? `<@${fake.world.self.id}> ${text}` : text;
  return fake.say(channel, said, before ? { replyTo: String(before["id"]) } : {});
}

const attach = (fake: FakeDiscord, to: Peer, text: string, { bytes, mime, name = "file" }: PlatformFile): string =>
  fake.say(channelOf(fake, to), text, { files: [{ name, bytes, ...(mime !== undefined && { mime }) }] });

/** What people do in addition to writing. */
function people(
  fake: FakeDiscord,
): Pick<
  Platform,
  "change" | "react" | "news" | "menu" | "press" | "attach" | "call" | "sayAsBot" | "redeliver" | "sayUnheard"
> {
  const { world, gateway } = fake;
  let last: Json = {};
  return {
    change(to, messageId, text) {
      const message = world.find(channelOf(fake, to), messageId) ?? {};
      Object.assign(message, { content: text, edited_timestamp: new Date().toISOString() });
      gateway.dispatch("MESSAGE_UPDATE", world.told(message));
    },
    react(to, messageId, emoji, { removed = false } = {}) {
      const channel = channelOf(fake, to);
      const facts = { user_id: ADA.id, channel_id: channel, message_id: messageId, emoji: { id: null, name: emoji } };
      if (removed) gateway.dispatch("MESSAGE_REACTION_REMOVE", { ...facts, burst: false, type: 0 });
      else
        gateway.dispatch("MESSAGE_REACTION_ADD", { ...facts, message_author_id: world.self.id, burst: false, type: 0 });
    },
    news: newsOf(fake),
    menu: {
      give(to, name) {
        const data = { id: "1", name, type: 1 };
        const interaction = world.interaction(channelOf(fake, to), { type: 2, data });
        gateway.dispatch("INTERACTION_CREATE", interaction);
        return String(interaction["id"]);
      },
      below: (id) => world.below(id),
    },
    press(to, messageId, command) {
      const channel = channelOf(fake, to);
      const message = world.find(channel, messageId);
      const data = { component_type: 2, custom_id: command };
      gateway.dispatch("INTERACTION_CREATE", world.interaction(channel, { type: 3, message, data }));
    },
    attach: (to, text, file) => attach(fake, to, text, file),
    call(to, rest, file) {
      const text = `<@${fake.world.self.id}>${rest}`;
      if (file) attach(fake, to, text, file);
      else fake.say(channelOf(fake, to), text);
    },
    sayAsBot: (to, text) => void fake.say(channelOf(fake, to), text, { from: BOT }),
    redeliver() {
      const direct = world.direct(ADA.id);
      last = world.messages(direct).at(-1) ?? last;
      gateway.dispatch("MESSAGE_CREATE", world.told(last));
    },
    sayUnheard: (to, text) => void fake.say(channelOf(fake, to), text, { unheard: true }),
  };
}

/** Discord's notices are messages of their own types: docs.discord.com/developers/resources/message#message-object-message-types */
function newsOf({ world, gateway }: FakeDiscord): NonNullable<Platform["news"]> {
  const notice = (type: number, text: string, more: Json, news: ChatNews) => () => {
    const message = { ...world.told(world.write(CREW.id, text, {})), type, ...more };
    gateway.dispatch("MESSAGE_CREATE", message);
    return news;
  };
  const pinned = { message_reference: { message_id: "55", channel_id: CREW.id, guild_id: "900" } };
  const bob = { id: "1002", username: "bob", global_name: "Bob", discriminator: "0", avatar: null };
  return [
    notice(7, "", {}, { kind: "joined" }),
    notice(1, "", { mentions: [bob] }, { kind: "joined", subject: "Bob" }),
    notice(2, "", { mentions: [ADA] }, { kind: "left" }),
    notice(4, "New crew", {}, { kind: "renamed", subject: "New crew" }),
    notice(6, "", pinned, { kind: "pinned", messageId: "55" }),
    () => {
      const id = String(world.messages(CREW.id).find(({ content }) => content === "I am here")?.["id"]);
      gateway.dispatch("MESSAGE_DELETE", { id, channel_id: CREW.id, guild_id: "900" });
      return { kind: "deleted", messageId: id };
    },
  ];
}

/** What people see in addition to texts. */
function sights(fake: FakeDiscord): Pick<Platform, "typed" | "reactions" | "answers" | "files" | "albums"> {
  const { world } = fake;
  const own = (peer: Peer) => world.messages(channelOf(fake, peer)).filter((message) => world.isOwn(message));
  return {
    typed: (peer) => world.typing.filter((channel) => channel === channelOf(fake, peer)).length,
    reactions: (peer, messageId) =>
      objectsIn(world.find(channelOf(fake, peer), messageId), "reactions").map((one) =>
        textIn(objectIn(one, "emoji"), "name"),
      ),
    answers: (peer) =>
      own(peer).map((message) => textIn(objectIn(message, "message_reference"), "message_id") || undefined),
    albums: (peer) =>
      own(peer).flatMap(({ attachments }) =>
        Array.isArray(attachments) && attachments.length > 0 ? attachments.length : [],
      ),
    files: (peer) =>
      own(peer).flatMap((message) =>
        objectsIn(message, "attachments").map((file) => ({
          kind: "image" as const,
          bytes: world.files.get(new URL(String(file["url"])).pathname) ?? new Uint8Array(),
          caption: String(message["content"]),
        })),
      ),
  };
}

import type { Platform, PlatformFile } from "../../../test/contracts/channel.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import type { ChatNews, Peer } from "../../../src/types/chat/message.ts";
import { signal } from "../index.ts";
import { ADA, SELF, startFakeSignal } from "./fake-signal.ts";
import type { FakeOptions, FakeSignal, Fault } from "./fake-signal.ts";

const FAULTS: Readonly<Record<Parameters<Platform["failSends"]>[0], Fault>> = {
  limited: "limited",
  broken: "500",
  dropped: "drop",
  lost: "lost",
  forbidden: "unregistered",
};
const where = { channel: signal.id, account: DEFAULT_ACCOUNT };
export const GROUP = {
  groupId: "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=",
  groupName: "Crew",
  revision: 3,
  type: "DELIVER",
};
export const DIRECT: Peer = { ...where, chat: { kind: "direct", id: `uuid:${ADA.uuid}` } };
export const CREW: Peer = { ...where, chat: { kind: "group", id: GROUP.groupId, title: GROUP.groupName } };
const ACCOUNTS = [{ number: SELF.number, aci: SELF.uuid }];

/** Signal for the contract suite, with its fake. */
export async function signalPlatform(options: FakeOptions = {}): Promise<Platform & { readonly fake: FakeSignal }> {
  const fake = await startFakeSignal({ accounts: ACCOUNTS, ...options });
  return {
    fake,
    adapter: signal,
    config: { httpUrl: fake.url },
    wrongConfig: { httpUrl: fake.url, account: "+15550000000" },
    direct: DIRECT,
    group: CREW,
    say: (to, text, more = {}) => idOf(speak(fake, to, text, more)),
    shown: (peer) => fake.shown(chatOf(peer)),
    failSends: (how, count) => fake.fail("send", FAULTS[how], count),
    failReceive: (count) => fake.dropStreams(count),
    unacknowledged: () => fake.unacknowledged,
    redeliver: () => fake.redeliver(),
    ...people(fake),
    ...sights(fake),
    close: () => fake.close(),
  };
}

const idOf = (timestamp: number): string => `${timestamp}:${ADA.uuid}`;
const timeOf = (messageId: string): number => Number(messageId.split(":")[0]);
const chatOf = ({ chat }: Peer): string => chat.id.replace(/^uuid:/, "");
const groupOf = (to: Peer) => (to.chat.kind === "group" ? { groupInfo: GROUP } : {});

function speak(fake: FakeSignal, to: Peer, text: string, how: { naming?: boolean; replyingToBot?: boolean }): number {
  const mention = { name: SELF.number, number: SELF.number, uuid: SELF.uuid, start: text.length + 1, length: 1 };
  const author = { author: SELF.number, authorNumber: SELF.number, authorUuid: SELF.uuid };
  return fake.say(how.naming ? `${text} \uFFFC` : text, {
    ...groupOf(to),
    ...(how.naming && { mentions: [mention] }),
    ...(how.replyingToBot && { quote: { id: 5, ...author, text: "before", attachments: [] } }),
  });
}

/** What people do other than writing. */
function people(fake: FakeSignal): Pick<Platform, "change" | "react" | "news" | "attach" | "call"> {
  return {
    change: (to, messageId, text) => fake.edit(timeOf(messageId), text, groupOf(to)),
    react(to, messageId, emoji, how = {}) {
      const author = { targetAuthor: SELF.number, targetAuthorNumber: SELF.number, targetAuthorUuid: SELF.uuid };
      const reaction = { emoji, ...author, targetSentTimestamp: timeOf(messageId), isRemove: how.removed === true };
      fake.say(null, { ...groupOf(to), reaction });
    },
    news: [
      () => {
        const id = fake.say("oops", groupOf(CREW));
        fake.say(null, { ...groupOf(CREW), remoteDelete: { timestamp: id } });
        return { kind: "deleted", messageId: idOf(id) };
      },
      ...(["pinMessage", "unpinMessage"] as const).map((field) => (): ChatNews => {
        const author = { targetAuthor: ADA.number, targetAuthorNumber: ADA.number, targetAuthorUuid: ADA.uuid };
        fake.say(null, { ...groupOf(CREW), [field]: { ...author, targetSentTimestamp: 7 } });
        return { kind: field === "pinMessage" ? "pinned" : "unpinned", messageId: idOf(7) };
      }),
    ],
    attach: (to, text, file) => idOf(fake.say(text, { ...groupOf(to), attachments: [attached(fake, file)] })),
    call(to, rest, file) {
      const mentions = [{ name: SELF.number, number: SELF.number, uuid: SELF.uuid, start: 0, length: 1 }];
      fake.say(`\uFFFC${rest}`, { ...groupOf(to), mentions, attachments: file ? [attached(fake, file)] : [] });
    },
  };
}

function attached(fake: FakeSignal, { bytes, mime: contentType, name: filename }: PlatformFile): object {
  const id = `${fake.attachments.size + 1}.png`;
  fake.attachments.set(id, Buffer.from(bytes));
  return { contentType, filename, id, size: bytes.length, width: 1, height: 1, caption: null };
}

/** What people see other than texts. */
function sights(fake: FakeSignal): Pick<Platform, "typed" | "reactions" | "answers" | "files" | "albums"> {
  const messages = (peer: Peer) => fake.messages.filter(({ chat }) => chat === chatOf(peer));
  return {
    typed: (peer) =>
      fake.calls.filter(
        ({ method, params }) =>
          method === "sendTyping" &&
          params["stop"] !== true &&
          [params["groupId"], params["recipient"]].flat().includes(chatOf(peer)),
      ).length,
    reactions: (_peer, messageId) => fake.reactions.get(String(timeOf(messageId))) ?? [],
    answers: (peer) =>
      messages(peer).map(({ params }) => {
        const { quoteTimestamp, quoteAuthor } = params;
        return typeof quoteTimestamp === "number" ? `${quoteTimestamp}:${quoteAuthor as string}` : undefined;
      }),
    albums: (peer) => messages(peer).flatMap(({ attachments }) => attachments.length || []),
    files: (peer) =>
      messages(peer).flatMap(({ attachments, text }) => attachments.map(({ uri, bytes }) => fileOf(uri, bytes, text))),
  };
}

function fileOf(uri: string, bytes: Buffer, text: string): PlatformFile {
  const [, mime] = /^data:([^;,]+)/.exec(uri) ?? [];
  return { kind: "document", bytes, ...(mime !== undefined && { mime }), ...(text !== "" && { caption: text }) };
}

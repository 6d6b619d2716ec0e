import type { GroupMetadata, WAMessage, WAMessageKey } from "@whiskeysockets/baileys";
import { backoff, BoundedMap, wait, type ChannelHost, type InboundMessage, readOwnNote } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { WhatsAppConfig } from "../config.ts";
import { timerIn, unsupportedIn, unwrap } from "../inbound/content.ts";
import { Albums, type AlbumNews } from "../inbound/albums.ts";
import { albumOf, readMessage, lidsIn, peerOf } from "../inbound/inbound.ts";
import { idOf, type Self, type MessageView } from "../view.ts";
import { isGroup } from "../jid.ts";
import { membersOf, lidsWithoutPhone, type GroupMember } from "../inbound/mentions.ts";
import type { WaSocket } from "./port.ts";

interface Parts {
  readonly config: WhatsAppConfig;
  readonly host: ChannelHost;
  readonly auth: { readonly creds: { readonly me?: { id: string; lid?: string; name?: string } | undefined } };
  readonly signal: AbortSignal;
  socket(): WaSocket | undefined;
}

/** How long a message waits for the data of people and groups. */
const LOOK_UP_MS = 3000;

/** Passes messages to the host, with data about the people and groups in each message. */
export class Intake {
  readonly #parts: Parts;
  readonly #groups = new BoundedMap<string, GroupMetadata>(500);
  readonly #names = new BoundedMap<string, string>(2000);
  readonly #texts = new BoundedMap<string, string>(1000);
  readonly #unread = new BoundedMap<string, WAMessageKey[]>(500);
  readonly #emoji = new BoundedMap<string, string>(1000);
  readonly #timers: Timers;
  readonly #albums: Albums;
  #busy: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { host, signal, config } = parts;
    this.#timers = new Timers(host);
    const insist = (work: () => Promise<void>) => this.#insist(work);
    this.#albums = new Albums({ host, signal, waitMs: config.mediaGroupFlushMs, insist });
  }

  /** Continues with albums that were incomplete when the process ended. Rejects when notes cannot be read. */
  async begin(): Promise<void> {
    await this.#albums.begin();
  }

  /** Resolves when the message is durable or has nothing for an agent; rejects when the connection ends before that. */
  async take(message: WAMessage): Promise<void> {
    const work = this.#take(message);
    // The caller gets a failure; `idle` only waits for the end.
    this.#busy = work.catch(() => undefined);
    return work;
  }

  async #take(message: WAMessage): Promise<void> {
    const { inbound, album } = await this.#read(message);
    if (album) await this.#albums.take(album, inbound);
    if (!inbound) return;
    if (!album) await this.#insist(() => this.#parts.host.receive([inbound]));
    const chat = inbound.from.chat.id;
    this.#texts.set(textKey(chat, inbound.id), inbound.text);
    if (!message.key.fromMe) this.#unread.set(chat, [...(this.#unread.get(chat) ?? []).slice(-50), message.key]);
  }

  async #read(message: WAMessage): Promise<{ inbound?: InboundMessage | undefined; album?: AlbumNews | undefined }> {
    const { host } = this.#parts;
    try {
      const view = await this.#view(message);
      if (!view) return {};
      await this.#noteTimer(message, view);
      const read = readMessage(message, view);
      if (read) this.#logUnsupported(message);
      const inbound = read?.reaction ? { ...read, reaction: this.#withEmoji(read, read.reaction) } : read;
      return { inbound, album: albumOf(message, view) };
    } catch (error) {
      // An unreadable message must not block all later ones.
      host.log.warn("a message could not be read and was left out", { id: message.key.id, error: String(error) });
      return {};
    }
  }

  /** Notes the timer of a chat, which also changes with messages that its owner writes on the phone. */
  async #noteTimer(message: WAMessage, view: MessageView): Promise<void> {
    const seconds = message.key.remoteJid ? timerIn(unwrap(message.message)) : undefined;
    if (seconds !== undefined) await this.#timers.note(peerOf(message, view).chat.id, seconds);
  }

  #logUnsupported({ key, message }: WAMessage): void {
    const kind = unsupportedIn(unwrap(message));
    if (kind === undefined) return;
    this.#parts.host.log.info("a message of a kind that cannot be read; the model is told its kind", {
      id: key.id,
      kind,
    });
  }

  async #view(message: WAMessage): Promise<MessageView | undefined> {
    const { host, config } = this.#parts;
    const self = this.#self();
    if (!self) return undefined;
    const phones = new Map<string, string>();
    for (const lid of lidsIn(message)) {
      const phone = await this.#ask((socket) => socket.phoneOf(lid));
      if (phone !== undefined) phones.set(lid, phone);
    }
    const { remoteJid: chat, participant, participantAlt, remoteJidAlt } = message.key;
    const sender = idOf(participant || chat || "", { phones, self }, participantAlt ?? remoteJidAlt);
    if (message.pushName && !message.key.fromMe) this.#names.set(sender, message.pushName);
    const title = chat && isGroup(chat) ? (await this.#group(chat))?.subject : undefined;
    const { account } = host;
    return { account, self, now: Date.now(), ownChat: config.selfChatMode, phones, names: this.#names, title };
  }

  #self(): Self | undefined {
    const me = this.#parts.auth.creds.me;
    return me && { jid: me.id, name: me.name ?? `+${me.id.split(/[:@]/)[0]}`, ...(me.lid && { lid: me.lid }) };
  }

  /** WhatsApp reports that a reaction was removed, but not which. */
  #withEmoji(message: InboundMessage, reaction: NonNullable<InboundMessage["reaction"]>): typeof reaction {
    const key = `${message.from.chat.id} ${reaction.messageId} ${message.sender.id}`;
    if (reaction.removed) return { ...reaction, emoji: this.#emoji.get(key) ?? "" };
    this.#emoji.set(key, reaction.emoji);
    return reaction;
  }

  /** Repeats work until it succeeds. Rejects when the account closes before. */
  async #insist(work: () => Promise<void>): Promise<void> {
    const { host, signal } = this.#parts;
    for (let failures = 0; ; failures++) {
      if (signal.aborted) throw new Error("the channel has ended");
      try {
        return await work();
      } catch (error) {
        const retryInMs = backoff(failures);
        const cause = error instanceof Error ? error.message : String(error);
        host.report({ kind: "trouble", reason: `a message could not be stored: ${cause}`, retryInMs });
        await wait(retryInMs, signal);
      }
    }
  }

  async #group(jid: string): Promise<GroupMetadata | undefined> {
    const known = this.#groups.get(jid);
    if (known) return known;
    const group = await this.#ask((socket) => socket.group(jid));
    if (group) this.#groups.set(jid, group);
    return group;
  }

  /** Undefined when the connection does not know or does not answer in time. */
  async #ask<T>(question: (socket: WaSocket) => Promise<T | undefined>): Promise<T | undefined> {
    const socket = this.#parts.socket();
    if (!socket) return undefined;
    const late = wait(LOOK_UP_MS, this.#parts.signal).then(() => undefined);
    // A message without a name is better than a missing message.
    const answer = question(socket).catch((error: unknown) => {
      this.#parts.host.log.info("WhatsApp could not be asked about a person or group", { error: String(error) });
      return undefined;
    });
    return Promise.race([answer, late]);
  }

  /** The members of a group; none when WhatsApp does not answer in time. */
  async membersOf(jid: string): Promise<readonly GroupMember[]> {
    const group = await this.#group(jid);
    if (!group) return [];
    const lids = lidsWithoutPhone(group);
    const found = await this.#ask((socket) => Promise.all(lids.map((lid) => socket.phoneOf(lid))));
    const phones = lids.flatMap((lid, at) => {
      const phone = found?.[at];
      return phone === undefined ? [] : [[lid, phone] as const];
    });
    return membersOf(group, new Map(phones));
  }

  /** The seconds after which messages of a chat disappear; 0 when they stay. */
  async timerOf(chat: string): Promise<number> {
    const heard = await this.#timers.of(chat);
    return heard ?? (isGroup(chat) ? (await this.#group(chat))?.ephemeralDuration : undefined) ?? 0;
  }

  knownGroup(jid: string): GroupMetadata | undefined {
    return this.#groups.get(jid);
  }

  forgetGroup(jid: string): void {
    this.#groups.delete(jid);
  }

  /** The text of a message of this chat, for quotes. */
  textOf(chat: string, id: string): string | undefined {
    return this.#texts.get(textKey(chat, id));
  }

  /** Takes the messages of a chat that have not been marked as read. */
  takeUnread(chat: string): readonly WAMessageKey[] {
    const keys = this.#unread.get(chat) ?? [];
    this.#unread.delete(chat);
    return keys;
  }

  /** Resolves when no message is being stored. */
  async idle(): Promise<void> {
    await this.#busy;
    await this.#albums.idle();
  }
}

/** A quote shows no text of another chat: a model may name any message. */
const textKey = (chat: string, messageId: string): string => `${chat}\n${messageId}`;

const NOTE = "timers";
const MOST = 2000;

const noteShape = z.record(z.string(), z.number());

/** The chats whose messages disappear, as the last message of each chat showed it. They outlive a restart. */
class Timers {
  readonly #host: ChannelHost;
  #known: BoundedMap<string, number> | undefined;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  /**
   * The seconds after which messages of the chat disappear; 0 when they stay, undefined when no message had the number.
   * Never rejects.
   */
  async of(chat: string): Promise<number | undefined> {
    return (await this.#read()).get(chat);
  }

  /** Notes a timer. Resolves when it is durable, or could not be written: a message is worth more than its timer. */
  async note(chat: string, seconds: number): Promise<void> {
    const known = await this.#read();
    // Most chats have no timer, and need no note.
    if ((known.get(chat) ?? 0) === seconds) return;
    known.set(chat, seconds);
    await this.#host.notes.set(NOTE, JSON.stringify(Object.fromEntries(known))).catch((error: unknown) => {
      this.#host.log.warn("the timer of a chat could not be written", { error: String(error) });
    });
  }

  async #read(): Promise<BoundedMap<string, number>> {
    if (this.#known) return this.#known;
    try {
      const note = await readOwnNote(this.#host, NOTE, noteShape);
      this.#known ??= new BoundedMap(MOST, Object.entries(note ?? {}));
      return this.#known;
    } catch (error) {
      this.#host.log.warn("the timers of chats could not be read", { error: String(error) });
      return new BoundedMap(MOST);
    }
  }
}

import { mkdtemp, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { APIMessage } from "discord-api-types/v10";
import { openRelay, type Relay } from "../kit/tcp-relay.ts";

/** What of `discord-digital-twin` 0.1.1 is used; the package is installed elsewhere, so that its own types are not at hand. */
interface Digital {
  readonly restUrl: string;
  readonly port: number;
  readonly botUserId: string;
  readonly guildId: string;
  readonly prisma: Rows;
  start(): Promise<void>;
  stop(): Promise<void>;
  channel(id: string): DigitalChannel;
}

interface DigitalChannel {
  getMessages(): Promise<APIMessage[]>;
  getTypingEvents(): readonly unknown[];
  getInteractionResponse(id: string): Promise<{ acknowledged: boolean; type: number } | null>;
  user(id: string): DigitalPerson;
}

/** Somebody in a channel. */
interface DigitalPerson {
  sendMessage(message: { content: string; messageReference?: { message_id: string } }): Promise<APIMessage>;
  sendVoiceMessage(): Promise<APIMessage>;
  editMessage(message: { messageId: string; content: string }): Promise<APIMessage>;
  deleteMessage(message: { messageId: string }): Promise<void>;
  runSlashCommand(command: { name: string; options: readonly CommandOption[] }): Promise<{ id: string }>;
  clickButton(button: { messageId: string; customId: string }): Promise<{ id: string }>;
}

interface CommandOption {
  readonly name: string;
  readonly type: number;
  readonly value: string;
}

/** Its database, for what it keeps and does not show. */
interface Rows {
  readonly message: { update(change: object): Promise<unknown> };
  readonly guildMember: { update(change: object): Promise<unknown> };
  readonly role: { create(row: object): Promise<unknown> };
  readonly reaction: { findMany(which: object): Promise<readonly { readonly emoji: string }[]> };
  readonly applicationCommand: { findMany(): Promise<readonly { readonly name: string; readonly options: string }[]> };
  $disconnect(): Promise<void>;
}

const folder = process.env["OPENCLAW_PEERS"];

/** It listens on all interfaces, and answers everybody who asks. */
const isAlone = () => Object.keys(networkInterfaces()).every((name) => name === "lo");

function findReason(): string | undefined {
  if (folder === undefined) return "`npm run peers` installs discord-digital-twin and runs this";
  return isAlone() ? undefined : "it would be open to this machine's network; `npm run peers` gives it one of its own";
}

const reason = findReason();
if (folder !== undefined && reason !== undefined) throw new Error(reason);
/** False, with the reason printed, where it cannot be started. */
export const hasTwin = reason === undefined;
if (!hasTwin) console.log(`the third-party Discord is left out: ${reason}`);

export const TOKEN = "twin-token";
const ADA = "2001";
const CREW = "3001";
/** The bot's own role. */
export const HELPERS = "4001";

/** A Discord that others wrote, with one guild, one channel and one person. */
export class Twin {
  readonly ada = ADA;
  readonly crew = CREW;
  readonly digital: Digital;
  /** Between it and the adapter's gateway connection. */
  readonly wire: Relay;
  readonly #dir: string;

  private constructor(digital: Digital, wire: Relay, dir: string) {
    this.digital = digital;
    this.wire = wire;
    this.#dir = dir;
  }

  static async start(): Promise<Twin> {
    const dir = await mkdtemp(path.join(tmpdir(), "openclaw-twin-"));
    const entry = path.join(folder ?? "", "node_modules/discord-digital-twin/dist/index.js");
    const { DigitalDiscord } = (await import(pathToFileURL(entry).href)) as {
      DigitalDiscord: new (options: object) => Digital;
    };
    const digital = new DigitalDiscord({
      guild: { name: "Harbour" },
      channels: [{ id: CREW, name: "crew", type: 0 }],
      users: [{ id: ADA, username: "ada" }],
      botToken: TOKEN,
      // In memory, all that one process starts would share their rows.
      dbUrl: `file:${path.join(dir, "twin.db")}`,
    });
    await digital.start();
    return new Twin(digital, await openRelay(digital.port), dir);
  }

  get botId(): string {
    return this.digital.botUserId;
  }

  get guildId(): string {
    return this.digital.guildId;
  }

  /** Of the adapter. The first connection to the gateway goes over the wire as well. */
  get config() {
    const gatewayUrl = `ws://127.0.0.1:${this.wire.port}/gateway`;
    return { token: TOKEN, apiUrl: this.digital.restUrl, gatewayUrl, gatewayReadyTimeoutMs: 1000 };
  }

  /** Ada, in a channel or thread. */
  person(channel: string = CREW): DigitalPerson {
    return this.digital.channel(channel).user(ADA);
  }

  async say(content: string, channel: string = CREW): Promise<string> {
    return (await this.person(channel).sendMessage({ content })).id;
  }

  /** The bot's own messages, oldest first. */
  async own(channel: string = CREW): Promise<readonly APIMessage[]> {
    const messages = await this.digital.channel(channel).getMessages();
    return messages.filter(({ author }) => author.id === this.botId);
  }

  /** What the bot's own messages say. */
  async shown(channel: string = CREW): Promise<readonly string[]> {
    return (await this.own(channel)).map(({ content }) => content);
  }

  /** What the bot put under a message. */
  async reactions(messageId: string): Promise<readonly string[]> {
    const rows = await this.digital.prisma.reaction.findMany({ where: { messageId, userId: this.botId } });
    return rows.map(({ emoji }) => emoji);
  }

  /** Only bots can begin one there, so another program of the bot does. Gives back its id. */
  async beginThread(messageId: string, name: string): Promise<string> {
    const answer = await fetch(`${this.digital.restUrl}/v10/channels/${CREW}/messages/${messageId}/threads`, {
      method: "POST",
      headers: { authorization: `Bot ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
    return ((await answer.json()) as { id: string }).id;
  }

  /** Gives the bot a role, which the next connection is told of. */
  async addRole(): Promise<void> {
    const { prisma } = this.digital;
    await prisma.role.create({ data: { id: HELPERS, guildId: this.guildId, name: "helpers" } });
    const where = { guildId_userId: { guildId: this.guildId, userId: this.botId } };
    await prisma.guildMember.update({ where, data: { roles: JSON.stringify([HELPERS]) } });
  }

  /** Puts into a message what the twin keeps but lets nobody say, and tells of it as of an edit. */
  async change(messageId: string, content: string, data: object): Promise<void> {
    await this.digital.prisma.message.update({ where: { id: messageId }, data });
    await this.person().editMessage({ messageId, content });
  }

  async close(): Promise<void> {
    await this.wire.close();
    await this.digital.stop();
    await this.digital.prisma.$disconnect();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

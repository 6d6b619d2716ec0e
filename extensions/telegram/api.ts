import fs from "node:fs/promises";
import os from "node:os";
import { Api } from "grammy";
import { OpenClawError } from "openclaw/plugin-sdk";
import type { TelegramConfig } from "./config.ts";
import { grammyFetch, openWire } from "./transport.ts";
import type { Wire } from "./transport.ts";

/** The bot itself. */
export interface Self {
  readonly id: number;
  readonly username: string;
  readonly name: string;
}

/** What a call to the Bot API needs. `token` is only for addresses of files. */
export interface Bot {
  /** For everything but polls. */
  readonly calls: Api["raw"];
  /** For long polls, which take longer. */
  readonly polls: Api["raw"];
  readonly token: string;
  /** For downloads. */
  readonly wire: Wire;
}

/** Throws `OpenClawError` when there is no token. */
export async function openBot(config: TelegramConfig): Promise<Bot> {
  const token = await readToken(config);
  const wire = await openWire(config.proxy);
  const open = (timeoutSeconds: number): Api["raw"] =>
    new Api(token, { apiRoot: config.apiRoot, timeoutSeconds, ...grammyFetch(wire) }).raw;
  return { calls: open(config.timeoutSeconds), polls: open(config.pollingStallThresholdMs / 1000), token, wire };
}

async function readToken(config: TelegramConfig): Promise<string> {
  if (config.botToken !== undefined) return config.botToken.reveal().trim();
  if (config.tokenFile === undefined) throw noToken("Telegram has no bot token.");
  const text = await fs.readFile(config.tokenFile.replace(/^~(?=\/)/, os.homedir()), "utf8").catch((error: unknown) => {
    throw noToken(`The Telegram token file ${config.tokenFile} cannot be read.`, error);
  });
  if (text.trim() === "") throw noToken(`The Telegram token file ${config.tokenFile} is empty.`);
  return text.trim();
}

const noToken = (message: string, cause?: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message,
    fix: "Set channels.telegram.botToken to the token that @BotFather gave you.",
    cause,
  });

/** Asks Telegram who the token belongs to. Throws what grammY throws. */
export async function whoAmI(bot: Bot, signal: AbortSignal): Promise<Self> {
  const me = await bot.calls.getMe(ender(signal));
  return { id: me.id, username: me.username, name: me.first_name };
}

type Ender = NonNullable<Parameters<Api["getMe"]>[0]>;
// grammY names the type of a polyfill; Node's own class has all that it calls.
const isEnder = (signal: unknown): signal is Ender => signal instanceof AbortSignal;

/** A signal as grammY wants it. */
export const ender = (signal: unknown): Ender | undefined => (isEnder(signal) ? signal : undefined);

import fs from "node:fs/promises";
import os from "node:os";
import { Api } from "grammy";
import { OpenClawError } from "openclaw/plugin-sdk";
import type { TelegramConfig } from "./config.ts";
import { grammyFetch, openHttp } from "./transport.ts";
import type { HttpClient } from "./transport.ts";

/** The bot itself. */
export interface Self {
  readonly id: number;
  readonly username: string;
  readonly name: string;
}

/** The Bot API with a bot's token. `token` itself is only used in URLs of files. */
export interface Bot {
  /** For all calls except long polls. */
  readonly calls: Api["raw"];
  /** For long polls, with their longer timeout. */
  readonly polls: Api["raw"];
  readonly token: string;
  /** For downloads. */
  readonly wire: HttpClient;
}

/** Throws `OpenClawError` when there is no token. */
export async function openBot(config: TelegramConfig): Promise<Bot> {
  const token = await readToken(config);
  const wire = await openHttp(config.proxy);
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

/** Asks Telegram which bot the token belongs to. Throws what grammY throws. */
export async function whoAmI(bot: Bot, signal: AbortSignal): Promise<Self> {
  const me = await bot.calls.getMe(grammySignal(signal));
  return { id: me.id, username: me.username, name: me.first_name };
}

type GrammySignal = NonNullable<Parameters<Api["getMe"]>[0]>;
// grammY declares the type of a polyfill; Node's own class has every method that grammY calls.
const isGrammySignal = (signal: unknown): signal is GrammySignal => signal instanceof AbortSignal;

/** A signal with grammY's type. */
export const grammySignal = (signal: unknown): GrammySignal | undefined =>
  isGrammySignal(signal) ? signal : undefined;

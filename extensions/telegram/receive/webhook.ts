import { createHash, timingSafeEqual } from "node:crypto";
import fs from "node:fs/promises";
import { InputFile } from "grammy";
import type { Update } from "grammy/types";
import { OpenClawError, wait } from "openclaw/plugin-sdk";
import type { WebhookAnswer, WebhookRequest } from "openclaw/plugin-sdk";
import { grammySignal } from "../api.ts";
import type { BotApi, Self } from "../api.ts";
import type { TelegramConfig } from "../config.ts";
import { failureOf } from "../send/failures.ts";
import { causeOf, StorageError } from "./intake.ts";
import { WEBHOOK_NOTE } from "./receiving.ts";
import type { Receiving } from "./receiving.ts";
import { Dead, Trouble } from "./failure-report.ts";
import { ALLOWED_UPDATES } from "../updates.ts";

/** The interval at which Telegram is asked whether the webhook is still set. */
const CHECK_MS = 60_000;

/**
 * The secret that proves that a request is Telegram's. Throws `CHANNEL_CONFIG` when it is invalid
 * (core.telegram.org/bots/api#setwebhook).
 */
function secretOf({ webhookSecret }: TelegramConfig): string {
  const secret = webhookSecret?.reveal() ?? "";
  if (/^[A-Za-z0-9_-]{1,256}$/.test(secret)) return secret;
  throw new OpenClawError("CHANNEL_CONFIG", {
    message: "A Telegram webhook needs a secret of 1 to 256 letters, digits, _ and -.",
    fix: "Set channels.telegram.webhookSecret, or remove webhookUrl to poll.",
  });
}

/** Opens the path that Telegram sends to. Throws `CHANNEL_CONFIG` when the settings cannot work. */
function openPath({ account, intake, signal }: Receiving, self: () => Self | undefined): void {
  const { host, config } = account;
  const secret = secretOf(config);
  host.serve(config.webhookPath, async (request) => {
    if (request.method !== "POST") return { status: 405 };
    if (!isSame(request.headers["x-telegram-bot-api-secret-token"] ?? "", secret)) return { status: 401 };
    const [update, known] = [readBody(request), self()];
    if (update === undefined) return { status: 400 };
    if (known === undefined || signal.aborted) return LATER;
    host.report({ kind: "alive", self: { id: String(known.id), name: `@${known.username}` } });
    return intake.take(known, [update]).then(
      () => ({ status: 200 }),
      (error: unknown) => {
        const reason = error instanceof StorageError ? `${error.message}: ${causeOf(error)}` : String(error);
        host.report({ kind: "trouble", reason });
        return LATER;
      },
    );
  });
}

/** Telegram repeats an update until the answer is 2xx. */
const LATER: WebhookAnswer = { status: 503, headers: { "retry-after": "5" } };

/** Compares in constant time. */
function isSame(given: string, secret: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

const isUpdate = (value: unknown): value is Update =>
  typeof value === "object" && value !== null && "update_id" in value && Number.isSafeInteger(value.update_id);

function readBody({ body }: WebhookRequest): Update | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return isUpdate(value) ? value : undefined;
  } catch {
    // The caller answers 400.
    return undefined;
  }
}

/**
 * Receives updates over the webhook, from the first call on. Each call sets the webhook if necessary, checks it and waits a minute;
 * it throws when that fails. Throws `CHANNEL_CONFIG` when the settings cannot work.
 */
export function webhook(receiving: Receiving, url: string): (self: Self) => Promise<void> {
  const { account, signal } = receiving;
  const { bot, config, host } = account;
  let known: Self | undefined;
  openPath(receiving, () => known);
  let isSet = false;
  let checkedAt = Math.floor(Date.now() / 1000);
  return async (self) => {
    known = self;
    if (!isSet) await setWebhook(bot, { url, config }, signal);
    if (!isSet) await host.notes.set(WEBHOOK_NOTE, url);
    isSet = true;
    const info = await bot.calls.getWebhookInfo(grammySignal(signal));
    const since = checkedAt;
    checkedAt = Math.floor(Date.now() / 1000);
    if (info.url !== url) {
      isSet = false;
      throw new Trouble(
        "another program has changed the webhook of this bot",
        "Stop that program, or use another bot here.",
      );
    }
    if ((info.last_error_date ?? 0) > since) {
      throw new Trouble(
        `Telegram cannot deliver to the webhook: ${info.last_error_message ?? "no reason given"}`,
        "Make sure that channels.telegram.webhookUrl leads from the internet to this gateway, with a certificate that Telegram accepts.",
      );
    }
    host.report({ kind: "alive", self: { id: String(self.id), name: `@${self.username}` } });
    await wait(CHECK_MS, signal);
  };
}

async function setWebhook(
  bot: BotApi,
  { url, config }: { readonly url: string; readonly config: TelegramConfig },
  signal: AbortSignal,
): Promise<void> {
  const { webhookCertPath: file } = config;
  const certificate = file === undefined ? {} : { certificate: new InputFile(await readCertificate(file), "cert.pem") };
  const request = { url, secret_token: secretOf(config), allowed_updates: ALLOWED_UPDATES, ...certificate };
  await bot.calls.setWebhook(request, grammySignal(signal)).catch((error: unknown) => {
    const failure = failureOf(error);
    if (failure.kind !== "answered" || failure.code !== 400) throw error;
    throw new Dead(
      `Telegram refuses the webhook address (${failure.text})`,
      "Set channels.telegram.webhookUrl to a public HTTPS address on port 443, 80, 88 or 8443, or remove it to poll.",
    );
  });
}

async function readCertificate(file: string): Promise<Uint8Array> {
  return fs.readFile(file).catch((error: unknown) => {
    const reason = `The webhook certificate ${file} cannot be read (${String(error)})`;
    throw new Dead(reason, "Set channels.telegram.webhookCertPath to a PEM file, or remove it.");
  });
}

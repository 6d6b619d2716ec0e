import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { OpenClawError } from "../../../types/errors.ts";
import { callOnce } from "../call-gateway.ts";
import { cleanText, writeJson, type Io } from "../io.ts";
import { readState } from "../state.ts";

export interface SendFlags {
  readonly channel?: string;
  readonly to?: string;
  readonly target?: string;
  readonly message?: string;
  readonly media?: string;
  readonly replyTo?: string;
  readonly account?: string;
  readonly threadId?: string;
  readonly asVoice?: boolean;
  readonly idempotencyKey?: string;
  readonly timeout?: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const sentShape = z.looseObject({
  state: z.enum(["sent", "queued", "failed", "dry-run"]),
  channel: z.string(),
  accountId: z.string(),
  chatId: z.string(),
  chatKind: z.string(),
  messageId: z.string().optional(),
  reason: z.string().optional(),
  possibleRepeat: z.boolean().optional(),
});
type Sent = z.output<typeof sentShape>;

const WAIT_MS = 20_000;
/** One frame of the protocol holds 25 MB, and base64 is a third longer. */
const MOST_BYTES = 18 * 1_048_576;

/**
 * Sends a message into a chat through the gateway's outbox and tells what became of it: 0 sent, or waiting for the platform;
 * 1 when the platform did not take it. Throws GATEWAY_UNREACHABLE without a gateway, USAGE for what cannot be sent.
 */
export async function messageSend(io: Io, flags: SendFlags): Promise<number> {
  const { timeout = WAIT_MS } = flags;
  const params = { ...(await paramsOf(flags)), timeoutMs: timeout, tellFailure: true };
  const state = await readState(io);
  const call = { method: "send", params, shape: sentShape };
  const sent = await callOnce(io, state, call, { timeoutMs: timeout + 30_000 });
  if (flags.json === true) writeJson(io, sent);
  else if (sent.state === "failed") io.err(`${cleanText(tell(sent))}\n`);
  else io.out(`${cleanText(tell(sent))}\n`);
  return sent.state === "failed" ? 1 : 0;
}

function tell(sent: Sent): string {
  const where = `${sent.channel} ${sent.chatKind === "group" ? "group" : "chat"} ${sent.chatId} (${sent.accountId})`;
  if (sent.state === "dry-run") return `Would be sent to ${where}.`;
  if (sent.state === "failed") return `Not sent to ${where}: ${sent.reason ?? "unknown"}.`;
  if (sent.state === "queued") return `Waits for ${where}: ${sent.reason ?? "the platform has not answered yet"}.`;
  const repeat = sent.possibleRepeat === true ? " It may be there twice." : "";
  return `Sent to ${where} as ${sent.messageId ?? "a message without an id"}.${repeat}`;
}

async function paramsOf(flags: SendFlags): Promise<object> {
  const to = flags.to ?? flags.target;
  if (to === undefined) throw usage("Whom it is for is missing.", "Add --to <chat>.");
  if (flags.message === undefined && flags.media === undefined) {
    throw usage("There is nothing to send.", "Add --message <text> or --media <file or address>.");
  }
  const given = {
    to,
    message: flags.message,
    channel: flags.channel,
    accountId: flags.account,
    replyToId: flags.replyTo,
    threadId: flags.threadId,
    asVoice: flags.asVoice,
    dryRun: flags.dryRun,
    idempotencyKey: flags.idempotencyKey ?? randomUUID(),
    ...(await mediaOf(flags.media)),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** A file goes as it is: who types its name may read it. */
async function mediaOf(media: string | undefined): Promise<object> {
  if (media === undefined) return {};
  if (/^https?:\/\//i.test(media)) return { mediaUrl: media };
  const path = media.replace(/^file:\/\//, "");
  const facts = await stat(path).catch((error: unknown) => {
    throw usage(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, "Check the path.");
  });
  if (!facts.isFile()) throw usage(`${path} is no file.`, "Check the path.");
  if (facts.size > MOST_BYTES) {
    throw usage(`${path} is larger than ${MOST_BYTES / 1_048_576} MB.`, "Give a web address instead.");
  }
  return { buffer: (await readFile(path)).toString("base64"), filename: basename(path) };
}

const usage = (message: string, fix: string): OpenClawError => new OpenClawError("USAGE", { message, fix });

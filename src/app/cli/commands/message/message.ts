import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { sendAnswer, type SendReport } from "../../../../types/answers/channels.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readState } from "../../state.ts";

export interface SendFlags {
  readonly channel?: string;
  readonly to?: string;
  readonly target?: string;
  readonly message?: string;
  readonly media?: readonly string[];
  readonly replyTo?: string;
  readonly account?: string;
  readonly threadId?: string;
  readonly asVoice?: boolean;
  readonly silent?: boolean;
  readonly idempotencyKey?: string;
  readonly timeout?: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const WAIT_MS = 20_000;
/** One frame of the protocol holds 25 MB, and base64 is a third longer. */
const MOST_BYTES = 18 * 1_048_576;

/**
 * Sends a message through the gateway's outbox and prints the result. Returns 0 when it is sent or waits for the platform; 1 when
 * the platform refused it, or when a person must fix the account first. Throws GATEWAY_UNREACHABLE without a gateway, and
 * USAGE for a message that cannot be sent.
 */
export async function messageSend(io: Io, flags: SendFlags): Promise<number> {
  const { timeout = WAIT_MS } = flags;
  const params = { ...(await paramsOf(flags)), timeoutMs: timeout, tellFailure: true };
  const state = await readState(io);
  const call = { method: "send", params, shape: sendAnswer };
  const sent = await callOnce(io, state, call, { timeoutMs: timeout + 30_000 });
  const isStuck = sent.state === "failed" || sent.isDead === true;
  if (flags.json === true) writeJson(io, sent);
  else if (isStuck) io.err(`${withoutTerminalControls(tell(sent))}\n`);
  else io.out(`${withoutTerminalControls(tell(sent))}\n`);
  return isStuck ? 1 : 0;
}

function tell(sent: SendReport): string {
  const where = `${sent.channel} ${sent.chatKind === "group" ? "group" : "chat"} ${sent.chatId} (${sent.accountId})`;
  const sound = sent.silent === false ? ` With a sound: ${sent.channel} has no silent messages.` : "";
  if (sent.state === "dry-run") return `Would be sent to ${where}.${sound}`;
  if (sent.state === "failed") return `Not sent to ${where}: ${sent.reason ?? "unknown"}.`;
  if (sent.state === "queued") return `Waits for ${where}: ${whyWaiting(sent)}${sound}`;
  const repeat = sent.possibleRepeat === true ? " It may be there twice." : "";
  return `Sent to ${where} as ${sent.messageId ?? "a message without an id"}.${repeat}${sound}`;
}

function whyWaiting({ problem, isDead, reason }: SendReport): string {
  if (problem === undefined) return `${reason ?? "the platform has not answered yet"}.`;
  const until = isDead === true ? ", and stays so until that is mended" : "";
  return `the account is not connected${until}. ${problem}${/[.!?]$/.test(problem) ? "" : "."}`;
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
    silent: flags.silent,
    dryRun: flags.dryRun,
    idempotencyKey: flags.idempotencyKey ?? randomUUID(),
    ...(await mediaOf(flags.media ?? [])),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Reads the files in this process, with the permissions of the person at the terminal. They are sent before those that the gateway fetches. */
async function mediaOf(media: readonly string[]): Promise<object> {
  const isAddress = (one: string): boolean => /^https?:\/\//i.test(one);
  const mediaUrls = media.filter(isAddress);
  const files: { buffer: string; filename: string }[] = [];
  let left = MOST_BYTES;
  for (const one of media.filter((name) => !isAddress(name))) {
    const bytes = await fileAt(one.replace(/^file:\/\//, ""), left);
    left -= bytes.length;
    files.push({ buffer: bytes.toString("base64"), filename: basename(one) });
  }
  return { ...(mediaUrls.length > 0 && { mediaUrls }), ...(files.length > 0 && { files }) };
}

async function fileAt(path: string, most: number): Promise<Buffer> {
  const facts = await stat(path).catch((error: unknown) => {
    throw usage(`${path} cannot be read: ${errorText(error)}`, "Check the path.");
  });
  if (!facts.isFile()) throw usage(`${path} is no file.`, "Check the path.");
  if (facts.size <= most) return readFile(path);
  throw usage(`The files are larger than ${MOST_BYTES / 1_048_576} MB.`, "Give web addresses instead.");
}

const usage = (message: string, fix: string): OpenClawError => new OpenClawError("USAGE", { message, fix });

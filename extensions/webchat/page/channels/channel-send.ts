import type { Answers } from "openclaw/plugin-sdk/answers";
import { newId } from "../browser/ids.ts";
import type { Ask, ReportedAccount } from "./channels.ts";
import { size } from "../model/format.ts";
import { t } from "../words/words.ts";

/** A file to send. */
export interface OutgoingFile {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Bytes of the file in base64. Rejects when the file cannot be read. */
  readonly read: () => Promise<string>;
}

/** A message to a chat, as a person wrote it. */
export interface OutgoingMessage {
  /** A person or group, as the platform names them. */
  readonly to: string;
  readonly text: string;
  readonly files: readonly OutgoingFile[];
  /** Web address of one more file; empty for none. */
  readonly url: string;
  /** Id of the message that is answered; empty for none. */
  readonly replyTo: string;
  /** Topic or thread of the chat; none when empty or unset. */
  readonly thread?: string;
  /** Sent without a notification sound, if the platform supports that. */
  readonly silent?: boolean;
  /** An audio file is sent as a voice message. */
  readonly asVoice?: boolean;
}

const MAX_FILES = 10;
/** Bytes of a request in addition to its files and its text. */
const FRAME_BYTES = 4096;

/** Why a message cannot be sent; undefined when it can. `maxBytes`: the largest request. */
export function messageProblem({ to, text: body, files, url }: OutgoingMessage, maxBytes: number): string | undefined {
  if (to === "") return t("Enter a recipient.");
  if (body.trim() === "" && files.length === 0 && url === "") return t("Enter a text or choose a file.");
  if (files.length > MAX_FILES) return t("At most {n} files at once.", { n: MAX_FILES });
  // Base64 is a third longer; a character has up to four bytes.
  const bytes = files.reduce((sum, file) => sum + file.size * (4 / 3) + 200, body.length * 4 + FRAME_BYTES);
  const left = Math.max(0, maxBytes - body.length * 4 - FRAME_BYTES) * 0.75;
  return bytes <= maxBytes
    ? undefined
    : t("Too large: at most {left} of files can be sent at once.", { left: size(left) });
}

/**
 * Sends a message and returns the result as a text for people. Calls with the same key send it once. Rejects when the gateway
 * refuses it or does not answer.
 */
export async function sendMessage(
  ask: Ask,
  from: ReportedAccount,
  message: OutgoingMessage,
  key: string,
): Promise<string> {
  const files = await Promise.all(
    message.files.map(async ({ name, read }) => ({ buffer: await read(), filename: name })),
  );
  const sent = await ask("send", {
    channel: from.channel,
    accountId: from.account,
    to: message.to,
    ...(message.text.trim() !== "" && { message: message.text }),
    ...(files.length > 0 && { files }),
    ...(message.url !== "" && { mediaUrls: [message.url] }),
    ...(message.replyTo !== "" && { replyToId: message.replyTo }),
    ...(message.thread !== undefined && message.thread !== "" && { threadId: message.thread }),
    ...(message.silent === true && { silent: true }),
    ...(message.asVoice === true && { asVoice: true }),
    idempotencyKey: key,
    tellFailure: true,
  });
  return outcomeOf(sent);
}

function outcomeOf({ state, reason, silent, possibleRepeat }: Answers["send"]): string {
  if (state === "failed") return t("Not sent: {reason}.", { reason: reason ?? t("the reason is unknown") });
  const sentences = [
    state === "sent"
      ? t("Sent.")
      : t("Queued: {reason}.", { reason: reason ?? t("the platform has not answered yet") }),
    state === "sent" && possibleRepeat === true && t("The message may appear twice."),
    silent === false && t("It is sent with a notification sound: the platform has no silent messages."),
  ];
  return sentences.filter(Boolean).join(" ");
}

/** Sends a test message, as `sendMessage` does. Without a chat, asks the platform for the account's name. */
export async function sendTest(ask: Ask, account: ReportedAccount, to: string): Promise<string> {
  if (to === "") return probe(ask, account);
  const message = { to, text: t("A test message of openclaw."), files: [], url: "", replyTo: "" };
  return sendMessage(ask, account, message, newId());
}

async function probe(ask: Ask, { channel, account, connected }: ReportedAccount): Promise<string> {
  const { accounts } = await ask("channels.probe", { channel });
  const own = accounts.find(({ accountId }) => accountId === account);
  const answer = [own?.message ?? t("The platform cannot be asked for the account."), own?.fix]
    .filter(Boolean)
    .join(" ");
  return `${connected ? t("Connected") : t("Not connected")}; ${answer}`;
}

import type { Ask, ChannelAccount } from "./channels.ts";
import { size } from "../format.ts";
import { fields, list, text, word } from "../protocol/json.ts";

/** A file to send. */
export interface LetterFile {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Its bytes in base64. Rejects when it cannot be read. */
  readonly read: () => Promise<string>;
}

/** A message to a chat, as a person wrote it. */
export interface Letter {
  /** A person or group, as the platform names them. */
  readonly to: string;
  readonly message: string;
  readonly files: readonly LetterFile[];
  /** Web address of one more file; empty for none. */
  readonly address: string;
  /** Id of the message that is answered; empty for none. */
  readonly replyTo: string;
  /** Topic or thread of the chat; none when empty or unset. */
  readonly thread?: string;
  /** Sent without a notification sound, if the platform supports that. */
  readonly silent?: boolean;
  /** An audio file is sent as a voice message. */
  readonly asVoice?: boolean;
}

const MOST_FILES = 10;
/** Bytes of a request in addition to its files and its text. */
const FRAME_BYTES = 4096;

/** Why a message cannot be sent; undefined when it can. `most`: maximum bytes of one request. */
export function letterProblem({ to, message, files, address }: Letter, most: number): string | undefined {
  if (to === "") return "Say who gets it.";
  if (message.trim() === "" && files.length === 0 && address === "") return "Write something, or choose a file.";
  if (files.length > MOST_FILES) return `At most ${MOST_FILES} files at once.`;
  // Base64 is a third longer; a character has up to four bytes.
  const bytes = files.reduce((sum, file) => sum + file.size * (4 / 3) + 200, message.length * 4 + FRAME_BYTES);
  const room = Math.max(0, most - message.length * 4 - FRAME_BYTES) * 0.75;
  return bytes <= most ? undefined : `Too large: files of ${size(room)} go at once.`;
}

/**
 * Sends a message; what became of it, in words. With the same key it is sent once, however often this is called. Rejects
 * when the gateway refuses it, or does not answer.
 */
export async function sendLetter(ask: Ask, from: ChannelAccount, letter: Letter, key: string): Promise<string> {
  const files = await Promise.all(
    letter.files.map(async ({ name, read }) => ({ buffer: await read(), filename: name })),
  );
  const sent = await ask("send", {
    channel: from.channel,
    accountId: from.account,
    to: letter.to,
    ...(letter.message.trim() !== "" && { message: letter.message }),
    ...(files.length > 0 && { files }),
    ...(letter.address !== "" && { mediaUrls: [letter.address] }),
    ...(letter.replyTo !== "" && { replyToId: letter.replyTo }),
    ...(letter.thread !== undefined && letter.thread !== "" && { threadId: letter.thread }),
    ...(letter.silent === true && { silent: true }),
    ...(letter.asVoice === true && { asVoice: true }),
    idempotencyKey: key,
    tellFailure: true,
  });
  return outcomeOf(fields(sent));
}

function outcomeOf(sent: Record<string, unknown>): string {
  const reason = word(sent["reason"]);
  const sound = sent["silent"] === false ? " It comes with a sound: the platform has no silent messages." : "";
  if (sent["state"] === "failed") return `Not sent: ${reason ?? "unknown"}.`;
  if (sent["state"] !== "sent") return `It waits: ${reason ?? "the platform has not answered yet"}.${sound}`;
  return `Sent.${sent["possibleRepeat"] === true ? " It may be there twice." : ""}${sound}`;
}

/** Sends a test message, as `sendLetter` does; without a chat it asks the platform who the account is. */
export async function sendTest(ask: Ask, account: ChannelAccount, to: string): Promise<string> {
  if (to === "") return probe(ask, account);
  const letter = { to, message: "A test message of openclaw.", files: [], address: "", replyTo: "" };
  return sendLetter(ask, account, letter, crypto.randomUUID());
}

async function probe(ask: Ask, { channel, account, connected }: ChannelAccount): Promise<string> {
  const told = list(fields(await ask("channels.probe", { channel }))["accounts"]).map(fields);
  const own = told.find((one) => one["accountId"] === account);
  const words = [text(own?.["message"], "The platform cannot be asked."), text(own?.["fix"])].filter(Boolean).join(" ");
  return `${connected ? "Connected" : "Not connected"}; ${words}`;
}

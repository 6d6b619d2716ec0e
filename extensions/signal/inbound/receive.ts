import {
  backoff,
  OpenClawError,
  wait,
  background,
  NotNow,
  type InboundMessage,
  type MediaItem,
  type FetchedFile,
} from "openclaw/plugin-sdk";
import { reasonOf, Trouble, troubleReport, isTemporary, outcomeOf } from "../failures.ts";
import { readEnvelope, type MessageView } from "./inbound.ts";
import { addressOf, personOf, readRef, recipientOf, type Person } from "../people.ts";
import { seenKey, type Account } from "../account.ts";
import { readReceived, type Envelope, type Received, type DataMessage } from "./schema.ts";
import { findSelf, withUuid } from "../self.ts";
import { EventStream, silence } from "../event-stream.ts";
import type { StreamItem } from "../sse.ts";
import { whyNot, type CallAnswer, type Daemon } from "../rpc.ts";
import { longTextOf, originOf, readFileRef } from "./media.ts";
import { z } from "zod";
import type { SignalConfig } from "../config.ts";

/** The note with the id of the last stored event: signal-cli is asked for later ones. */
const CURSOR = "lastEvent";
/** signal-cli does not know this id and so sends all events that it still has; known messages are recognised by their key. */
const BEGINNING = "0";

/**
 * Listens until the signal aborts or a person must act; reports each failure. Never rejects. The stream that was open when the signal
 * aborted stays in `account.stream`.
 */
export async function receive(account: Account): Promise<void> {
  let failures = 0;
  while (!account.signal.aborted) {
    try {
      await account.ready();
      await identify(account);
      await listen(account, () => {
        failures = 0;
      });
    } catch (error) {
      if (account.signal.aborted) return;
      if (error instanceof OpenClawError) {
        return account.host.report({ kind: "dead", reason: error.message, fix: error.fix });
      }
      const retryInMs = backoff(failures++);
      account.host.report(troubleReport(error, retryInMs));
      await wait(retryInMs, account.signal);
    }
  }
}

/** Finds the account's own identity, once. Throws like `findSelf`. */
export async function identify(account: Account): Promise<void> {
  if (account.self !== undefined) return;
  const self = await findSelf(account.daemon, account.config, account.signal);
  account.self = await withUuid(self, account);
}

/**
 * Reads one stream of events until the signal aborts, or until messages were stored that the host had refused. Throws
 * when the stream ends or breaks.
 */
async function listen(account: Account, onSign: () => void): Promise<void> {
  const { config, daemon, signal } = account;
  await daemon.check(signal);
  const stream = await requestEvents(account, { ms: config.stallThresholdMs, signal });
  try {
    alive(account);
    while (!stream.isClosed) {
      const heard = await stream.next(config.stallThresholdMs, signal);
      if (heard.kind === "stopped") return;
      if (heard.kind === "silent") throw silence(config.stallThresholdMs);
      if (heard.kind === "ended") throw new Trouble("signal-cli ended the stream of events");
      onSign();
      alive(account);
      await take(account, stream, { items: heard.items, until: signal });
    }
  } catch (error) {
    stream.close();
    throw error;
  }
}

/** Asks for the events after the last stored one; the stream becomes `account.stream`. Throws like `EventStream.open`. */
export async function requestEvents(
  account: Account,
  limits: { readonly ms: number; readonly signal: AbortSignal },
): Promise<EventStream> {
  const cursor = await account.host.notes.get(CURSOR);
  account.stream = await EventStream.open(account.daemon, cursor ?? BEGINNING, limits);
  return account.stream;
}

function alive({ host, self }: Account): void {
  const id = addressOf(self ?? {});
  host.report({ kind: "alive", ...(id !== undefined && { self: { id, name: self?.number ?? id } }) });
}

/**
 * Passes events to the host, then notes the last one: signal-cli is not asked for them again. Gives the number of messages; undefined
 * when they were not stored before the signal aborted: the stream gives the events again.
 */
export async function take(
  account: Account,
  stream: EventStream,
  { items, until }: { readonly items: readonly StreamItem[]; readonly until: AbortSignal },
): Promise<number | undefined> {
  const events = items.filter((item) => item.kind !== "comment");
  const last = events.at(-1);
  if (!last) return 0;
  const read = await Promise.all(events.map((event) => readItem(account, event)));
  const messages = read.flat();
  const isStored = messages.length === 0 || (await store(account, stream, { messages, until }));
  if (!isStored) {
    stream.putBack(events);
    return undefined;
  }
  if (last.id !== undefined) await account.host.notes.set(CURSOR, last.id);
  account.notices.events({ haveIds: last.id !== undefined });
  if (account.config.sendReadReceipts) confirmRead(account, messages);
  return messages.length;
}

/**
 * Offers messages to the host until it stores them; false when the signal aborted before. A refused message closes the
 * stream: a signal-cli without listeners lets Signal keep new messages (`receiveMode: "manual"`), and has room for
 * 1,000 events only.
 */
async function store(
  { host }: Account,
  stream: EventStream,
  { messages, until }: { readonly messages: readonly InboundMessage[]; readonly until: AbortSignal },
): Promise<boolean> {
  for (let failures = 0; ; failures += 1) {
    try {
      await host.receive(messages);
      return true;
    } catch (error) {
      if (stream.hasIds) stream.close();
      if (until.aborted) return false;
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason: `messages could not be stored: ${reasonOf(error)}`, retryInMs });
      await wait(retryInMs, until);
      if (until.aborted) return false;
    }
  }
}

type Event = Exclude<StreamItem, { kind: "comment" }>;

async function readItem(account: Account, event: Event): Promise<readonly InboundMessage[]> {
  if (event.kind === "event") return readEvent(account, event.data);
  account.host.log.warn("an event of signal-cli is too long and was left out", { id: event.id });
  return [];
}

async function readEvent(account: Account, data: string): Promise<readonly InboundMessage[]> {
  try {
    const received = readReceived(data);
    if (received.exception) logException(account, received);
    if (!received.envelope || isForOther(received, account.self)) return [];
    const envelope = await withWholeText(received.envelope, account);
    const message = readEnvelope(envelope, viewOf(account, envelope));
    if (message) account.seen.set(seenKey(message.from, message.id), { text: message.text, media: message.media });
    return message ? [message] : [];
  } catch (error) {
    // An unreadable event must not block all later ones.
    account.host.log.warn("an event could not be read and was left out", { error: reasonOf(error).slice(0, 500) });
    return [];
  }
}

/** Whether an event is for another account: a daemon with several accounts may send the events of all of them. */
const isForOther = ({ account }: Received, self: Person | undefined): boolean =>
  Boolean(account && self) && account !== self?.number && account !== self?.uuid;

function viewOf({ host, config, names, seen, self = {} }: Account, envelope: Envelope): MessageView {
  const { uuid, number } = personOf(envelope.sourceUuid, envelope.sourceNumber, envelope.source);
  for (const address of [uuid, number]) {
    if (address !== undefined && envelope.sourceName) names.set(address, envelope.sourceName);
  }
  return {
    account: host.account,
    config,
    self,
    now: Date.now(),
    filesOf: (from, messageId) => seen.get(seenKey(from, messageId))?.media ?? [],
    nameOf: (person) => names.get(person.uuid ?? "") ?? names.get(person.number ?? ""),
  };
}

function logException({ host, notices, self = {} }: Account, { exception, envelope }: Received): void {
  const who = envelope?.sourceNumber ?? envelope?.sourceUuid ?? "somebody";
  const isUntrusted = exception?.type === "UntrustedIdentityException";
  const remedy = isUntrusted ? notices.untrusted(who, self.number ?? addressOf(self) ?? "<account>") : undefined;
  host.log.warn("a message could not be decrypted", { from: who, ...exception, ...remedy });
}

/** Marks messages as read, without waiting: a lost receipt does no harm. */
function confirmRead({ daemon, host }: Account, messages: readonly InboundMessage[]): void {
  const said = messages.filter(({ event }) => event !== "reaction" && event !== "news");
  for (const [sender, theirs] of Map.groupBy(said, (message) => message.sender.id)) {
    const targetTimestamp = theirs.map(({ sentAt, id }) => sentAt ?? readRef(id)?.timestamp);
    const params = { recipient: recipientOf(sender), targetTimestamp, type: "read" };
    const sent = daemon.call("sendReceipt", params).then((answer) => {
      if (answer.kind !== "done") host.log.info("a read receipt was not sent", { reason: whyNot(answer) });
    });
    background("read receipt", sent);
  }
}

/**
 * Replaces the beginning of a long text, which is all that older versions of signal-cli pass on, by the whole text. Keeps the
 * beginning when the whole cannot be fetched. Never rejects.
 */
async function withWholeText(
  envelope: Envelope,
  account: Pick<Account, "daemon" | "config" | "host">,
): Promise<Envelope> {
  const { dataMessage, editMessage } = envelope;
  const data = editMessage?.dataMessage ?? dataMessage;
  const message = data && (await fetchText(data, envelope, account));
  if (message === undefined || message === null) return envelope;
  if (editMessage) {
    return { ...envelope, editMessage: { ...editMessage, dataMessage: { ...editMessage.dataMessage, message } } };
  }
  return dataMessage ? { ...envelope, dataMessage: { ...dataMessage, message } } : envelope;
}

async function fetchText(
  data: DataMessage,
  envelope: Envelope,
  account: Pick<Account, "daemon" | "config" | "host">,
): Promise<string | undefined> {
  const author = personOf(envelope.sourceUuid, envelope.sourceNumber, envelope.source);
  const item = longTextOf(data, originOf(author, data));
  if (!item) return undefined;
  try {
    const text = new TextDecoder().decode(await bytesOf(item, account));
    // Newer versions have the whole text in the message itself.
    return text.length > (data.message ?? "").length ? text : undefined;
  } catch (error) {
    account.host.log.warn("a long message is cut: the rest cannot be fetched", { reason: String(error) });
    return undefined;
  }
}

/** Few attempts, because later messages wait. */
const MOST_TRIES = 4;

async function bytesOf(
  item: MediaItem,
  { daemon, config, host }: Pick<Account, "daemon" | "config" | "host">,
): Promise<Uint8Array> {
  for (let failures = 0; ; failures += 1) {
    try {
      return (await download(daemon, config, item)).bytes;
    } catch (error) {
      if (!(error instanceof NotNow) || failures + 1 === MOST_TRIES || host.signal.aborted) throw error;
      await wait(backoff(failures, { longestMs: 2000 }), host.signal);
    }
  }
}

const fileData = z.looseObject({ data: z.base64() });

/** Fetches a file from signal-cli. Throws like `ChannelLink.download`. */
export async function download(daemon: Daemon, config: SignalConfig, item: MediaItem): Promise<FetchedFile> {
  if (item.source.at !== "platform") throw unavailable("it is not on Signal");
  const limit = config.mediaMaxMb * 1_048_576;
  if ((item.bytes ?? 0) > limit) throw tooLarge(config);
  const call = readFileRef(item.source.ref);
  if (!call) throw unavailable("the answer to it only names it");
  const answer = await daemon.call(call.method, call.params);
  if (answer.kind !== "done") throw whyNoFile(answer);
  const { success, data: file } = fileData.safeParse(answer.result);
  if (!success) throw unavailable("signal-cli gives no data for it");
  const bytes = new Uint8Array(Buffer.from(file.data, "base64"));
  if (bytes.length > limit) throw tooLarge(config);
  return {
    bytes,
    ...(item.mime !== undefined && { mime: item.mime }),
    ...(item.name !== undefined && { name: item.name }),
  };
}

function whyNoFile(answer: Exclude<CallAnswer, { kind: "done" }>): Error {
  const outcome = answer.kind === "error" ? outcomeOf(answer.error) : answer.outcome;
  const isFinal = answer.kind === "error" ? !isTemporary(answer.error) : outcome.kind === "refused";
  if (isFinal) return unavailable(whyNot(answer));
  return new NotNow(outcome.reason, { afterMs: outcome.kind === "retry" ? outcome.afterMs : undefined });
}

const unavailable = (reason: string): OpenClawError =>
  new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `A file cannot be fetched from signal-cli: ${reason}.`,
    fix: "Ask the sender to send the file again; signal-cli must run without --ignore-attachments.",
  });

const tooLarge = (config: SignalConfig): OpenClawError =>
  new OpenClawError("MEDIA_TOO_LARGE", {
    message: `A file on Signal is larger than ${config.mediaMaxMb} MB.`,
    fix: "Ask for a smaller file, or raise channels.signal.mediaMaxMb (100 at most).",
  });

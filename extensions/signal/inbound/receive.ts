import { backoff, OpenClawError, wait } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { reasonOf, Trouble, troubleReport } from "../failures.ts";
import { readEnvelope } from "./inbound.ts";
import type { View } from "./inbound.ts";
import { addressOf, personOf } from "../people.ts";
import type { Person } from "../people.ts";
import { confirmRead } from "./receipts.ts";
import type { Room } from "../room.ts";
import { readReceived } from "./schema.ts";
import type { Envelope, Received } from "./schema.ts";
import { findSelf, withUuid } from "../self.ts";
import { EventReader } from "./sse.ts";
import type { StreamItem } from "./sse.ts";
import { withWholeText } from "./whole-text.ts";

/** The id of the last event that is in the journal: signal-cli is asked for what came after it. */
const CURSOR = "lastEvent";
/** Unknown to signal-cli, which then gives all events that it still holds; what was received before is told by its key. */
const BEGINNING = "0";

/** Listens until the signal aborts or a person must act; each way of failing is reported. Never rejects. */
export async function receive(room: Room): Promise<void> {
  let failures = 0;
  while (!room.signal.aborted) {
    try {
      await room.ready();
      await identify(room);
      await listen(room, () => {
        failures = 0;
      });
    } catch (error) {
      if (room.signal.aborted) return;
      if (error instanceof OpenClawError) {
        return room.host.report({ kind: "dead", reason: error.message, fix: error.fix });
      }
      const retryInMs = backoff(failures++);
      room.host.report(troubleReport(error, retryInMs));
      await wait(retryInMs, room.signal);
    }
  }
}

/** Learns who we are, once. Throws as `findSelf` does. */
export async function identify(room: Room): Promise<void> {
  if (room.self !== undefined) return;
  const self = await findSelf(room.daemon, room.config, room.signal);
  room.self = await withUuid(self, room);
}

/** One stream of events. Always ends with a throw. */
async function listen(room: Room, onSign: () => void): Promise<never> {
  const end = new AbortController();
  const signal = AbortSignal.any([room.signal, end.signal]);
  try {
    await room.daemon.check(room.signal);
    const cursor = await room.host.notes.get(CURSOR);
    const body = await inTime(room.daemon.events(cursor ?? BEGINNING, signal), room.config.stallThresholdMs);
    alive(room);
    const pieces = body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    for (;;) {
      const { done, value } = await inTime(pieces.read(), room.config.stallThresholdMs);
      if (done) throw new Trouble("signal-cli ended the stream of events");
      onSign();
      alive(room);
      await take(room, events.push(value));
    }
  } finally {
    end.abort();
  }
}

function alive({ host, self }: Room): void {
  const id = addressOf(self ?? {});
  host.report({ kind: "alive", ...(id !== undefined && { self: { id, name: self?.number ?? id } }) });
}

/** The same, if it comes in time. Throws `Trouble` when it does not, or when the connection breaks; `OpenClawError` as it is. */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Trouble(`signal-cli was silent for ${Math.round(ms / 1000)} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    if (error instanceof Trouble || error instanceof OpenClawError) throw error;
    throw new Trouble("the stream of events broke", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Gives events to the host; only then they count as had. */
async function take(room: Room, items: readonly StreamItem[]): Promise<void> {
  const events = items.filter((item) => item.kind === "event");
  const last = events.at(-1);
  if (!last) return;
  const read = await Promise.all(events.map((event) => readEvent(room, event.data)));
  const messages = read.flat();
  if (messages.length > 0) await store(room, messages);
  if (room.signal.aborted) return;
  if (last.id !== undefined) await room.host.notes.set(CURSOR, last.id);
  if (room.config.sendReadReceipts) confirmRead(room, messages);
}

/** Offers until it is taken, or the signal aborts. */
async function store({ host, signal }: Room, messages: readonly InboundMessage[]): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      return await host.receive(messages);
    } catch (error) {
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason: `messages could not be stored: ${reasonOf(error)}`, retryInMs });
      await wait(retryInMs, signal);
    }
  }
}

async function readEvent(room: Room, data: string): Promise<readonly InboundMessage[]> {
  try {
    const received = readReceived(data);
    if (received.exception) tellException(room, received);
    if (!received.envelope || isForOther(received, room.self)) return [];
    const envelope = await withWholeText(received.envelope, room);
    const message = readEnvelope(envelope, viewOf(room, envelope));
    if (message) room.texts.set(message.id, message.text);
    return message ? [message] : [];
  } catch (error) {
    // One event that we misread must not hold up all that come after it.
    room.host.log.warn("an event could not be read and was left out", { error: reasonOf(error).slice(0, 500) });
    return [];
  }
}

/** A daemon of several accounts may tell of all of them. */
const isForOther = ({ account }: Received, self: Person | undefined): boolean =>
  Boolean(account && self) && account !== self?.number && account !== self?.uuid;

function viewOf({ host, config, names, self = {} }: Room, envelope: Envelope): View {
  const { uuid, number } = personOf(envelope.sourceUuid, envelope.sourceNumber, envelope.source);
  for (const address of [uuid, number]) {
    if (address !== undefined && envelope.sourceName) names.set(address, envelope.sourceName);
  }
  return {
    account: host.account,
    config,
    self,
    now: Date.now(),
    nameOf: (person) => names.get(person.uuid ?? "") ?? names.get(person.number ?? ""),
  };
}

function tellException({ host, notices, self = {} }: Room, { exception, envelope }: Received): void {
  const who = envelope?.sourceNumber ?? envelope?.sourceUuid ?? "somebody";
  const isUntrusted = exception?.type === "UntrustedIdentityException";
  const remedy = isUntrusted ? notices.untrusted(who, self.number ?? addressOf(self) ?? "<account>") : undefined;
  host.log.warn("a message could not be decrypted", { from: who, ...exception, ...remedy });
}

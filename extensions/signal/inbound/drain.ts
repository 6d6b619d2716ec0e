import { backoff, OpenClawError, wait } from "openclaw/plugin-sdk";
import type { Account } from "../account.ts";
import { reasonOf, Trouble } from "../failures.ts";
import type { EventStream } from "../event-stream.ts";
import { identify, requestEvents, take } from "./receive.ts";

export interface DrainTerms {
  /** Milliseconds for which signal-cli is read before it must end. */
  readonly ms: number;
  /** Aborted to give up. */
  readonly signal: AbortSignal;
  /** Has signal-cli end; called once, when everything that it has sent is stored. Resolves when it has ended. */
  end(): Promise<void>;
}

/**
 * The rest in signal-cli after it was drained: `nothing`, and it has ended; or events that the journal did not take
 * (`unstored`) or that could not be read (`unread`), and it is running.
 */
export interface Drained {
  readonly left: "nothing" | "unstored" | "unread";
  /** The number of messages that were stored meanwhile. */
  readonly stored: number;
  /** The last failure, when events could not be read. */
  readonly why?: string | undefined;
}

/** A signal-cli that sends nothing for this time has sent everything that it held. */
const QUIET_MS = 250;
/** Milliseconds that the journal may take for received events when time is up. */
const LAST_STORE_MS = 1000;
/** How long a request for events may stay without the beginning of an answer. */
const OPEN_MS = 5000;
/** Longer than signal-cli may take to end. */
const UNTIL_END_MS = 60_000;

/**
 * Stores the events that signal-cli holds, has it end, and stores its events until then: they are only in its memory,
 * and Signal has its acknowledgement for them. Continues with `account.stream` where that is open. Never rejects.
 */
export async function drain(account: Account, { ms, signal, end }: DrainTerms): Promise<Drained> {
  const rest = await readRest(account, AbortSignal.any([AbortSignal.timeout(ms), signal]), signal);
  const { stream } = account;
  if (rest.left !== "nothing" || !stream) {
    stream?.close();
    return rest;
  }
  const ended = new AbortController();
  const ending = end().then(() => ended.abort());
  const last = await readToEnd(account, stream, { ended: ended.signal, stop: signal });
  stream.close();
  await ending;
  return { left: "nothing", stored: rest.stored + last };
}

/** Reads until signal-cli sends nothing more. Where messages come without a pause, until time is up and all that has come is stored. */
async function readRest(account: Account, late: AbortSignal, stop: AbortSignal): Promise<Drained> {
  let left: Drained["left"] = "unread";
  let stored = 0;
  let why: string | undefined;
  for (let failures = 0; !late.aborted;) {
    try {
      left = "unread";
      const stream = await currentStream(account, late);
      const taken = await takeNext(account, stream, { quietMs: QUIET_MS, until: late });
      stored += taken.stored;
      if (taken.kind === "quiet") return { left: "nothing", stored };
      left = taken.kind === "unstored" ? "unstored" : "nothing";
      if (taken.kind === "over") await wait(backoff(failures++), late);
    } catch (error) {
      why = reasonOf(error);
      if (error instanceof OpenClawError) break;
      await wait(backoff(failures++), late);
    }
  }
  if (stop.aborted) return { left: "unread", stored, why };
  if (left !== "nothing" || !account.stream?.hasItems) return { left, stored, why };
  const until = AbortSignal.timeout(LAST_STORE_MS);
  const last = await takeNext(account, account.stream, { quietMs: 0, until });
  return { left: last.kind === "unstored" ? "unstored" : "nothing", stored: stored + last.stored };
}

/**
 * The open stream of events, or a new one. The account is identified first: before, it is unknown whom a message
 * mentions.
 */
async function currentStream(account: Account, signal: AbortSignal): Promise<EventStream> {
  await identify(account);
  const open = account.stream;
  return open && !open.isOver ? open : requestEvents(account, { ms: OPEN_MS, signal });
}

/**
 * Stores the last events of a signal-cli that is ending: nobody else has them then. Resolves with the number of
 * messages.
 */
async function readToEnd(
  account: Account,
  stream: EventStream,
  { ended, stop }: { readonly ended: AbortSignal; readonly stop: AbortSignal },
): Promise<number> {
  for (let stored = 0; ;) {
    const taken = await takeNext(account, stream, { quietMs: UNTIL_END_MS, until: ended, storeUntil: stop });
    stored += taken.stored;
    if (taken.kind === "unstored") {
      account.host.log.warn("the last messages before signal-cli ended could not be stored and are lost");
    }
    if (taken.kind !== "stored") return stored;
  }
}

interface Taken {
  /** `over`: the stream has ended, or time is up. */
  readonly kind: "stored" | "unstored" | "quiet" | "over";
  /** The number of messages. */
  readonly stored: number;
}

/** Stores the next events of a stream. */
async function takeNext(
  account: Account,
  stream: EventStream,
  {
    quietMs,
    until,
    storeUntil = until,
  }: { readonly quietMs: number; readonly until: AbortSignal; readonly storeUntil?: AbortSignal },
): Promise<Taken> {
  try {
    const heard = await stream.next(quietMs, until);
    if (heard.kind === "silent") return { kind: "quiet", stored: 0 };
    if (heard.kind !== "items") return { kind: "over", stored: 0 };
    const stored = await take(account, stream, { items: heard.items, until: storeUntil });
    return { kind: stored === undefined ? "unstored" : "stored", stored: stored ?? 0 };
  } catch (error) {
    if (error instanceof Trouble) return { kind: "over", stored: 0 };
    account.host.log.warn("events of signal-cli could not be noted", { error: reasonOf(error) });
    return { kind: "unstored", stored: 0 };
  }
}

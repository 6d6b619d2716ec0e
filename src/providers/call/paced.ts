import { setImmediate, setTimeout } from "node:timers/promises";
import { background } from "../../utils/background.ts";
import { AFTER_FINISH_MS, type AnswerEnd } from "./answer-end.ts";
import { DeltaJoiner } from "./join-deltas.ts";
import { EventMender } from "./mend-events.ts";

/** Called while a body is read. */
export interface BodySink {
  /** Where the answer ends, whether or not the body does. */
  readonly end: AnswerEnd;
  /** Called with the decoded bytes before they are passed on. */
  read(piece: Uint8Array): void;
  /** Called with the number of bytes that are passed on. Joined deltas have fewer than were read, and may wait. */
  passed?(bytes: number): void;
  readToEnd(): void;
}

/**
 * Lines that a reader gets before timers, sockets and the reader of the events get their turn. For every line the SDKs copy the
 * rest of the piece, so the time for a piece grows with the square of its lines.
 */
const LINES_AT_ONCE = 64;
/** An event has at least two: one with its data, and an empty one. */
const LEAST_LINES = 2;
/**
 * Milliseconds for the lines given at once. When they take longer, fewer are given: where the SDK parses the arguments of a long call again
 * for each event, one may take several.
 */
const MOST_MS_AT_ONCE = 8;
/**
 * Bytes after which no further line is given at once. With every piece of a tool call's arguments the SDKs parse all
 * arguments again, so large pieces must not come in one iteration of the event loop.
 */
const BYTES_AT_ONCE = 4 * 1024;
const NEW_LINE = 0x0a;
/** Short pieces that a reader gets before timers and sockets get their turn. */
const PIECES_AT_ONCE = 16;

/**
 * Milliseconds from one piece of a body to the next, for each body that is being read: all bodies together are passed
 * on as at most 250 pieces a second, however many there are. Bytes that come meanwhile are joined, so that the work for
 * a piece is done once for several tokens.
 */
const PAUSE_MS_PER_BODY = 4;
const LONGEST_PAUSE_MS = 500;
/** Bytes that may wait for the end of the pause. With more, the piece is passed on as soon as `BYTES_A_MS` allows. */
const MOST_WAITING = 16 * 1024;
/**
 * Bytes a millisecond of all bodies together: several times the speed of the fastest model. Without this limit one body
 * that comes as fast as it is read would take the whole event loop, and messages of other chats would wait at every
 * step.
 */
const BYTES_A_MS = 4 * 1024;

/** Milliseconds, and bytes, in which a body must end after its answer, so that its connection can be used again. */
const AFTER_END_MS = 500;
const MOST_AFTER_END = 64 * 1024;

/**
 * The same answer, but its body is passed on only as fast as it is read and counted. A compressed body may become a thousand
 * times as large; reading it at once would fill the memory and block the process.
 */
export function withPacedBody(answer: Response, sink: BodySink): Response {
  if (answer.body === null) return answer;
  const copy = new Response(pacedBody(answer.body.getReader(), sink), answer);
  // A `Response` made here has no address.
  Object.defineProperty(copy, "url", { value: answer.url });
  return copy;
}

/** Source of a body. */
export interface BodySource {
  /** Settles when no more will be read. */
  readonly closed: Promise<unknown>;
  /** The next bytes as they come; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Lets the sender go. */
  close(): void;
}

/** The part of a `ReadableStream` that the SDKs of OpenAI and Anthropic use. */
export interface PlainBody extends AsyncIterable<Uint8Array> {
  getReader(): {
    read(): Promise<IteratorResult<Uint8Array, undefined>>;
    releaseLock(): void;
    cancel(): Promise<unknown>;
  };
}

/** A body that is passed on and counted in the same way. It can be read once. */
export function plainBody(source: BodySource, sink: BodySink): PlainBody {
  const pieces = new Pieces(source, sink);
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    const value = await pieces.next();
    if (!value) {
      sink.readToEnd();
      return { done: true, value };
    }
    return { done: false, value };
  };
  const close = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    source.close();
    return { done: true, value: undefined };
  };
  return {
    [Symbol.asyncIterator]: () => ({ next, return: close }),
    getReader: () => ({ read: next, releaseLock: () => undefined, cancel: close }),
  };
}

/**
 * A stream with nothing read ahead: a transform stream would be three streams, for each of which every piece costs
 * time.
 */
function pacedBody(reader: ReadableStreamDefaultReader<Uint8Array>, sink: BodySink): ReadableStream<Uint8Array> {
  const { closed } = reader;
  // A stream that has failed may refuse to close; nothing is lost by that.
  const close = (): void =>
    background(
      "closing an answer",
      reader.cancel().catch(() => undefined),
    );
  const pieces = new Pieces({ closed, read: async () => (await reader.read()).value, close }, sink);
  return new ReadableStream<Uint8Array>(
    {
      async pull(out) {
        const piece = await pieces.next();
        if (piece) out.enqueue(piece);
        else {
          sink.readToEnd();
          out.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/**
 * The pieces of a source, counted, joined over a short time, with fewer events, and cut where a piece has too many
 * lines.
 */
class Pieces {
  /** Bodies that have not been read to their end. */
  static #open = 0;
  /**
   * Time at which the bytes that were passed on so far, of all bodies, have had their share at `BYTES_A_MS`, by the
   * clock of `performance`.
   */
  static #paidAt = 0;
  readonly #source: BodySource;
  readonly #sink: BodySink;
  readonly #deltas = new DeltaJoiner();
  readonly #mender: EventMender | undefined;
  /** The answer to the read that was not taken yet: the time to wait for it may have been over. */
  #coming: Promise<Uint8Array | undefined> | undefined;
  #cut: Iterator<Uint8Array> = [][Symbol.iterator]();
  #sinceTurn = 0;
  #linesAtOnce = LINES_AT_ONCE;
  /** When the answer was finished, by the clock of `performance`; unset while it is not. */
  #finishedAt: number | undefined;
  /** When the last piece was passed on, by the clock of `performance`. */
  #givenAt = 0;
  /** When the next piece may be passed on, by the clock of `performance`. */
  #nextAt = 0;

  constructor(source: BodySource, sink: BodySink) {
    this.#source = source;
    this.#sink = sink;
    this.#mender = EventMender.for(sink.end.api);
    Pieces.#open += 1;
    const close = () => {
      Pieces.#open -= 1;
    };
    void source.closed.then(close, close);
  }

  /** Undefined at the end. Rejects as the reader does. */
  async next(): Promise<Uint8Array | undefined> {
    const tookMs = this.#givenAt === 0 ? 0 : performance.now() - this.#givenAt;
    this.#adaptTo(tookMs);
    const cut = this.#cut.next();
    if (cut.done !== true) {
      await this.#letOthers(tookMs);
      return this.#given(cut.value);
    }
    const events = await this.#events(tookMs);
    if (events.length === 0) return undefined;
    this.#cut = this.#cutAtLines(events);
    const first = this.#cut.next();
    return this.#given(first.done === true ? events : first.value);
  }

  /** The next events that do not wait; empty at the end. What waits comes before the end, and before a failure. */
  async #events(tookMs: number): Promise<Uint8Array> {
    for (let restMs = tookMs; ; restMs = 0) {
      if (this.#sinceTurn >= PIECES_AT_ONCE) await this.#letOthers(restMs);
      const { end } = this.#sink;
      if (end.state === "over") return this.#last();
      const body = await this.#joined().catch((error: unknown) => {
        // The next read fails in the same way. A failure after an answer's finish takes nothing from the answer.
        if (this.#deltas.isWaiting || end.state === "finished") return undefined;
        throw error;
      });
      if (!body) return end.state === "finished" ? this.#finish() : this.#last();
      await this.#pay(body.length);
      this.#sinceTurn += 1;
      const events = this.#mended(this.#deltas.take(this.#upToEnd(body)));
      this.#nextAt = performance.now() + Math.min(LONGEST_PAUSE_MS, PAUSE_MS_PER_BODY * Pieces.#open);
      if (events.length > 0) return events;
    }
  }

  /** Lets the sender go once the answer is complete. */
  #upToEnd(body: Uint8Array): Uint8Array {
    const { end } = this.#sink;
    const before = end.finishes;
    const answer = end.take(body);
    this.#sink.read(answer);
    if (end.finishes > before) this.#finishedAt = performance.now();
    if (end.state === "open") this.#finishedAt = undefined;
    if (end.state === "over") this.#letGo();
    return answer;
  }

  #finish(): Uint8Array {
    const missing = this.#sink.end.close();
    this.#letGo();
    return Buffer.concat([this.#mended(this.#deltas.take(missing)), this.#last()]);
  }

  #mended(events: Uint8Array): Uint8Array {
    return events.length === 0 ? events : (this.#mender?.take(events) ?? events);
  }

  /** Bytes that still wait. */
  #last(): Uint8Array {
    const events = this.#mended(this.#deltas.end());
    return this.#mender ? Buffer.concat([events, this.#mender.end()]) : events;
  }

  #letGo(): void {
    background(
      "the rest of an answer",
      readRest(this.#source, () => this.#read()),
    );
  }

  #given(piece: Uint8Array): Uint8Array {
    this.#sink.passed?.(piece.length);
    this.#givenAt = performance.now();
    return piece;
  }

  /** A body that took long to read gets a longer pause: other work has the event loop for as long as this body had. */
  #adaptTo(tookMs: number): void {
    if (tookMs > MOST_MS_AT_ONCE) this.#linesAtOnce = Math.max(LEAST_LINES, this.#linesAtOnce / 2);
    else this.#linesAtOnce = Math.min(LINES_AT_ONCE, this.#linesAtOnce * 2);
    this.#nextAt = Math.max(this.#nextAt, performance.now() + Math.min(tookMs, LONGEST_PAUSE_MS));
  }

  /**
   * Waits with a large piece until the pieces before it have had their time. A small piece, of a model that writes
   * slowly, never waits.
   */
  async #pay(bytes: number): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, Pieces.#paidAt);
    Pieces.#paidAt = at + bytes / BYTES_A_MS;
    if (bytes < MOST_WAITING || at - now < 1) return;
    this.#sinceTurn = 0;
    await setTimeout(at - now);
  }

  #letOthers(ms: number): Promise<void> {
    this.#sinceTurn = 0;
    return ms < 1 ? setImmediate() : setTimeout(Math.min(ms, LONGEST_PAUSE_MS));
  }

  /** Everything that comes until the pause is over; at once when the body ends or much has come. */
  async #joined(): Promise<Uint8Array | undefined> {
    const first = await (this.#finishedAt === undefined ? this.#read() : this.#readUntilSilent(this.#finishedAt));
    this.#coming = undefined;
    const waitMs = this.#nextAt - performance.now();
    if (!first || first.length >= MOST_WAITING || waitMs < 1) return first;
    this.#sinceTurn = 0;
    const parts = [first, ...(await this.#readFor(waitMs, MOST_WAITING - first.length))];
    return parts.length === 1 ? first : Buffer.concat(parts);
  }

  /** Undefined when nothing came within the time after the answer's finish. */
  async #readUntilSilent(finishedAt: number): Promise<Uint8Array | undefined> {
    const isOver = Promise.withResolvers<undefined>();
    const leftMs = Math.max(0, finishedAt + AFTER_FINISH_MS - performance.now());
    // After the process was blocked, bytes that came meanwhile are still unread.
    const timer = globalThis.setTimeout(() => globalThis.setImmediate(() => isOver.resolve(undefined)), leftMs);
    try {
      return await Promise.race([this.#read(), isOver.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #readFor(ms: number, mostBytes: number): Promise<readonly Uint8Array[]> {
    const parts: Uint8Array[] = [];
    let left = mostBytes;
    const isOver = Promise.withResolvers<undefined>();
    const timer = globalThis.setTimeout(() => isOver.resolve(undefined), ms);
    while (left > 0) {
      // The next read gets the end of the body or its error.
      const part = await Promise.race([this.#read().catch(() => undefined), isOver.promise]);
      if (!part) break;
      this.#coming = undefined;
      parts.push(part);
      left -= part.length;
    }
    clearTimeout(timer);
    return parts;
  }

  #read(): Promise<Uint8Array | undefined> {
    if (this.#coming) return this.#coming;
    this.#coming = this.#source.read();
    // The next reader gets a failure, and there may be no next reader.
    this.#coming.catch(() => undefined);
    return this.#coming;
  }

  /** Cuts after a line, wherever a piece would have too many lines or bytes. */
  *#cutAtLines(body: Uint8Array): Generator<Uint8Array> {
    let [start, lines] = [0, 0];
    for (let at = body.indexOf(NEW_LINE); at >= 0; at = body.indexOf(NEW_LINE, at + 1)) {
      lines += 1;
      if (lines < this.#linesAtOnce && at - start < BYTES_AT_ONCE) continue;
      yield body.subarray(start, at + 1);
      [start, lines] = [at + 1, 0];
    }
    if (start < body.length) yield body.subarray(start);
  }
}

/** Reads the bytes after an answer, for a short time. Never rejects. */
async function readRest(source: BodySource, read: () => Promise<Uint8Array | undefined>): Promise<void> {
  const timer = globalThis.setTimeout(() => source.close(), AFTER_END_MS).unref();
  let bytes = 0;
  try {
    for (let part = await read(); part; part = await source.read()) {
      bytes += part.length;
      if (bytes > MOST_AFTER_END) return source.close();
    }
  } catch {
    // The connection broke after the answer.
  } finally {
    clearTimeout(timer);
  }
}

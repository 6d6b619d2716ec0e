import { Trouble } from "./failures.ts";
import type { Daemon } from "./rpc.ts";
import { EventReader } from "./sse.ts";
import type { StreamItem } from "./sse.ts";

/** Result of waiting for signal-cli. `items` may be empty: a sign of life without a whole event. */
export type Heard =
  | { readonly kind: "items"; readonly items: readonly StreamItem[] }
  | { readonly kind: "silent" }
  | { readonly kind: "ended" }
  | { readonly kind: "stopped" };

/** Limits of reading ahead of the journal: as many events as signal-cli keeps, and their characters. */
const MOST_ITEMS = 1000;
const MOST_CHARACTERS = 16 * 1_048_576;

/**
 * The answer of signal-cli to one request for events. It is read ahead: the events that signal-cli has sent are here,
 * however slow the journal is, so that signal-cli can end without leaving a part unsent.
 */
export class EventStream {
  readonly #end: AbortController;
  #items: StreamItem[] = [];
  #hasSign = false;
  #hasIds = false;
  #over: { readonly error?: unknown } | undefined;
  #changed = Promise.withResolvers<void>();
  #taken = Promise.withResolvers<void>();

  private constructor(body: ReadableStream<Uint8Array>, end: AbortController) {
    this.#end = end;
    void this.#readAhead(body).then(
      () => this.#finish({}),
      (error: unknown) => this.#finish({ error }),
    );
  }

  /**
   * Asks for the events after an id. Throws `Trouble` when no answer begins within `ms` or the signal aborts; else like
   * `Daemon.events`.
   */
  static async open(
    daemon: Daemon,
    after: string,
    { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<EventStream> {
    const end = new AbortController();
    const giveUp = (): void => end.abort();
    const late = setTimeout(giveUp, ms);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      if (signal.aborted) giveUp();
      return new EventStream(await daemon.events(after, end.signal), end);
    } catch (error) {
      throw end.signal.aborted && !signal.aborted ? silence(ms) : error;
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** True after `close`. */
  get isClosed(): boolean {
    return this.#end.signal.aborted;
  }

  /** True when nothing more comes: closed here, ended by signal-cli, or broken. */
  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** False while no event had an id, by which signal-cli can be asked for it again. */
  get hasIds(): boolean {
    return this.#hasIds;
  }

  /** True when something has come that `next` has not given. */
  get hasItems(): boolean {
    return this.#items.length > 0;
  }

  /** All items so far, waiting at most `ms` for the first. Throws `Trouble` when the connection broke. */
  async next(ms: number, signal: AbortSignal): Promise<Heard> {
    if (this.#hasSign || this.#over !== undefined || signal.aborted) return this.#take(signal);
    const waited = Promise.withResolvers<void>();
    const stop = (): void => waited.resolve();
    const late = setTimeout(stop, ms);
    signal.addEventListener("abort", stop, { once: true });
    await Promise.race([this.#changed.promise, waited.promise]);
    clearTimeout(late);
    signal.removeEventListener("abort", stop);
    return this.#take(signal);
  }

  /** The items come again with the next call of `next`. */
  putBack(items: readonly StreamItem[]): void {
    this.#items.unshift(...items);
    this.#hasSign = true;
  }

  close(): void {
    this.#finish({});
    this.#end.abort();
  }

  #take(signal: AbortSignal): Heard {
    if (this.#hasSign) {
      const items = this.#items;
      this.#items = [];
      this.#hasSign = false;
      if (this.#over === undefined) this.#changed = Promise.withResolvers();
      this.#taken.resolve();
      this.#taken = Promise.withResolvers();
      return { kind: "items", items };
    }
    if (this.#over?.error !== undefined) throw new Trouble("the stream of events broke", { cause: this.#over.error });
    if (this.#over !== undefined) return { kind: "ended" };
    return { kind: signal.aborted ? "stopped" : "silent" };
  }

  async #readAhead(body: ReadableStream<Uint8Array>): Promise<void> {
    const pieces = body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return;
      const items = events.push(value);
      this.#items.push(...items);
      this.#hasIds ||= items.some((item) => item.kind !== "comment" && item.id !== undefined);
      this.#hasSign = true;
      this.#changed.resolve();
      while (isMuch(this.#items)) await this.#taken.promise;
    }
  }

  #finish(over: { readonly error?: unknown }): void {
    this.#over ??= over;
    this.#changed.resolve();
  }
}

const isMuch = (items: readonly StreamItem[]): boolean =>
  items.length >= MOST_ITEMS ||
  items.reduce((size, item) => size + (item.kind === "event" ? item.data.length : 0), 0) >= MOST_CHARACTERS;

/** signal-cli gave no sign of life for this time. */
export const silence = (ms: number): Trouble => new Trouble(`signal-cli was silent for ${Math.round(ms / 1000)} s`);

import type { IncomingMessage } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { createBrotliDecompress, createInflate, createUnzip } from "node:zlib";
import type { BodySink, BodySource } from "./paced.ts";

/** Is informed about the traffic of a request. */
export interface TrafficSink extends BodySink {
  /** A request is being sent, whose body has so many bytes. */
  begin(bytes: number | undefined): void;
  /** The names of headers are in lower case. `origin` is that of the request. */
  answered(status: number, headers: ReadonlyMap<string, string>, origin: string): void;
  /** Bytes of the body came. */
  received(): void;
  /** No more will come. */
  broken(why: string): void;
}

/** The body of an answer, decoded, which is received only as fast as it is read. Reading rejects as the body of a `Response` does. */
export class HttpBody implements BodySource {
  readonly closed: Promise<void>;
  readonly #stream: Readable;
  readonly #signal: AbortSignal | null;
  readonly #sink: TrafficSink;
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  constructor(stream: Readable, signal: AbortSignal | null, sink: TrafficSink) {
    this.#signal = signal;
    this.#sink = sink;
    this.#stream = stream;
    const abort = (): void => void stream.destroy(asError(signal?.reason));
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    this.closed = new Promise((resolve) => {
      stream.once("close", () => {
        signal?.removeEventListener("abort", abort);
        this.#wake();
        resolve();
      });
    });
    stream.on("readable", () => {
      sink.received();
      this.#wake();
    });
    stream.once("end", () => this.#wake());
    stream.on("error", (error) => this.#fail(error));
    if (signal?.aborted) abort();
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const part: unknown = this.#stream.read();
      if (part instanceof Uint8Array) return part;
      if (this.#stream.readableEnded) return undefined;
      if (this.#stream.destroyed) this.#fail(new Error("other side closed"));
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    this.#stream.destroy();
  }

  #fail(error: Error): void {
    if (this.#signal?.aborted) this.#error ??= asError(this.#signal.reason);
    if (this.#error !== undefined) return this.#wake();
    // Node says "aborted" when the server closed the connection, which elsewhere means that somebody stopped the call.
    const cause = error.message === "aborted" ? new Error("other side closed", { cause: error }) : error;
    this.#sink.broken(networkErrorText(cause));
    this.#error = new TypeError("terminated", { cause });
    this.#wake();
  }
}

/** The decoded body of an answer. A server may compress it although it was asked not to. */
export function decoded(message: IncomingMessage, encoding: string | undefined): Readable {
  const decoder = encoding === undefined ? undefined : DECODERS.get(encoding.trim().toLowerCase())?.();
  if (!decoder) return message;
  message.on("error", (error) => decoder.destroy(error));
  decoder.once("close", () => message.destroy());
  return message.pipe(decoder);
}

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ["gzip", createUnzip],
  ["x-gzip", createUnzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** A network error in words, with its code. */
export function networkErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  return error.message.includes(code) ? error.message : `${error.message} (${code})`;
}

export const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

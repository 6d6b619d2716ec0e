import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { dirname } from "node:path";
import { CONTENT_BYTES, MAX_LINES, tailOf } from "../../cap.ts";
import type { CommandOutput, RunningOutput } from "../../../types/run/backend.ts";
import { background } from "../../../utils/background.ts";
import { removeOld } from "./kept-outputs.ts";
import { KeptText } from "./kept-text.ts";
import { OutputText } from "./output-text.ts";

// Limit, because an endless output must not fill the disk.
const MAX_FILE_BYTES = 50 * 1024 * 1024;
/** Characters of the output's end that are kept in memory. */
const KEPT_CHARS = 200_000;
/** Bytes after which reading pauses, so that an endless output leaves the event loop and the processor to others. */
const BYTES_AT_ONCE = 128 * 1024;
const REST_MS = 1;
/** Milliseconds after which a few characters that may begin a secret are shown, because nothing has followed them. */
const FOLLOWING_MS = 50;

/** A stream of a command. Node's readable streams are such sources. */
export interface OutputSource {
  on(event: "data", take: (chunk: Buffer) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/**
 * Collects a command's output of both streams: its end in memory, and the whole output in a file once it is long. Masks
 * the secrets of this process. Reads no faster than the file can be written.
 */
export class OutputLog implements RunningOutput {
  readonly #path: string;
  readonly #kept = new KeptText(KEPT_CHARS);
  readonly #sources: OutputSource[] = [];
  readonly #texts: OutputText[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #holds = new Set<"file" | "rest">();
  #size = 0;
  #bytes = 0;
  #lines = 0;
  #sinceRest = 0;
  #lastAt = Date.now();
  #file: WriteStream | undefined;
  #fault = false;
  #following: NodeJS.Timeout | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  get size(): number {
    return this.#size;
  }

  get lastAt(): number {
    return this.#lastAt;
  }

  text(): string {
    return this.#kept.text();
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** Reads a stream until it ends. */
  listen(source: OutputSource): void {
    const text = new OutputText();
    this.#sources.push(source);
    this.#texts.push(text);
    source.on("data", (chunk: Buffer) => {
      for (const other of this.#texts) if (other !== text) this.#add(other.beforeOther());
      this.#add(text.push(chunk));
      this.#awaitFollowing();
      this.#lastAt = Date.now();
      this.#rest(chunk.length);
    });
  }

  #awaitFollowing(): void {
    clearTimeout(this.#following);
    if (!this.#texts.some(({ hasFew }) => hasFew)) return;
    this.#following = setTimeout(() => {
      for (const text of this.#texts) this.#add(text.beforeOther());
    }, FOLLOWING_MS).unref();
  }

  /** Closes the file. Never rejects: the result does not name a file that could not be written. */
  async finish(): Promise<CommandOutput> {
    clearTimeout(this.#following);
    for (const text of this.#texts) this.#add(text.end());
    const { text, truncated } = tailOf(this.text(), { lines: MAX_LINES, bytes: CONTENT_BYTES });
    const file = this.#file;
    if (file === undefined) {
      return { text, truncated };
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    file.once("close", () => resolve()).end();
    if (!file.closed) {
      await promise;
    }
    return this.#fault ? { text, truncated: true } : { text, truncated: true, file: this.#path };
  }

  #add(text: string): void {
    if (text === "") return;
    this.#kept.add(text);
    this.#size += text.length;
    this.#write(text);
    for (const changed of this.#watchers) changed();
  }

  #write(text: string): void {
    if (this.#bytes > MAX_FILE_BYTES) return;
    this.#bytes += Buffer.byteLength(text);
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      this.#lines += 1;
    }
    if (this.#file !== undefined) return this.#append(this.#file, text);
    if (this.#bytes <= CONTENT_BYTES && this.#lines <= MAX_LINES) return;
    this.#file = this.#open();
    // The memory still has the whole output.
    this.#append(this.#file, this.text());
  }

  #append(file: WriteStream, text: string): void {
    if (!this.#fault && !file.write(text)) this.#hold("file");
  }

  #rest(bytes: number): void {
    this.#sinceRest += bytes;
    if (this.#sinceRest < BYTES_AT_ONCE) return;
    this.#sinceRest = 0;
    this.#hold("rest");
    setTimeout(() => this.#release("rest"), REST_MS);
  }

  #hold(why: "file" | "rest"): void {
    this.#holds.add(why);
    for (const source of this.#sources) source.pause();
  }

  #release(why: "file" | "rest"): void {
    this.#holds.delete(why);
    if (this.#holds.size === 0) for (const source of this.#sources) source.resume();
  }

  #open(): WriteStream {
    const directory = dirname(this.#path);
    try {
      // Synchronous, because the stream opens its file in the next tick.
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch {
      this.#fault = true;
    }
    const file = createWriteStream(this.#path, { flags: "wx", mode: 0o600 });
    const release = () => this.#release("file");
    file.on("drain", release).on("close", release);
    file.on("error", () => {
      this.#fault = true;
    });
    background("removal of old command output", removeOld(directory));
    return file;
  }
}

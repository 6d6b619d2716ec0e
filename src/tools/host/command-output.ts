import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { CONTENT_BYTES, MAX_LINES, tailOf } from "../cap.ts";
import type { CommandOutput } from "../../types/run/backend.ts";
import { background } from "../../utils/background.ts";

// An endless output must not fill the disk.
const MAX_FILE_BYTES = 50 * 1024 * 1024;
const KEPT_CHARS = 2 * CONTENT_BYTES;

/** Collects a command's output of both streams: its end in memory, and all of it in a file once it is long. */
export class OutputTail {
  readonly #path: string;
  #text = "";
  #early: Buffer[] = [];
  #bytes = 0;
  #lines = 0;
  #file: WriteStream | undefined;
  #fault = false;
  readonly #paused = new Set<Readable>();

  constructor(path: string) {
    this.#path = path;
  }

  /** Reads one stream until it ends. Calls `onChunk` after each chunk. */
  listen(stream: Readable, onChunk: () => void): void {
    const decoder = new StringDecoder("utf8");
    stream.on("data", (chunk: Buffer) => {
      this.#text = (this.#text + decoder.write(chunk)).slice(-KEPT_CHARS);
      this.#keep(chunk, stream);
      onChunk();
    });
  }

  /** The newest output, at most `bytes` of it. */
  peek(bytes: number): string {
    return tailOf(this.#clean(), { lines: MAX_LINES, bytes }).text;
  }

  /** Closes the file. Never rejects: a file that could not be written is not named. */
  async finish(): Promise<CommandOutput> {
    const { text, truncated } = tailOf(this.#clean(), { lines: MAX_LINES, bytes: CONTENT_BYTES });
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

  #clean(): string {
    return stripVTControlCharacters(this.#text).replaceAll("\0", "").replaceAll("\r\n", "\n");
  }

  #keep(chunk: Buffer, stream: Readable): void {
    this.#bytes += chunk.length;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      this.#lines += 1;
    }
    if (this.#file === undefined && this.#bytes <= CONTENT_BYTES && this.#lines <= MAX_LINES) {
      this.#early.push(chunk);
      return;
    }
    if (this.#file === undefined) {
      this.#file = this.#open();
      this.#early.forEach((early) => this.#file?.write(early));
      this.#early = [];
    }
    if (this.#bytes > MAX_FILE_BYTES || this.#fault) {
      return;
    }
    if (!this.#file.write(chunk)) {
      stream.pause();
      this.#paused.add(stream);
    }
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
    const resume = (): void => this.#paused.forEach((stream) => stream.resume());
    file.on("drain", resume).on("close", resume);
    file.on("error", () => {
      this.#fault = true;
    });
    background("removal of old command output", removeOld(directory));
    return file;
  }
}

const KEPT_MS = 24 * 60 * 60 * 1000;
// Only this module's files: the directory may hold other logs.
const OUTPUT_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.log$/;

async function removeOld(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter((one) => OUTPUT_NAME.test(one))) {
    const path = join(directory, name);
    const age = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > KEPT_MS) {
      // Another call may have removed it; otherwise the next long output tries again.
      await rm(path, { force: true }).catch(() => undefined);
    }
  }
}

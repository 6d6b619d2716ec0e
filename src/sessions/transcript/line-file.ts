import { constants, fstatSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { diskError, makePrivateDir, syncDir } from "../../store/disk.ts";
import { stampOf } from "../../store/file-stamp.ts";
import { isMissing } from "../../utils/missing.ts";

const APPEND = constants.O_RDWR | constants.O_APPEND;
const CREATE = APPEND | constants.O_CREAT | constants.O_EXCL;

interface Pending {
  readonly text: string;
  readonly durable: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * A file that only grows by whole lines. Lines given in one tick share a write and, when one asks for it, a sync.
 * A write that fails is taken back, so that no half line stays in the middle.
 */
export class LineFile {
  readonly path: string;
  #handle: FileHandle | undefined;
  #size: number;
  /** Where the next line will begin. */
  #planned: number;
  #pending: Pending[] = [];
  #draining: Promise<void> | undefined;
  /** The first line of a file that does not exist yet. */
  #head: string;
  /** Some lines are written and not synced. */
  #isBehind = false;
  /** Why an incomplete line could not be removed. No line is added after it; the next opening repairs the file. */
  #broken: unknown;

  private constructor(path: string, at: { handle?: FileHandle; size: number; head: string }) {
    this.path = path;
    this.#handle = at.handle;
    this.#size = at.size;
    this.#planned = at.size;
    this.#head = at.head;
  }

  /** Opens a file. One that is missing or empty is made by the first append and begins with `head`. */
  static async open(path: string, head: string): Promise<LineFile> {
    try {
      const handle = await open(path, APPEND);
      const { size } = await handle.stat();
      return new LineFile(path, { handle, size, head: size === 0 ? head : "" });
    } catch (error) {
      if (!isMissing(error)) throw error;
      return new LineFile(path, { size: 0, head });
    }
  }

  /** Bytes on disk. */
  get size(): number {
    return this.#size;
  }

  /** A handle for reading. Undefined while there is no file. */
  get handle(): FileHandle | undefined {
    return this.#handle;
  }

  /**
   * The position of the line, and a promise of its write. Rejects with DISK_FULL or DISK_WRITE, and so do the writes of the
   * lines after it.
   */
  append(line: string, durable: boolean): { offset: number; done: Promise<void> } {
    if (this.#broken !== undefined) {
      return { offset: this.#planned, done: Promise.reject(diskError(this.#broken, this.path)) };
    }
    const text = `${this.#head}${line}\n`;
    const offset = this.#planned + Buffer.byteLength(this.#head);
    this.#planned += Buffer.byteLength(text);
    this.#head = "";
    const done = new Promise<void>((resolve, reject) => {
      this.#pending.push({ text, durable, resolve, reject });
    });
    this.#draining ??= this.#drain();
    return { offset, done };
  }

  /** Resolves when every line is synced; costs nothing when they are. Rejects with DISK_FULL or DISK_WRITE. */
  async sync(): Promise<void> {
    await this.#draining;
    if (!this.#isBehind || !this.#handle) return;
    try {
      await this.#syncNow(this.#handle);
    } catch (error) {
      throw diskError(error, this.path);
    }
  }

  /** Syncs the file. Lines that are written during the sync may not be part of it. */
  async #syncNow(handle: FileHandle): Promise<void> {
    this.#isBehind = false;
    try {
      await handle.datasync();
    } catch (error) {
      this.#isBehind = true;
      throw error;
    }
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#draining;
  }

  /** Whether no other program has changed, replaced or removed the file. */
  async isCurrent(): Promise<boolean> {
    await this.#draining;
    const there = stampOf(this.path);
    const ours = this.#handle && fstatSync(this.#handle.fd);
    return there?.ino === ours?.ino && (there?.size ?? 0) === this.#size;
  }

  /** Resolves when everything is written and the file is closed. */
  async close(): Promise<void> {
    await this.#draining;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #drain(): Promise<void> {
    // All lines that are appended in the same tick share the write.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      await this.#write(batch);
    }
    this.#draining = undefined;
  }

  async #write(batch: readonly Pending[]): Promise<void> {
    const text = batch.map((one) => one.text).join("");
    try {
      const handle = this.#handle ?? (await this.#create());
      await writeWhole(handle, text);
      this.#isBehind = true;
      if (batch.some((one) => one.durable)) await this.#syncNow(handle);
      this.#size += Buffer.byteLength(text);
      for (const one of batch) one.resolve();
    } catch (error) {
      const failure = diskError(error, this.path);
      const lost = [...batch, ...this.#pending];
      this.#pending = [];
      await this.#takeBack(lost);
      for (const one of lost) one.reject(failure);
    }
  }

  async #create(): Promise<FileHandle> {
    await makePrivateDir(dirname(this.path));
    this.#handle = await open(this.path, CREATE, 0o600);
    await syncDir(dirname(this.path));
    return this.#handle;
  }

  async #takeBack(lost: readonly Pending[]): Promise<void> {
    this.#planned = this.#size;
    // After a failed write of the first line, the head is written again with the next line.
    if (this.#size === 0) this.#head = firstLine(lost[0]?.text ?? "");
    try {
      await this.#handle?.truncate(this.#size);
    } catch (error) {
      this.#broken = error;
    }
  }
}

/** Bytes that are written at once: handing them to another thread would take longer than copying them to the system's cache. */
const MOST_AT_ONCE = 65_536;

/** `appendFile` does the same with more steps. A full disk or a signal causes a short write. */
async function writeWhole(handle: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    at += bytes.length <= MOST_AT_ONCE ? writeSync(handle.fd, bytes, at) : (await handle.write(bytes, at)).bytesWritten;
  }
}

const firstLine = (text: string): string => text.slice(0, text.indexOf("\n") + 1);

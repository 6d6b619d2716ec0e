import type { EarlierPlaces } from "../../store/places.ts";
import type { Log } from "../../types/log.ts";
import type { EntryBody, SessionWindow, TranscriptEntry } from "../../types/session.ts";
import { newEntryId } from "./archive.ts";
import { Branch } from "./branch.ts";
import { BranchWalk } from "./branch-walk.ts";
import { asRead, type Header, type EntryLink, TRANSCRIPT_VERSION } from "./entries.ts";
import { entryHere } from "./here.ts";
import { LineFile } from "./line-file.ts";
import { prepareTranscript } from "./prepare.ts";

// Enough entries to reach the turn that a crash interrupted, with its steered messages.
const AFTER_TOKENS = 50_000;
/** The most damaged places that a log line names. */
const MOST_NAMED = 10;

export interface TranscriptOptions {
  readonly path: string;
  readonly sessionId: string;
  readonly sessionKey?: string;
  /** Relative to the directory of the file, or absolute. */
  readonly cwd: string;
  /** Where the file may have been when its entries were written. */
  readonly earlier: EarlierPlaces;
  readonly log: Log;
  now(): number;
}

export interface AppendOptions {
  readonly id?: string;
  readonly durable?: boolean;
}

/** An open transcript file and the part of its current branch that was read. One caller at a time. */
export class Transcript {
  /** Bytes read from the file since it was opened. */
  bytesRead: number;
  readonly #options: TranscriptOptions;
  readonly #file: LineFile;
  #branch: Branch;
  #leafId: string | null;
  /** The leaf to which a failed write returns. */
  #safeLeafId: string | null;
  #hasMessage = false;
  readonly #damage = new Set<number | string>();
  #loading: Promise<void> = Promise.resolve();

  private constructor(options: TranscriptOptions, file: LineFile, start: { leafId: string | null; bytesRead: number }) {
    this.#options = options;
    this.#file = file;
    this.#leafId = start.leafId;
    this.#safeLeafId = start.leafId;
    this.#branch = new Branch(start.leafId);
    this.bytesRead = start.bytesRead;
  }

  /**
   * Reads the end of the file only; repairs and migrates what needs it. A file that is not there is made by the first
   * append. Throws TRANSCRIPT_NEWER.
   */
  static async open(options: TranscriptOptions): Promise<Transcript> {
    const start = await prepareTranscript(options.path, options);
    const file = await LineFile.open(options.path, `${JSON.stringify(transcriptHeader(options))}\n`);
    const transcript = new Transcript(options, file, start);
    await transcript.#load(0);
    return transcript;
  }

  get path(): string {
    return this.#file.path;
  }

  get leafId(): string | null {
    return this.#leafId;
  }

  get hasMessage(): boolean {
    return this.#hasMessage;
  }

  /** Number of places that could not be read in the part of the file that was needed so far. */
  get damagedPlaces(): number {
    return this.#damage.size;
  }

  /** An estimate of the memory that the transcript takes. */
  get bytesHeld(): number {
    return this.#branch.bytesHeld;
  }

  /** False when another program has changed the file since: open it again. */
  isCurrent(): Promise<boolean> {
    return this.#file.isCurrent();
  }

  async window(maxTokens: number): Promise<SessionWindow> {
    await this.#load(maxTokens);
    return this.#branch.window(maxTokens);
  }

  async after(entryId: string): Promise<readonly TranscriptEntry[] | undefined> {
    await this.#load(AFTER_TOKENS);
    return this.#branch.after(entryId);
  }

  async newest(count: number): Promise<readonly TranscriptEntry[]> {
    await this.#load(AFTER_TOKENS);
    return this.#branch.newest(count);
  }

  async parentOf(entryId: string): Promise<string | null | undefined> {
    await this.#load(AFTER_TOKENS);
    return this.#branch.parentOf(entryId);
  }

  /**
   * Appends an entry in the order of calls; resolves when it is written, with `durable` when it is synced. Rejects with
   * DISK_FULL or DISK_WRITE.
   */
  async append(body: EntryBody, { id = newEntryId(), durable = false }: AppendOptions = {}): Promise<string> {
    const timestamp = new Date(this.#options.now()).toISOString();
    const entry = asRead({ id, parentId: this.#leafId, timestamp, ...body });
    const { offset, done } = this.#file.append(JSON.stringify(entry), durable);
    this.#branch.append({ id, parentId: this.#leafId, entry }, offset);
    this.#leafId = id;
    try {
      await done;
    } catch (error) {
      this.#goBack();
      throw error;
    }
    this.#safeLeafId = id;
    if (entry.type === "message") this.#hasMessage = true;
    return id;
  }

  /** Resolves when everything that was appended is synced. Rejects with DISK_FULL or DISK_WRITE. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  branch(entryId: string | null): void {
    if (entryId === this.#leafId) return;
    this.#leafId = entryId;
    this.#safeLeafId = entryId;
    if (entryId === null || !this.#branch.cutTo(entryId)) this.#branch = new Branch(entryId);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #goBack(): void {
    this.#leafId = this.#safeLeafId;
    this.#branch = new Branch(this.#safeLeafId);
  }

  #load(maxTokens: number): Promise<void> {
    const loading = this.#loading.then(() => this.#readBack(maxTokens));
    this.#loading = loading.catch(() => undefined);
    return loading;
  }

  async #readBack(maxTokens: number): Promise<void> {
    if (this.#branch.covers(maxTokens)) return;
    await this.#file.settled();
    const branch = this.#branch;
    const { handle, size } = this.#file;
    const isGiven = (id: string) => branch.has(id);
    const walk = handle && new BranchWalk(handle, { end: branch.offset ?? size, wanted: branch.wanted, isGiven });
    while (!branch.covers(maxTokens)) {
      const step = await walk?.next();
      if (step) branch.addOlder(this.#here(step.link), step.offset);
      else branch.endOfFile();
    }
    branch.settle();
    if (walk) this.#note(walk);
  }

  #here(link: EntryLink): EntryLink {
    return link.entry ? { ...link, entry: entryHere(link.entry, this.#options.earlier) } : link;
  }

  #note({ bytesRead, sawMessage, damage }: BranchWalk): void {
    this.bytesRead += bytesRead;
    if (sawMessage) this.#hasMessage = true;
    const fresh = [...damage].filter((place) => !this.#damage.has(place));
    for (const place of fresh) this.#damage.add(place);
    if (fresh.length === 0) return;
    this.#options.log.warn("part of a transcript cannot be read; what is around it is shown", {
      code: "TRANSCRIPT_DAMAGED",
      path: this.path,
      places: fresh.slice(0, MOST_NAMED),
      count: this.#damage.size,
    });
  }
}

/** The first line of a transcript's file. */
export function transcriptHeader(options: Pick<TranscriptOptions, "sessionId" | "sessionKey" | "cwd" | "now">): Header {
  const { sessionId, sessionKey, cwd, now } = options;
  const timestamp = new Date(now()).toISOString();
  const base = { type: "session", version: TRANSCRIPT_VERSION, id: sessionId, timestamp, cwd } as const;
  return sessionKey === undefined ? base : { ...base, sessionKey };
}

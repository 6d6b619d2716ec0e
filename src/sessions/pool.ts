import type { SessionKey } from "../types/ids.ts";
import type { Transcript } from "./transcript/transcript.ts";
import type { TranscriptUpdate } from "../types/session.ts";
import { Feed } from "../utils/feed.ts";

export interface PoolLimits {
  /** Transcripts in memory. */
  readonly count: number;
  /** Bytes of memory that the transcripts take, as each estimates itself. */
  readonly bytes: number;
}

/** Transcripts in memory. Above a limit, transcripts that nobody holds are removed, the least recently used first. */
export class TranscriptPool {
  /** The writes of these transcripts. */
  readonly updates = new Feed<TranscriptUpdate>();
  readonly #limits: PoolLimits;
  /** Transcripts in the order of their last use. */
  readonly #open = new Map<SessionKey, Transcript>();
  readonly #held = new Set<SessionKey>();
  readonly #closing = new Map<SessionKey, Promise<void>>();

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** The transcript of a key: from memory if it is the right file and no other program changed it. */
  async hold(key: SessionKey, path: string, open: () => Promise<Transcript>): Promise<Transcript> {
    this.#held.add(key);
    try {
      await this.#closing.get(key);
      const known = this.#open.get(key);
      if (known?.path === path && (await known.isCurrent())) return this.#use(key, known);
      await this.drop(key);
      return this.#use(key, await open());
    } catch (error) {
      this.#held.delete(key);
      throw error;
    }
  }

  /** Releases a transcript. It stays in memory within the limits. */
  async release(key: SessionKey): Promise<void> {
    this.#held.delete(key);
    while (this.#isFull()) {
      const oldest = [...this.#open.keys()].find((one) => !this.#held.has(one));
      if (oldest === undefined) return;
      await this.drop(oldest);
    }
  }

  /** Replaces the transcript of a held key. */
  replace(key: SessionKey, transcript: Transcript): void {
    this.#use(key, transcript);
  }

  /** Writes pending lines, then closes and removes it. */
  async drop(key: SessionKey): Promise<void> {
    const transcript = this.#open.get(key);
    if (!transcript) return;
    this.#open.delete(key);
    const closing = transcript.close().finally(() => this.#closing.delete(key));
    this.#closing.set(key, closing);
    await closing;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((key) => this.drop(key)));
  }

  #isFull(): boolean {
    const { count, bytes } = this.#limits;
    if (this.#open.size > count) return true;
    const held = this.#open.values().reduce((sum, transcript) => sum + transcript.bytesHeld, 0);
    return held > bytes;
  }

  #use(key: SessionKey, transcript: Transcript): Transcript {
    this.#open.delete(key);
    this.#open.set(key, transcript);
    return transcript;
  }
}

import type { SessionKey } from "../types/ids.ts";
import type { Transcript } from "./transcript/transcript.ts";
import type { TranscriptUpdate } from "../types/session.ts";
import { Feed } from "../utils/feed.ts";

/** Transcripts in memory, with at most `max` released ones. The least recently used is removed first. */
export class TranscriptPool {
  /** The writes of these transcripts. */
  readonly updates = new Feed<TranscriptUpdate>();
  readonly #max: number;
  /** In the order of their last use. */
  readonly #open = new Map<SessionKey, Transcript>();
  readonly #held = new Set<SessionKey>();
  readonly #closing = new Map<SessionKey, Promise<void>>();

  constructor(max: number) {
    this.#max = max;
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

  /** Releases it. It stays in memory while there are fewer than `max`; otherwise the least recently used is closed. */
  async release(key: SessionKey): Promise<void> {
    this.#held.delete(key);
    while (this.#open.size > this.#max) {
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

  #use(key: SessionKey, transcript: Transcript): Transcript {
    this.#open.delete(key);
    this.#open.set(key, transcript);
    return transcript;
  }
}

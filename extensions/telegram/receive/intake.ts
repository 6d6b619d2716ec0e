import type { Update } from "grammy/types";
import { backoff } from "openclaw/plugin-sdk";
import { close, NO_ALBUMS, readNote, sort, writeNote } from "./albums.ts";
import type { Album, AlbumState, Incoming } from "./albums.ts";
import type { Self } from "../api.ts";
import { failureOf } from "../send/failures.ts";
import { albumOf, readUpdate } from "./inbound.ts";
import type { Account } from "../account.ts";
import { Versions } from "./versions.ts";

/** The host could not store what came; its cause says why. */
export class NotStored extends Error {}

/** What is wrong, without the adapter's own words around it. */
export const causeOf = ({ cause }: NotStored): string => (cause instanceof Error ? cause.message : String(cause));

/** The one road from Telegram to the journal: in order, albums as one message. */
export class Intake {
  readonly #account: Account;
  readonly #signal: AbortSignal;
  readonly #versions: Versions;
  #albums: AlbumState = NO_ALBUMS;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(account: Account, signal: AbortSignal) {
    this.#account = account;
    this.#signal = signal;
    this.#versions = new Versions(account.host);
    signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true });
  }

  /** Hands on the albums that were open when the process ended. Throws `NotStored`. */
  async begin(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#versions.begin();
      this.#albums = await readNote(this.#account.host);
      await this.#closeAlbums(() => true);
    });
  }

  /** Resolves when all of the updates are durable: only then may Telegram be acknowledged. Throws `NotStored`. */
  async take(self: Self, updates: readonly Update[]): Promise<void> {
    await this.#inTurn(async () => {
      for (const update of updates) await this.#account.moves.see(update);
      for (const update of updates) {
        this.#account.forums.see(update);
        this.#account.posts.see(update);
      }
      const news = this.#versions.newsOf(updates);
      await this.#store(news.updates.flatMap((update) => this.#read(self, update)));
      this.#versions.keep(news.versions);
    });
    for (const update of updates) this.#release(update);
  }

  /** Resolves when nothing is being stored any more. Open albums wait, durably, for the next start. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#last;
    await this.#versions.save();
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work).catch((cause: unknown) => {
      throw new NotStored("updates could not be stored", { cause });
    });
    // Who asked for it hears of a failure; the next one in the row does not.
    this.#last = done.catch(() => undefined);
    await done;
  }

  async #store(incoming: readonly Incoming[]): Promise<void> {
    const { host, config } = this.#account;
    const before = this.#albums;
    const { ready, state } = sort(before, incoming, Date.now() + config.mediaGroupFlushMs);
    if (ready.length > 0) await host.receive(ready);
    if (state !== before) await writeNote(host.notes, state);
    this.#albums = state;
    this.#wait();
  }

  async #closeAlbums(fits: (album: Album) => boolean): Promise<void> {
    const { ready, state } = close(this.#albums, fits);
    if (ready.length > 0) {
      await this.#account.host.receive(ready);
      await writeNote(this.#account.host.notes, state);
      this.#albums = state;
    }
    this.#wait();
  }

  /** Sets the clock for the album that is whole first. */
  #wait(failures = 0): void {
    clearTimeout(this.#timer);
    if (this.#albums.open.length === 0 || this.#signal.aborted) return;
    const until = Math.min(...this.#albums.open.map((album) => album.until));
    const ms = failures > 0 ? backoff(failures) : Math.max(0, until - Date.now());
    this.#timer = setTimeout(() => void this.#ring(failures), ms);
  }

  async #ring(failures: number): Promise<void> {
    try {
      const now = Date.now();
      await this.#inTurn(async () => this.#closeAlbums((album) => album.until <= now));
    } catch (error) {
      const reason = error instanceof NotStored ? `${error.message}: ${causeOf(error)}` : String(error);
      this.#account.host.report({ kind: "trouble", reason });
      this.#wait(failures + 1);
    }
  }

  #read(self: Self, update: Update): readonly Incoming[] {
    const { host, config, moves, own, posts } = this.#account;
    try {
      const messages = readUpdate(update, { account: host.account, self, now: Date.now(), own, posts });
      const album = albumOf(update);
      return messages
        .filter(({ isEdit }) => !isEdit || config.edits === "answer")
        .map((message) => ({ message: moves.inside(message), ...(album !== undefined && { album }) }));
    } catch (error) {
      // One update that we misread must not hold up all that come after it.
      host.log.warn("an update could not be read and was left out", { update: update.update_id, error: String(error) });
      return [];
    }
  }

  #release({ callback_query: query }: Update): void {
    if (!query) return;
    const { bot, host } = this.#account;
    bot.calls.answerCallbackQuery({ callback_query_id: query.id }).catch((error: unknown) => {
      host.log.info("a button kept spinning", { reason: failureOf(error).text });
    });
  }
}

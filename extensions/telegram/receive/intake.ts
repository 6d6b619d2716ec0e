import { hash } from "node:crypto";
import type { Update, Message } from "grammy/types";
import { backoff, BoundedMap, readOwnNote, type ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import {
  close,
  isPassedOn,
  markPassedOn,
  NOTHING_SPLIT,
  readSplitNote,
  resumed,
  sort,
  writeNote,
  type Incoming,
  type SplitMessage,
  type SplitState,
} from "./split-messages.ts";
import type { Self } from "../api.ts";
import { failureOf } from "../send/failures.ts";
import { albumOf, readUpdate, untrustedOf } from "./inbound.ts";
import type { Account } from "../account.ts";
import { whyUnreadable, editedIn, newIn } from "../updates.ts";
import { textOf } from "./mentions.ts";

/** Milliseconds in which the next part of a text that the app split arrives. The parts are sent at once. */
const NEXT_TEXT_MS = 1500;
/** Milliseconds after a start in which Telegram brings the next parts of messages that were incomplete when the process ended. */
const RESUMED_MS = 3000;

/** The host could not store updates; `cause` says why. */
export class StorageError extends Error {}

/** The message of the cause. */
export const causeOf = ({ cause }: StorageError): string => (cause instanceof Error ? cause.message : String(cause));

/** Passes updates from Telegram to the host, in order, with each album and each text that the app split as one message. */
export class Intake {
  readonly #account: Account;
  readonly #signal: AbortSignal;
  readonly #versions: Versions;
  #split: SplitState = NOTHING_SPLIT;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(account: Account, signal: AbortSignal) {
    this.#account = account;
    this.#signal = signal;
    this.#versions = new Versions(account.host);
    signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true });
  }

  /**
   * Restores state. Messages that were incomplete when the process ended wait a moment for their next parts; messages
   * that the process may have passed on are passed on at once. Throws `StorageError`.
   */
  async begin(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#versions.begin();
      this.#split = resumed(await readSplitNote(this.#account.host), Date.now() + RESUMED_MS);
      await this.#closeSplit(isPassedOn);
    });
  }

  /** Resolves when all of the updates are durable: only then may Telegram be acknowledged. Throws `StorageError`. */
  async take(self: Self, given: readonly Update[]): Promise<void> {
    const updates = given.filter((update) => this.#isReadable(update));
    await this.#inTurn(async () => {
      for (const update of updates) await this.#account.migrations.record(update);
      for (const update of updates) {
        this.#account.forums.record(update);
        this.#account.posts.record(update);
      }
      const changes = this.#versions.changesIn(updates);
      await this.#store(changes.updates.flatMap((update) => this.#read(self, update)));
      // The note comes before the acknowledgement: a crash in between brings the updates again.
      await this.#versions.keep(changes.versions);
    });
    for (const update of updates) this.#answerButton(update);
  }

  /** Resolves when all work is done. Incomplete messages wait, durably, for the next start. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#last;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work).catch((cause: unknown) => {
      throw new StorageError("updates could not be stored", { cause });
    });
    // The caller gets the failure; the next work in the queue does not.
    this.#last = done.catch(() => undefined);
    await done;
  }

  async #store(incoming: readonly Incoming[]): Promise<void> {
    const { host, config } = this.#account;
    const before = this.#split;
    const { ready, state, first } = sort(before, incoming, {
      album: Date.now() + config.mediaGroupFlushMs,
      text: Date.now() + NEXT_TEXT_MS,
    });
    if (first) await writeNote(host.notes, first);
    if (ready.length > 0) await host.receive(ready);
    if (state !== before) await writeNote(host.notes, state);
    this.#split = state;
    this.#setTimer();
  }

  /** Passes on the messages that `fits` selects. The mark is durable before, so that the next process adds no part to them. */
  async #closeSplit(fits: (split: SplitMessage) => boolean): Promise<void> {
    const { host } = this.#account;
    const marked = markPassedOn(this.#split, fits);
    if (marked !== this.#split) await writeNote(host.notes, marked);
    this.#split = marked;
    const { ready, state } = close(marked, isPassedOn);
    if (ready.length > 0) {
      await host.receive(ready);
      await writeNote(host.notes, state);
      this.#split = state;
    }
    this.#setTimer();
  }

  /** Sets the timer for the split message that is due first. */
  #setTimer(failures = 0): void {
    clearTimeout(this.#timer);
    if (this.#split.open.length === 0 || this.#signal.aborted) return;
    const until = Math.min(...this.#split.open.map((split) => split.until));
    const ms = failures > 0 ? backoff(failures) : Math.max(0, until - Date.now());
    this.#timer = setTimeout(() => void this.#closeDue(failures), ms);
  }

  async #closeDue(failures: number): Promise<void> {
    try {
      const now = Date.now();
      await this.#inTurn(async () => this.#closeSplit((split) => split.until <= now));
    } catch (error) {
      const reason = error instanceof StorageError ? `${error.message}: ${causeOf(error)}` : String(error);
      this.#account.host.report({ kind: "trouble", reason });
      this.#setTimer(failures + 1);
    }
  }

  /** Whether an update can be read. An unreadable one is left out: it must not block all later ones. */
  #isReadable(update: Update): boolean {
    const error = whyUnreadable(update);
    if (error !== undefined) this.#leaveOut(update, error);
    return error === undefined;
  }

  #leaveOut({ update_id: id }: Update, error: string): void {
    this.#account.host.log.warn("an update could not be read and was left out", { update: id, error });
  }

  #read(self: Self, update: Update): readonly Incoming[] {
    const { host, config, migrations, own, posts, forums } = this.#account;
    try {
      const messages = readUpdate(update, { account: host.account, self, now: Date.now(), own, posts, forums });
      const album = albumOf(update);
      return messages
        .filter(({ isEdit }) => !isEdit || config.edits === "answer")
        .map((message) => ({ message: migrations.withOldId(message), ...(album !== undefined && { album }) }));
    } catch (error) {
      this.#leaveOut(update, String(error));
      return [];
    }
  }

  #answerButton({ callback_query: query }: Update): void {
    if (!query) return;
    const { bot, host } = this.#account;
    bot.calls.answerCallbackQuery({ callback_query_id: query.id }).catch((error: unknown) => {
      host.log.info("the press of a button could not be acknowledged", { reason: failureOf(error).text });
    });
  }
}

/**
 * The notes of digests. A full page stays unchanged, so that the bytes written for a message do not grow with the
 * number of digests.
 */
const PAGES = 20;
const PAGE = 50;

/** Digests by chat and message. */
type Digests = ReadonlyMap<string, string>;
const pageShape = z.object({ number: z.int().min(0), digests: z.array(z.tuple([z.string(), z.string()])) });

/**
 * The last content of a thousand messages. An `edited_message` "may at times be triggered by changes to message fields that are either
 * unavailable or not actively used by your bot" (core.telegram.org/bots/api#update): such an edit is ignored.
 */
class Versions {
  readonly #host: ChannelHost;
  readonly #known = new BoundedMap<string, string>(PAGES * PAGE);
  #page = { number: 0, digests: new Map<string, string>() };

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  /** Rejects when the notes cannot be read. */
  async begin(): Promise<void> {
    const read = async (index: number) => readOwnNote(this.#host, noteOf(index), pageShape);
    const pages = await Promise.all(Array.from({ length: PAGES }, (_, index) => read(index)));
    const noted = pages.filter((page) => page !== undefined).toSorted((a, b) => a.number - b.number);
    for (const { digests } of noted) this.#put(new Map(digests));
    const last = noted.at(-1);
    if (last) this.#page = { number: last.number, digests: new Map(last.digests) };
  }

  /** The updates without edits that change nothing, and the digests to keep once the updates are durable. */
  changesIn(updates: readonly Update[]): { readonly updates: readonly Update[]; readonly versions: Digests } {
    const versions = new Map<string, string>();
    const changes = updates.filter((update) => {
      const edited = editedIn(update);
      const message = newIn(update) ?? edited;
      const digest = message && digestOf(message);
      // The conversion logs an update that cannot be read.
      if (!message || digest === undefined) return true;
      const key = `${message.chat.id}:${message.message_id}`;
      const before = versions.get(key) ?? this.#known.get(key);
      versions.set(key, digest);
      return !edited || before !== digest;
    });
    return { updates: changes, versions };
  }

  /** Resolves when the digests are durable, or cannot be: edits of those messages then count as changes. */
  async keep(versions: Digests): Promise<void> {
    if (versions.size === 0) return;
    this.#put(versions);
    const { number, digests } = this.#page;
    if (digests.size >= PAGE) this.#page = { number: number + 1, digests: new Map() };
    for (const [key, digest] of versions) this.#page.digests.set(key, digest);
    const page = { number: this.#page.number, digests: [...this.#page.digests] };
    await this.#host.notes.set(noteOf(page.number), JSON.stringify(page)).catch((error: unknown) => {
      this.#host.log.info("the content of messages was not noted", { error: String(error) });
    });
  }

  #put(versions: Digests): void {
    for (const [key, digest] of versions) this.#known.set(key, digest);
  }
}

const noteOf = (number: number): string => `versions-${number % PAGES}`;

function digestOf(message: Message): string | undefined {
  try {
    const content = JSON.stringify([textOf(message), filesOf(message), untrustedOf(message)]);
    return hash("sha256", content, "base64url").slice(0, 16);
  } catch {
    return undefined;
  }
}

/** The other ids of a file may change while the file does not (#file). */
function filesOf({ photo, ...message }: Message): readonly string[] {
  const { animation, video, video_note: round, voice, audio, document, sticker } = message;
  const files = [...(photo ?? []), animation, video, round, voice, audio, document, sticker];
  return files.flatMap((file) => file?.file_unique_id ?? []);
}

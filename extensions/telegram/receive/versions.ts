import { BoundedMap, readOwnNote } from "openclaw/plugin-sdk";
import { hash } from "node:crypto";
import type { Message, Update } from "grammy/types";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { textOf } from "./mentions.ts";
import { untrustedOf } from "./untrusted.ts";
import { editedIn, newIn } from "./updates.ts";

/** The notes of digests. A full page is left as it is, so that what is written for a message does not grow with their number. */
const PAGES = 20;
const PAGE = 50;

/** Digests by chat and message. */
type Digests = ReadonlyMap<string, string>;
const pageShape = z.object({ number: z.int().min(0), digests: z.array(z.tuple([z.string(), z.string()])) });

/**
 * The last content of a thousand messages. An `edited_message` "may at times be triggered by changes to message fields that are either
 * unavailable or not actively used by your bot" (core.telegram.org/bots/api#update): such an edit is ignored.
 */
export class Versions {
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

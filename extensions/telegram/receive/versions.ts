import { background, BoundedMap } from "openclaw/plugin-sdk";
import { hash } from "node:crypto";
import type { Message, Update } from "grammy/types";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { textOf } from "./mentions.ts";
import { readOwnNote } from "openclaw/plugin-sdk";
import { untrustedOf } from "./untrusted.ts";
import { editedIn, newIn } from "./updates.ts";

const NOTE = "versions";
const MOST = 1000;
/** How many new digests are collected before they are noted. A crash loses them: edits of those messages then count as changes. */
const SAVE_EVERY = 50;

/** Digests by chat and message. */
type Digests = ReadonlyMap<string, string>;
const noteShape = z.array(z.tuple([z.string(), z.string()]));

/**
 * The last content of messages. An `edited_message` "may at times be triggered by changes to message fields that are either
 * unavailable or not actively used by your bot" (core.telegram.org/bots/api#update): such an edit is ignored.
 */
export class Versions {
  readonly #host: ChannelHost;
  readonly #known = new BoundedMap<string, string>(MOST);
  #unsaved = 0;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  /** Rejects when the notes cannot be read. */
  async begin(): Promise<void> {
    const noted = await readOwnNote(this.#host, NOTE, noteShape);
    if (noted) this.#put(noted);
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

  keep(versions: Digests): void {
    this.#put(versions);
    this.#unsaved += versions.size;
    if (this.#unsaved >= SAVE_EVERY) background("note of message versions", this.save());
  }

  /** Never rejects. */
  async save(): Promise<void> {
    if (this.#unsaved === 0) return;
    this.#unsaved = 0;
    await this.#host.notes.set(NOTE, JSON.stringify([...this.#known])).catch((error: unknown) => {
      this.#host.log.info("the content of messages was not noted", { error: String(error) });
    });
  }

  #put(versions: Iterable<readonly [string, string]>): void {
    for (const [key, digest] of versions) this.#known.set(key, digest);
  }
}

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

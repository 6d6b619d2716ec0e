import { createHash } from "node:crypto";
import type { Texts } from "../../types/journal.ts";
import type { ChatMessage } from "../../types/run/model.ts";

/** A list of messages among the journal's texts: keys of lists of keys of messages. */
interface KeptMessages {
  readonly lists: readonly string[];
}

/**
 * Keeps messages by the hash of each, so that a turn adds its new messages alone: messages that were kept before cost
 * nothing, and neither do stretches of the conversation that are the same. Of an image, its type, size and hash are
 * kept. Resolves with the key of the whole. Rejects when the disk refuses.
 */
export async function keepMessages(messages: readonly ChatMessage[], texts: Texts): Promise<string> {
  const keys = await Promise.all(messages.map((message) => texts.put(JSON.stringify(message, withoutBytes))));
  const lists = await Promise.all(stretchesOf(keys).map((stretch) => texts.put(JSON.stringify(stretch))));
  const kept: KeptMessages = { lists };
  return texts.put(JSON.stringify(kept));
}

/**
 * The keys in stretches. The message at the end of a stretch decides that the stretch ends there, so that a change
 * leaves the stretches around it as they were.
 */
function stretchesOf(keys: readonly string[]): readonly (readonly string[])[] {
  const stretches: string[][] = [];
  for (const [at, key] of keys.entries()) {
    const before = keys[at - 1];
    if (before === undefined || before.startsWith(END)) stretches.push([]);
    stretches.at(-1)?.push(key);
  }
  return stretches;
}

/** The beginning of one key in sixteen, which ends a stretch. */
const END = "0";

function withoutBytes(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("type" in value) || value.type !== "image") return value;
  if (!("data" in value) || typeof value.data !== "string") return value;
  const { data } = value;
  const mimeType = "mimeType" in value ? String(value.mimeType) : "image";
  const bytes = Buffer.byteLength(data, "base64");
  const hash = createHash("sha256").update(data).digest("hex").slice(0, 16);
  return { type: "text", text: `[image: ${mimeType}, ${bytes} bytes, sha256 ${hash}]` };
}

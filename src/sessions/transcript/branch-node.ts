import type { ChatMessage } from "../../types/run/model.ts";
import { beginsTurn } from "../../types/run/turns.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { type Link, messageOf } from "./entries.ts";
import { estimateInRequest } from "./tokens.ts";

/** The node of an entry that the model reads. */
export type MessageNode = BranchNode & { readonly message: ChatMessage };

/**
 * One entry of a branch in memory. There are as many of them as messages in all open windows, so each is one object with no parts of
 * its own: of an ordinary message it keeps the message and the time, and makes the entry again for the few who ask for it.
 */
export class BranchNode {
  readonly entryId: string;
  readonly parentId: string | null;
  /** Byte of its line. */
  readonly offset: number;
  readonly message: ChatMessage | undefined;
  /** 0 without a message. */
  readonly tokens: number;
  /** A window may begin here. */
  readonly isTurn: boolean;
  /** The entry, or the time of one that consists of nothing but its message. */
  readonly #rest: TranscriptEntry | number | undefined;

  constructor({ id, parentId, entry }: Link, offset: number) {
    const message = entry && messageOf(entry);
    this.entryId = id;
    this.parentId = parentId;
    this.offset = offset;
    this.message = message && withoutSpareRoom(message);
    this.tokens = message ? estimateInRequest(message) : 0;
    this.isTurn = entry?.type === "message" && message !== undefined && beginsTurn(message);
    this.#rest = entry && (timeOf(entry) ?? entry);
  }

  hasMessage(): this is MessageNode {
    return this.message !== undefined;
  }

  /** Undefined where the entry cannot be read, or is of a kind that only another program knows. */
  get entry(): TranscriptEntry | undefined {
    const { entryId: id, parentId, message } = this;
    if (typeof this.#rest !== "number" || !message) return typeof this.#rest === "number" ? undefined : this.#rest;
    return { id, parentId, timestamp: new Date(this.#rest).toISOString(), type: "message", message };
  }
}

/** The fields of an entry that consists of nothing but its message. */
const FIELDS = 5;

/** Undefined when the entry says more than its place, its time and its message. */
function timeOf(entry: TranscriptEntry): number | undefined {
  if (entry.type !== "message" || Object.keys(entry).length !== FIELDS) return undefined;
  const at = Date.parse(entry.timestamp);
  return Number.isFinite(at) && new Date(at).toISOString() === entry.timestamp ? at : undefined;
}

/** The parts of an answer were added one by one, to an array with room for many more. */
const withoutSpareRoom = (message: ChatMessage): ChatMessage =>
  message.role === "assistant" ? { ...message, content: message.content.slice() } : message;

import type { SendResult } from "./channel.ts";
import type { ChatRequest } from "./chat.ts";
import type { MediaItem, Peer } from "./message.ts";

/** A message of a web, RPC, HTTP or command-line client. */
export interface WebMessage extends ChatRequest {
  /** The chat that also gets the answer. */
  readonly deliverTo?: Peer;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** A message that is added to a conversation outside of a run. */
export interface WebNote {
  readonly text: string;
  /** Files in the media store. */
  readonly media?: readonly MediaItem[];
}

/** The gateway's own clients. The web chat adapter uses them as other adapters use a platform. */
export interface WebClientPort {
  /** Passes clients' messages to `take`, which resolves when they are durable, until the signal aborts. */
  listen(take: (message: WebMessage) => Promise<void>, signal: AbortSignal): void;
  /** Appends to the conversation, durably, and informs the clients. A repeated `key` appends nothing. Never rejects. */
  write(chat: string, note: WebNote, key: string): Promise<SendResult>;
  /** Looks for the note of a key: `sent` when the conversation has it, else `retry`. Never rejects. */
  find(chat: string, key: string): Promise<SendResult>;
}

/** The event key of a client's message. A repeated message has the same key. */
export const webEventKey = (idempotencyKey: string): string => `k:${idempotencyKey}`;

import type { SendResult } from "./channel.ts";
import type { ChatRequest } from "./chat.ts";
import type { MediaItem, Peer } from "./message.ts";

/** A message of a web, RPC, HTTP or command-line client, as the gateway took it. */
export interface WebMessage extends ChatRequest {
  /** Chat that gets the answer too. */
  readonly deliverTo?: Peer;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What is said in a conversation outside of any run. */
export interface WebNote {
  readonly text: string;
  /** Files in the media store. */
  readonly media?: readonly MediaItem[];
}

/** The gateway's own clients, in the place that a platform has for other adapters. */
export interface WebClientPort {
  /** Gives what clients say to `take`, which resolves when it is durable, until the signal aborts. */
  listen(take: (said: WebMessage) => Promise<void>, signal: AbortSignal): void;
  /** Writes into the conversation, durably, and tells the clients. The same `key` again writes nothing. Never rejects. */
  write(chat: string, note: WebNote, key: string): Promise<SendResult>;
  /** Whether the note of a key stands there: `sent`, or `retry` when it does not. Never rejects. */
  find(chat: string, key: string): Promise<SendResult>;
}

/** Unique for ever: a message that comes again has the same one. */
export const webEventKey = (idempotencyKey: string): string => `k:${idempotencyKey}`;

import type {
  AnyMessageContent,
  ConnectionState,
  GroupMetadata,
  MiscMessageGenerationOptions,
  WAMessage,
  WAMessageKey,
} from "@whiskeysockets/baileys";
import type { BoundedMap } from "openclaw/plugin-sdk";
import type { Auth } from "./auth.ts";
import type { Baileys } from "../baileys.ts";
import type { WhatsAppConfig } from "../config.ts";
import type { Self } from "../view.ts";

/** The server's answer to one of our messages; `error` is its code. */
export type ServerAnswer = { readonly kind: "taken" } | { readonly kind: "refused"; readonly error: number };

export interface SocketEvents {
  /** Rejects when the message could not be stored: then it is not acknowledged. */
  take(message: WAMessage): Promise<void>;
  changed(state: Partial<ConnectionState>): void;
  /** WhatsApp answered one of our messages. */
  answered(): void;
  /** A frame arrived, even if only the answer to a ping. */
  alive(): void;
  groupChanged(jid: string): void;
  /** A message could not be decrypted; the library requests it again from the sender's phone. */
  unreadable(from: string, error: unknown): void;
  /** A message that the library had decrypted by itself could not be stored. */
  untaken(error: unknown): void;
  /** The credentials could not be saved; this is retried. */
  unsaved(error: unknown): void;
}

/** A connection to WhatsApp. Every call except `close` rejects while it is not open. */
export interface WaSocket {
  self(): Self | undefined;
  /** Resolves with the server's answer. Rejects with `NoAnswer` when the message was sent and there was no answer. */
  send(to: string, content: AnyMessageContent, options: MiscMessageGenerationOptions): Promise<ServerAnswer>;
  markRead(keys: WAMessageKey[]): Promise<void>;
  composing(to: string): Promise<void>;
  /** Takes `composing` back. */
  paused(to: string): Promise<void>;
  group(jid: string): Promise<GroupMetadata>;
  phoneOf(lid: string): Promise<string | undefined>;
  pairingCode(phone: string): Promise<string>;
  /** Ends the link on WhatsApp's side. */
  unlink(): Promise<void>;
  close(): Promise<void>;
}

/** The message was sent, and there was no answer before the connection ended or the time was over. */
export class NoAnswer extends Error {}

export interface Opening {
  readonly baileys: Baileys;
  readonly auth: Auth;
  readonly config: WhatsAppConfig;
  readonly events: SocketEvents;
  /** Digests of messages that this connection, or one before, decrypted and stored. */
  readonly opened: BoundedMap<string, true>;
  /** The known members of a group, so that a send need not ask for the members. */
  knownGroup(jid: string): GroupMetadata | undefined;
}

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
import type { Baileys } from "./baileys.ts";
import type { WhatsAppConfig } from "../config.ts";
import type { Self } from "../inbound/inbound.ts";

/** What WhatsApp's server said to a message of ours; `error` is its code. */
export type Answer = { readonly kind: "taken" } | { readonly kind: "refused"; readonly error: number };

export interface SocketEvents {
  /** Rejects when the message could not be stored: then it is not acknowledged. */
  take(message: WAMessage): Promise<void>;
  changed(state: Partial<ConnectionState>): void;
  /** WhatsApp has answered a message of ours. */
  answered(): void;
  /** Something came, be it only the answer to a ping. */
  alive(): void;
  groupChanged(jid: string): void;
  /** A message came that no key here opens; the library asks its phone for it anew. */
  unreadable(from: string, error: unknown): void;
  /** Who we are could not be written; it is tried again. */
  unsaved(error: unknown): void;
}

/** One connection to WhatsApp. Every call but `close` rejects when it does not stand. */
export interface WaSocket {
  self(): Self | undefined;
  /** Resolves with the server's answer. Rejects with `NoAnswer` when the message left and none came. */
  send(to: string, content: AnyMessageContent, options: MiscMessageGenerationOptions): Promise<Answer>;
  markRead(keys: WAMessageKey[]): Promise<void>;
  composing(to: string): Promise<void>;
  group(jid: string): Promise<GroupMetadata>;
  phoneOf(lid: string): Promise<string | undefined>;
  pairingCode(phone: string): Promise<string>;
  /** Ends the link on WhatsApp's side. */
  unlink(): Promise<void>;
  close(): Promise<void>;
}

/** The message left and the connection ended, or the time, before the server said what became of it. */
export class NoAnswer extends Error {}

export interface Opening {
  readonly baileys: Baileys;
  readonly auth: Auth;
  readonly config: WhatsAppConfig;
  readonly events: SocketEvents;
  /** Digests of what was opened and taken, over this connection and those before. */
  readonly opened: BoundedMap<string, true>;
  /** Participants, as known, so that a send need not ask. */
  knownGroup(jid: string): GroupMetadata | undefined;
}

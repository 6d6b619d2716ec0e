import type { SendResult } from "./channel.ts";
import type { Peer } from "./message.ts";

/** The chat that a run answers, for tools that act in chats. */
export interface ChatScene {
  /** The row of the message that woke the run. */
  readonly inboxId: number;
  readonly peer: Peer;
  /** That message, where the chat knows it. */
  readonly messageId?: string;
  /** Everybody whose words the turn was made of is an owner. */
  readonly isOwner: boolean;
}

/** A chat in a model's words. */
export interface TargetInput {
  readonly to?: string | undefined;
  readonly channel?: string | undefined;
  readonly accountId?: string | undefined;
  readonly threadId?: string | undefined;
}

/** A message for a chat. */
export interface ChatPost {
  /** Names it for ever: posting it again sends nothing twice. */
  readonly key: string;
  readonly inboxId: number;
  readonly to: Peer;
  readonly message: string;
  /** Web addresses, or files of the workspace. */
  readonly media: readonly string[];
  readonly asVoice: boolean;
  readonly replyTo?: string | undefined;
  readonly workspace: string;
  /** The only hosts that web addresses may name, with their subdomains; any when unset. */
  readonly hosts?: readonly string[];
}

/** How a post stands. `queued` goes out by itself; `failed` never will. */
export interface Posted {
  readonly state: "sent" | "queued" | "failed";
  /** Of those messages that the platform took. */
  readonly messageIds: readonly string[];
  readonly reason?: string;
  /** It may stand in the chat twice. */
  readonly possibleRepeat?: boolean;
}

export type ChatAct = "react" | "edit" | "delete";

/** What the gateway does in chats for a tool. */
export interface ChatActs {
  /** The chat that is meant, with what is not said taken from `home`. Throws, in words for the model, when it cannot be told. */
  find(words: TargetInput, home: Peer): Peer;
  /** False when the chat's platform is known not to have it. */
  can(to: Peer, act: ChatAct): boolean;
  /**
   * Resolves when the platform has taken it or never will, or after a while, or soon after `signal` aborts. Throws, in
   * words for the model, when a file cannot be had.
   */
  send(post: ChatPost, signal: AbortSignal): Promise<Posted>;
  /** True when the gateway sent that message, as far as its journal goes back. */
  isOwn(to: Peer, messageId: string): Promise<boolean>;
  /** Without an emoji the reaction goes away. */
  react(to: Peer, messageId: string, emoji: string | undefined): Promise<SendResult>;
  edit(to: Peer, messageId: string, markdown: string): Promise<SendResult>;
  remove(to: Peer, messageId: string): Promise<SendResult>;
}

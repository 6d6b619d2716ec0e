import type { ButtonLimits, ChatActions, SendResult } from "./channel.ts";
import type { Peer } from "./message.ts";
import type { ReplyButton } from "./reply.ts";

/** Where a run answers, for tools that send to chats. */
export interface ChatScene {
  /** The row of the message that started the run. */
  readonly inboxId: number;
  /** The chat that the run answers; unset for an operator's client, who names the chats. */
  readonly peer?: Peer;
  /** The platform's id of that message, if it has one. */
  readonly messageId?: string;
  /** Every sender of the turn is an owner. */
  readonly isOwner: boolean;
}

/** A chat as a model names it in a tool call. */
export interface TargetInput {
  readonly to?: string | undefined;
  readonly channel?: string | undefined;
  readonly accountId?: string | undefined;
  readonly threadId?: string | undefined;
}

/** A message for a chat. */
export interface ChatPost {
  /** Identifies the post for ever: a repeated post is not sent twice. */
  readonly key: string;
  readonly inboxId: number;
  readonly to: Peer;
  readonly message: string;
  /** Web addresses, or files of the workspace. */
  readonly media: readonly string[];
  /** Contents of further files. */
  readonly files?: readonly { readonly bytes: Uint8Array; readonly name?: string | undefined }[];
  readonly form?: FileForm;
  /** Sends without a sound, where the platform has such messages. */
  readonly silent?: boolean;
  readonly buttons?: readonly ReplyButton[];
  readonly replyTo?: string | undefined;
  readonly workspace: string;
  /** The only hosts that web addresses may name, with their subdomains; any when unset. */
  readonly hosts?: readonly string[];
}

/** How files are sent. */
export interface FileForm {
  /** As a voice note, or as a file that the platform does not change. */
  readonly as?: "voice" | "document";
  /** Name of the only file. */
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
}

/** The state of a post. `queued`: the post is sent later without further calls. `failed`: it is never sent. */
export interface Posted {
  readonly state: "sent" | "queued" | "failed";
  /** The messages that the platform took. */
  readonly messageIds: readonly string[];
  readonly reason?: string;
  /** The chat may show the post twice. */
  readonly possibleRepeat?: boolean;
  /** The post was to be silent, and the platform has no silent messages. */
  readonly isLoud?: boolean;
}

export type ChatAct = "send" | "react" | "edit" | "delete";

/** The actions in chats that the gateway offers to tools. */
export interface ChatActs {
  /** Resolves a target; missing parts come from `home`. Throws an error with a text for the model when it is ambiguous. */
  find(target: TargetInput, home: Peer | undefined): Peer;
  /** False when the chat's platform is known not to support it, or the config switches it off. */
  can(to: Peer, act: ChatAct): boolean;
  /** Further actions that the chat offers now. */
  actions(to: Peer): ChatActions;
  /** Limits for the buttons of a message in the chat; undefined when it has no buttons. */
  buttons(to: Peer): ButtonLimits | undefined;
  /**
   * Resolves when the platform has taken the post or never will, after a time limit, or soon after `signal` aborts. Throws an error
   * with a text for the model when a file cannot be read or fetched.
   */
  send(post: ChatPost, signal: AbortSignal): Promise<Posted>;
  /** True when the gateway sent that message, as far as its journal goes back. */
  isOwn(to: Peer, messageId: string): Promise<boolean>;
  /** Sets the reaction of the bot; removes it without an emoji. */
  react(to: Peer, messageId: string, emoji: string | undefined): Promise<SendResult>;
  edit(to: Peer, messageId: string, markdown: string): Promise<SendResult>;
  remove(to: Peer, messageId: string): Promise<SendResult>;
}

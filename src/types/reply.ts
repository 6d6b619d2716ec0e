import type { MediaItem } from "./message.ts";

export type NoticeCause = "error" | "command" | "pairing" | "approval" | "compaction" | "fallback";

/** One deliverable piece of an answer. What is private never becomes a block. */
export type ReplyBlock =
  | { readonly kind: "text"; readonly markdown: string }
  | { readonly kind: "media"; readonly media: MediaItem; readonly caption?: string; readonly asVoice?: boolean }
  | { readonly kind: "notice"; readonly markdown: string; readonly because: NoticeCause };

/** How a platform wants its text. */
export type TextFormat = "telegram-html" | "markdown" | "plain";

/** What is handed to a link: text rendered for the platform and cut to its limit, or a file. */
export type OutboundPart =
  | { readonly kind: "text"; readonly body: string; readonly format: TextFormat; readonly plain: string }
  | { readonly kind: "media"; readonly media: MediaItem; readonly caption?: string; readonly asVoice?: boolean };

/** A question with buttons under a message, where the platform has them. */
export interface ReplyButton {
  readonly label: string;
  /** Comes back as the text of an inbound message. */
  readonly command: string;
}

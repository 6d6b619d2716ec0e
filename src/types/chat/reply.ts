import type { MediaItem } from "./message.ts";

export type NoticeCause = "error" | "command" | "pairing" | "approval" | "compaction" | "fallback";

/** One deliverable piece of an answer. What is private never becomes a block. */
export type ReplyBlock =
  | { readonly kind: "text"; readonly markdown: string }
  | { readonly kind: "media"; readonly media: MediaItem; readonly asVoice?: boolean }
  | { readonly kind: "notice"; readonly markdown: string; readonly because: NoticeCause };

/** How a platform wants its text. `signal-styled` is plain text with `styles` beside it. */
export type TextFormat =
  | "telegram-html"
  | "slack-mrkdwn"
  | "discord"
  | "signal-styled"
  | "whatsapp"
  | "markdown"
  | "plain";

/** A stretch of a `signal-styled` body, in UTF-16 units; the words are signal-cli's. */
export interface TextStyle {
  readonly start: number;
  readonly length: number;
  readonly style: "BOLD" | "ITALIC" | "STRIKETHROUGH" | "SPOILER" | "MONOSPACE";
}

/** Text rendered for the platform and cut to its limit. */
export interface OutboundText {
  readonly kind: "text";
  readonly body: string;
  readonly format: TextFormat;
  /** The same without formatting, for when the platform refuses the body. */
  readonly plain: string;
  readonly styles?: readonly TextStyle[];
}

/** Files that are one message. */
export interface OutboundFiles {
  readonly kind: "media";
  readonly media: MediaItem;
  /** The rest of an album; only as `ChannelLimits.album` allows it. */
  readonly more?: readonly MediaItem[];
  /** Belongs to all of them. It has room where `ChannelLimits.caption` gives it room; else it goes before the file. */
  readonly caption?: OutboundText;
  /** Never with `more`. */
  readonly asVoice?: boolean;
}

/** What is handed to a link: one message of the platform. */
export type OutboundPart = OutboundText | OutboundFiles;

/** A question with buttons under a message, where the platform has them. */
export interface ReplyButton {
  readonly label: string;
  /** Comes back as the text of an inbound message. */
  readonly command: string;
}

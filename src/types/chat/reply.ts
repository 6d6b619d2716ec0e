import type { MediaItem } from "./message.ts";

export type NoticeCause =
  | "error"
  | "command"
  | "pairing"
  | "approval"
  | "compaction"
  | "fallback"
  | "tool"
  | "usage"
  | "thought"
  | "hook";

/** A model says this instead of a reply when nothing is to be sent. */
export const SILENT_TOKEN = "NO_REPLY";

/** The message that a reply answers. */
export type ReplyTarget = { readonly kind: "current" } | { readonly kind: "id"; readonly id: string };

/** A deliverable part of an answer. Private text, such as thoughts, never becomes a block. */
export type ReplyBlock =
  | { readonly kind: "text"; readonly markdown: string }
  | { readonly kind: "media"; readonly media: MediaItem; readonly asVoice?: boolean }
  | { readonly kind: "notice"; readonly markdown: string; readonly because: NoticeCause };

/** The markup that a platform uses. `signal-styled` is plain text with separate `styles`. */
export type TextFormat =
  | "telegram-html"
  | "slack-mrkdwn"
  | "discord"
  | "signal-styled"
  | "whatsapp"
  | "markdown"
  | "plain";

/** A styled span of a `signal-styled` body, in UTF-16 units; the style names are signal-cli's. */
export interface TextStyle {
  readonly start: number;
  readonly length: number;
  readonly style: "BOLD" | "ITALIC" | "STRIKETHROUGH" | "SPOILER" | "MONOSPACE";
}

/** Text rendered for the platform and within its limit. */
export interface OutboundText {
  readonly kind: "text";
  readonly body: string;
  readonly format: TextFormat;
  /** The same without formatting, in case the platform refuses the body. */
  readonly plain: string;
  readonly styles?: readonly TextStyle[];
}

/** Files that form one message. */
export interface OutboundFiles {
  readonly kind: "media";
  readonly media: MediaItem;
  /** The other files of an album, within `ChannelLimits.album`. */
  readonly more?: readonly MediaItem[];
  /**
   * The text of all files. The adapter sends it before the files when `ChannelLimits.caption` does not allow it below
   * them.
   */
  readonly caption?: OutboundText;
  /** Sends the file as a voice message; never set together with `more`. */
  readonly asVoice?: boolean;
}

/** A single message of the platform, as a link gets it. */
export type OutboundPart = OutboundText | OutboundFiles;

/** A button under a message, where the platform has buttons. */
export interface ReplyButton {
  readonly label: string;
  /** The text of the inbound message that a press of the button causes. */
  readonly command: string;
}

/** `openclaw/plugin-sdk/text-runtime`: readers of texts. */

export interface InlineDirectiveOptions {
  /** The message that `[[reply_to_current]]` means. */
  readonly currentMessageId?: string;
  /** False leaves `[[audio_as_voice]]` in the text. */
  readonly stripAudioTag?: boolean;
  /** False leaves `[[reply_to…]]` in the text. */
  readonly stripReplyTags?: boolean;
}

export interface InlineDirectives {
  readonly text: string;
  readonly audioAsVoice: boolean;
  /** The id that the text names, else the current message where the text asks for it. */
  readonly replyToId?: string;
  /** The id that the text names. */
  readonly replyToExplicitId?: string;
  readonly replyToCurrent: boolean;
  readonly hasAudioTag: boolean;
  readonly hasReplyTag: boolean;
}

const TAG = /\[\[\s*(?:(audio_as_voice)|reply_to_current|reply_to\s*:\s*([^\]\n]+?))\s*\]\]/gi;

/** The directives of an answer, `[[audio_as_voice]]`, `[[reply_to_current]]` and `[[reply_to: id]]`, and the text without them. */
export function parseInlineDirectives(text = "", options: InlineDirectiveOptions = {}): InlineDirectives {
  const { currentMessageId, stripAudioTag = true, stripReplyTags = true } = options;
  const tags = [...text.matchAll(TAG)].map(([, audio, id]) => ({ isAudio: audio !== undefined, id: id?.trim() }));
  const replies = tags.filter(({ isAudio }) => !isAudio);
  const replyToExplicitId = replies.findLast(({ id }) => id !== undefined && id !== "")?.id;
  const replyToCurrent = replies.some(({ id }) => id === undefined);
  const replyToId = replyToExplicitId ?? (replyToCurrent ? currentMessageId : undefined);
  const left = text.replaceAll(TAG, (tag, audio?: string) =>
    (audio === undefined ? stripReplyTags : stripAudioTag) ? " " : tag,
  );
  return {
    text: tags.length === 0 ? text : tidied(left),
    audioAsVoice: tags.some(({ isAudio }) => isAudio),
    replyToCurrent,
    hasAudioTag: tags.some(({ isAudio }) => isAudio),
    hasReplyTag: replies.length > 0,
    ...(replyToExplicitId !== undefined && { replyToExplicitId }),
    ...(replyToId !== undefined && { replyToId }),
  };
}

/** The text without the spaces that a removed tag leaves; the indent of a line stays. */
const tidied = (text: string): string =>
  text
    .replaceAll(/(\S)[ \t]{2,}(?=\S)/g, "$1 ")
    .replaceAll(/[ \t]+(?=\n|$)/g, "")
    .trim();

/** The trimmed text; undefined for an empty text and for a value that is no text. */
export function normalizeOptionalString(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** The same in lower case. */
export const normalizeOptionalLowercaseString = (value: unknown): string | undefined =>
  normalizeOptionalString(value)?.toLowerCase();

/** The same, with an empty text instead of undefined. */
export const normalizeLowercaseStringOrEmpty = (value: unknown): string =>
  normalizeOptionalLowercaseString(value) ?? "";

/** UTF-16 units of a text that a plugin makes. A longer one would fill its chat with messages for hours. */
const MOST_CHARS = 100_000;
const CUT = "[A plugin made this text longer; the rest is left out.]";

export const isTooLong = (text: string): boolean => text.length > MOST_CHARS;

/** The text of a plugin, cut where it is too long. */
export const cutLong = (text: string): string =>
  isTooLong(text) ? `${text.slice(0, MOST_CHARS).toWellFormed()}\n\n${CUT}` : text;

/** Controls except tabs and line breaks, and signs that turn the order of the text after them around. */
const CONTROLS = /[^\P{Cc}\t\n\r]|[\u202A-\u202E\u2066-\u2069]/gu;

/**
 * The text without signs that show nothing and change how other text is shown. Joiners, as in emoji, and the marks of direction of
 * Arabic and Hebrew stay. Removes the same wherever the text is cut.
 */
export const withoutControls = (text: string): string => text.replaceAll(CONTROLS, "");

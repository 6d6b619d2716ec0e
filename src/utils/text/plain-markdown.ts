const MARKS = /[\\`*~[\]<>|]|(?<!\w)_|_(?!\w)/g;

/**
 * A text of somebody else within a line of Markdown, on one line: the text is shown as it is, and no part of it is
 * markup.
 */
export const plainMarkdown = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(MARKS, (mark) => `\\${mark}`);

/** The part of a Markdown text that is read aloud: words, without marks, addresses and code. Pure. */
export function spokenText(markdown: string): string {
  return markdown
    .replaceAll(/^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1|$(?![^]))/gm, " ")
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, " ")
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll(/https?:\/\/\S+/g, " ")
    .replaceAll(/`([^`]*)`/g, "$1")
    .replaceAll(/^ {0,3}(?:#{1,6}|>|[-*+•]|\d{1,9}[.)])[ \t]+/gm, "")
    .replaceAll(/^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|?)+[ \t]*$/gm, "")
    .replaceAll("|", " ")
    .replaceAll(/[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}/g, "")
    .replaceAll(/\p{Extended_Pictographic}|\u200d|\ufe0f/gu, "")
    .replaceAll(/[ \t]+/g, " ")
    .replaceAll(/ ?\n ?/g, "\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

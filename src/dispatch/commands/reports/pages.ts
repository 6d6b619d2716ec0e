/** Lines of one page: few enough to be one message in every channel. */
const PAGE = 20;

/** A list in a command's answer, and the page of it that is asked for. */
interface Listing {
  readonly title: string;
  readonly lines: readonly string[];
  /** The number of the page, from 1; a number that is too high means the last page. */
  readonly page: number;
  /** The command for another page, without its number. */
  readonly command: string;
}

/** One page of a list, with the command for the next one. Pure. */
export function pageOf({ title, lines, page, command }: Listing): string {
  const pages = Math.max(1, Math.ceil(lines.length / PAGE));
  const shown = Math.min(Math.max(1, page), pages);
  const part = lines.slice((shown - 1) * PAGE, shown * PAGE);
  if (pages === 1) return [`${title}:`, ...part].join("\n");
  const next = shown < pages ? [`More: ${command} ${shown + 1}`] : [];
  return [`${title}, page ${shown} of ${pages}:`, ...part, ...next].join("\n");
}

/**
 * The words before a number at the end of a command's arguments, and that number, which is 1 when there is none. Pure.
 */
export function wordsAndPage(args: string): { readonly words: string; readonly page: number } {
  const [, words = "", page = "1"] = /^(.*?)\s*(?<!\S)(\d{1,4})$/s.exec(args.trim()) ?? [];
  return words === "" && !/^\d{1,4}$/.test(args.trim())
    ? { words: args.trim(), page: 1 }
    : { words, page: Number(page) };
}

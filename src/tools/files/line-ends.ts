const toUnix = (text: string): string => text.replaceAll("\r\n", "\n");

const BOM = "\uFEFF";

/**
 * Changes a text whose lines end with `\n`, and returns it with its original line ends and byte order mark. A text with
 * both kinds of line ends is changed as it is. `change` gets a function that gives other texts the same line ends.
 */
export function keepingLineEnds(
  content: string,
  change: (content: string, alike: (text: string) => string) => string,
): string {
  const mark = content.startsWith(BOM) ? BOM : "";
  const text = content.slice(mark.length);
  const isWindows = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  if (!isWindows) return mark + change(text, (other) => other);
  return mark + toUnix(change(toUnix(text), toUnix)).replaceAll("\n", "\r\n");
}

const toUnix = (text: string): string => text.replaceAll("\r\n", "\n");

const BOM = "\uFEFF";

/**
 * Changes a text whose lines end with `\n`, and gives it back with the line ends and the byte order mark that it had. A text
 * with both kinds of line ends is changed as it is. `change` gets a function that writes other texts with the same line ends.
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

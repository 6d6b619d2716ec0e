const MOST_TITLE = 80;

/** The beginning of a text, on one line. Pure. */
export function firstLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > MOST_TITLE ? `${line.slice(0, MOST_TITLE - 1).toWellFormed()}…` : line;
}

/** The `key: value` lines between the first two `---` lines of a Markdown file. */
export type Frontmatter = Readonly<Record<string, string>>;

const BLOCK = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const ENTRY = /^([A-Za-z_][\w-]*):[ \t]*(.*)$/;

function unquote(value: string): string {
  const trimmed = value.trim();
  const double = /^"((?:[^"\\]|\\.)*)"(?:\s+#.*)?$/.exec(trimmed);
  if (double?.[1] !== undefined) {
    return double[1].replaceAll(/\\(.)/g, (_whole, char: string) => (char === "n" ? "\n" : char));
  }
  const single = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(trimmed);
  if (single?.[1] !== undefined) {
    return single[1].replaceAll("''", "'");
  }
  return trimmed.replace(/(?:^|\s)#.*$/, "").trim();
}

/**
 * Reads the top-level text values: plain, quoted, and those that go on over indented lines (`>`, `|` or none). Lists
 * and nested keys are passed over. Undefined when the file has no frontmatter. Never throws.
 */
export function parseFrontmatter(source: string): Frontmatter | undefined {
  const block = BLOCK.exec(source)?.[1];
  if (block === undefined) {
    return undefined;
  }
  const lines = block.split(/\r?\n/);
  const values = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const [, key, rest] = ENTRY.exec(line) ?? [];
    if (key === undefined || rest === undefined || values.has(key)) {
      continue;
    }
    const following = lines.slice(index + 1);
    const end = following.findIndex((next) => next.trim() !== "" && !/^\s/.test(next));
    const indented = (end === -1 ? following : following.slice(0, end)).map((next) => next.trim());
    values.set(key, readValue(rest, indented));
  }
  return Object.fromEntries(values);
}

function readValue(rest: string, indented: readonly string[]): string {
  const style = /^([>|])[+-]?\d*[ \t]*(?:#.*)?$/.exec(rest.trim())?.[1];
  if (style !== undefined) {
    return indented.join(style === "|" ? "\n" : " ").trim();
  }
  return unquote([rest, ...indented].join(" "));
}

/** All that stands under a top-level key, as it is written, from behind its colon to the next key; undefined without it. */
export function frontmatterBlock(source: string, key: string): string | undefined {
  const lines = (BLOCK.exec(source)?.[1] ?? "").split(/\r?\n/);
  const start = lines.findIndex((line) => ENTRY.exec(line)?.[1] === key);
  if (start === -1) return undefined;
  const below = lines.slice(start + 1);
  const end = below.findIndex((line) => line.trim() !== "" && !/^\s/.test(line));
  return [ENTRY.exec(lines[start] ?? "")?.[2] ?? "", ...(end === -1 ? below : below.slice(0, end))].join("\n");
}

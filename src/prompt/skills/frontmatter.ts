import { readPlain } from "./plain-frontmatter.ts";

/** The YAML between the first two `---` lines of a Markdown file; its leaves are texts. */
export type Frontmatter = Readonly<Record<string, unknown>>;

const BLOCK = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Characters. Parsing takes time that grows with the square of the number of keys, and real ones are below 2,000. */
const MOST_CHARS = 8192;

/**
 * Reads the frontmatter, or says why it cannot: a sentence's end after "its frontmatter". Undefined when the file has none.
 * A text without quotes may have a colon, as many skills do, although YAML forbids it. Never throws.
 */
export async function parseFrontmatter(source: string): Promise<Frontmatter | string | undefined> {
  const block = BLOCK.exec(source)?.[1]?.replaceAll("\r\n", "\n");
  if (block === undefined) return undefined;
  if (block.length > MOST_CHARS) return `is longer than ${MOST_CHARS} characters`;
  const plain = readPlain(block);
  if (plain !== undefined) return plain;
  const strict = await read(block);
  if (typeof strict !== "string") return strict;
  const mended = block.replaceAll(PLAIN_TEXT, quoted);
  const lenient = mended === block ? strict : await read(mended);
  return typeof lenient === "string" ? strict : lenient;
}

/** A key at the top level whose text has no quotes, with its further lines. */
const PLAIN_TEXT = /^([\w-]+):[ \t]+([^\s"'>|[{&*!#].*(?:\n[ \t]+.*)*)$/gm;

function quoted(_lines: string, key: string, text: string): string {
  const plain = text.replaceAll(/[ \t]#.*$/gm, "").replaceAll(/\s*\n\s*/g, " ");
  return `${key}: ${JSON.stringify(plain)}`;
}

/** The map, or the reason why the block cannot be read. */
async function read(block: string): Promise<Frontmatter | string> {
  const { parseDocument } = await import("yaml");
  // "failsafe" knows texts, lists and maps: a version stays as it is written.
  const document = parseDocument(block, { schema: "failsafe" });
  const [error] = document.errors;
  if (error) return `is no YAML: ${error.message.split("\n", 1)[0] ?? error.code}`;
  try {
    const value: unknown = document.toJS();
    return isMap(value) ? value : "has no keys";
  } catch (cause) {
    // More aliases than the library expands.
    return `is no YAML: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}

const isMap = (value: unknown): value is Frontmatter =>
  typeof value === "object" && value !== null && !Array.isArray(value);

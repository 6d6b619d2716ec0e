import type { Fields } from "../../utils/fields.ts";

/** `name: value`, with the indented lines that belong to it. */
const ENTRY = /^([\w-]+):\n?[ ]+(\S.*(?:\n[ ]+\S.*)*)$/;
/** A text without quotes that needs no rule of YAML to be read: no tab, and no `: ` and ` #`, which mean something else. */
const PLAIN = /^[A-Za-z0-9(](?:(?!: | #)[^\t\n])*[^\s:]$/;

/**
 * Reads the frontmatter that most files have: keys with a text in one line, or with JSON whose leaves are texts. The result is that
 * of the YAML parser, whose code then need not be loaded. Undefined when the block has anything else.
 */
export function readPlain(block: string): Fields | undefined {
  const fields = new Map<string, unknown>();
  for (const entry of block.split(/\n(?! )/)) {
    const [, key, text] = ENTRY.exec(entry) ?? [];
    if (key === undefined || text === undefined || fields.has(key)) return undefined;
    const value = PLAIN.test(text) && entry.startsWith(`${key}: `) ? text : parseTexts(text);
    if (value === undefined) return undefined;
    fields.set(key, value);
  }
  return Object.fromEntries(fields);
}

/** A text in quotes, or a comma between a value and a closing bracket, which YAML allows. */
const QUOTED_OR_LAST_COMMA = /("(?:[^"\\]|\\.)*")|(?<=["\]}]\s*),(?=\s*[}\]])/g;

/** JSON is YAML, but YAML keeps a number as it is written: only JSON of texts, lists and maps is read here. */
function parseTexts(text: string): unknown {
  try {
    const value: unknown = JSON.parse(
      text.replaceAll(QUOTED_OR_LAST_COMMA, (_, quoted: string | undefined) => quoted ?? ""),
    );
    return hasOnlyTexts(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function hasOnlyTexts(value: unknown): boolean {
  if (typeof value === "string") return true;
  return typeof value === "object" && value !== null && Object.values(value).every(hasOnlyTexts);
}

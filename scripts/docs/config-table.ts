import type { SchemaKey } from "../../src/app/config/keys/schema-keys.ts";
import { isInsideSecret, isSection, showKey, showType, textOf } from "./schema-words.ts";

const HEAD = `# Configuration

<!-- Made by \`npm run generate\` from the schema: change the schema, not this file. -->

The config file is \`~/.openclaw/openclaw.json\`, or the file that \`OPENCLAW_CONFIG_PATH\` names. It is JSON5: comments, trailing commas and
bare keys are allowed. Every key is optional. An unknown key is an error that names its line and the nearest known key. A key that other
gateways of this family know and this one does not support yet is a warning. \`openclaw config validate\` reports both without a start.

**Secrets.** Any text may contain \`\${VARIABLE}\`; \`$\${\` is a literal \`\${\`. A secret may also be a reference:
\`{ source: "env", id: "NAME" }\`, \`{ source: "file", id: "~/path" }\` or \`{ source: "exec", id: ["program", "argument"] }\`. The gateway
starts such a program without a shell and gives it 5 seconds; its output without the last line break is the secret. References are resolved
once, when the file is read. A reference that cannot be resolved stops the start, except below \`enabled: false\`.

**Changes while the gateway runs.** A change applies from the next message on, one below \`channels.<name>\` by a new connection of that channel.
An invalid file changes nothing. These keys, with those below them, are read once, at the start, so that a change of them waits for a restart, and
the log names it:

`;

/** A section with more rows than this is divided by the keys below it. */
const MOST_ROWS = 24;
/** A key with fewer rows below it has no part of its own. */
const LEAST_ROWS = 4;
/** Characters of a meaning in a table; the rest of a longer text follows the table. */
const MEANING_CHARS = 110;
const DEEPEST_HEADING = 4;

/** A part of the page: the keys below one key. */
interface Part {
  readonly path: readonly string[];
  readonly rows: readonly SchemaKey[];
}

/** `docs/reference/config.md`. */
export function configTable(keys: readonly SchemaKey[]): string {
  const sections = keys.filter((key) => key.path.length === 1);
  const contents = sections.map(({ path, node }) => {
    const name = showKey(path);
    return `- [\`${name}\`](#${anchorOf(name)}): ${splitAtSentence(textOf(node["description"]), 0)[0]}`;
  });
  const all = keys.filter((key) => isRow(key, keys));
  const parts = sections.map(({ path }) => partText({ path, rows: below(path, all) }, keys));
  const atStart = keys.filter(({ node }) => node["applies"] === "at start").map(({ path }) => `\`${showKey(path)}\``);
  return [HEAD, listItem(`${atStart.join(", ")}.`), "\n\n", contents.join("\n"), "\n", ...parts].join("");
}

/** The anchor that GitHub makes of a heading. */
const anchorOf = (name: string): string => name.toLowerCase().replaceAll(/[^\w-]/g, "");

const below = (path: readonly string[], keys: readonly SchemaKey[]): readonly SchemaKey[] =>
  keys.filter((key) => path.every((name, index) => key.path[index] === name));

function partText({ path, rows }: Part, keys: readonly SchemaKey[]): string {
  const children = rows.length > MOST_ROWS ? childrenOf(path, rows) : [];
  const inChildren = new Set(children.flatMap((child) => child.rows));
  const own = rows.filter((row) => !inChildren.has(row));
  const [only, ...others] = children;
  if (only && own.length === 0 && others.length === 0) return partText(only, keys);
  const level = "#".repeat(Math.min(path.length + 1, DEEPEST_HEADING));
  const node = keys.find((key) => showKey(key.path) === showKey(path))?.node;
  const about = textOf(node?.["description"]);
  const head = `\n${level} \`${showKey(path)}\`\n${about === "" ? "" : `\n${about}\n`}`;
  return [head, tableText(own), ...children.map((child) => partText(child, keys))].join("");
}

/** The keys right below a path that have enough rows for a part of their own; of a list or a map, those of its entries. */
function childrenOf(path: readonly string[], rows: readonly SchemaKey[]): readonly Part[] {
  const names = new Set(
    rows.flatMap((row) => (row.path.length > path.length + 1 ? [row.path[path.length] ?? ""] : [])),
  );
  const parts = [...names].map((name) => ({ path: [...path, name], rows: below([...path, name], rows) }));
  return parts.filter((part) => part.rows.length >= LEAST_ROWS);
}

function tableText(rows: readonly SchemaKey[]): string {
  if (rows.length === 0) return "";
  const notes = rows.flatMap((row) => {
    const [, rest] = meaningOf(row);
    return rest === "" ? [] : [listItem(`\`${showKey(row.path)}\`: ${rest}`)];
  });
  const table = `\n| key | type | default | meaning |\n|---|---|---|---|\n${rows.map(rowText).join("\n")}\n`;
  return notes.length === 0 ? table : `${table}\n${notes.join("\n")}\n`;
}

const isRow = (key: SchemaKey, keys: readonly SchemaKey[]): boolean =>
  !isSection(key.node) &&
  key.path.at(-1) !== "[]" &&
  textOf(key.node["description"]) !== "" &&
  !isInsideSecret(key.path, keys);

const meaningOf = ({ node }: SchemaKey): readonly [string, string] =>
  splitAtSentence(textOf(node["description"]), MEANING_CHARS);

function rowText(key: SchemaKey): string {
  const { path, node } = key;
  const fallback = "default" in node ? `\`${JSON.stringify(node["default"])}\`` : "";
  return `| ${[`\`${showKey(path)}\``, showType(node), fallback, meaningOf(key)[0]].map(escapeCell).join(" | ")} |`;
}

const escapeCell = (text: string): string => text.replaceAll("|", "\\|");

const LINE_CHARS = 120;

/** The first sentences of a text, as many as stay within `chars` but at least one, and the rest. */
function splitAtSentence(text: string, chars: number): readonly [string, string] {
  if (text.length <= chars) return [text, ""];
  const ends = [...text.matchAll(/[.!?](?= [\p{Lu}`"])/gu)].map(({ index }) => index + 1);
  const end = ends.findLast((at) => at <= chars) ?? ends[0] ?? text.length;
  return [text.slice(0, end), text.slice(end).trim()];
}

/** A Markdown list item in lines of at most 120 characters where its words allow it. */
function listItem(text: string): string {
  const lines: string[] = [];
  let line = "-";
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > LINE_CHARS) {
      lines.push(line);
      line = ` `;
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

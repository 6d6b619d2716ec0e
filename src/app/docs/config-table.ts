import type { SchemaKey } from "../config/keys/schema-keys.ts";
import { isInsideSecret, isSection, showKey, showType, textOf } from "./schema-words.ts";

const HEAD = `# Configuration

<!-- Made by \`node --conditions=source src/app/docs/generate.ts\` from the schema: change the schema, not this file. -->

\`~/.openclaw/openclaw.json\` (or \`OPENCLAW_CONFIG_PATH\`) is JSON5: comments, trailing commas and bare keys are fine. Every key
is optional. A key that nobody knows is refused with its line and the nearest known name; one that other gateways of this
family have and this one has not yet is named in a warning. \`openclaw config validate\` says all of it without a start.

**Secrets.** Any text may hold \`\${VARIABLE}\` (\`$\${\` stands for a plain \`\${\`). In place of a secret there may be a reference:
\`{ source: "env", id: "NAME" }\`, \`{ source: "file", id: "~/path" }\` or \`{ source: "exec", id: ["program", "argument"] }\`. A
program is started without a shell, has 5 seconds, and its output without the last line break is the secret. References are
resolved once, when the file is read. One that cannot be resolved stops the start, except below \`enabled: false\`.

**Changes while running.** \`messages\`, \`session\`, \`agents\`, \`tools\`, \`commands\`, \`models\`, \`skills\`, \`logging.level\` and
\`logging.consoleLevel\` hold from the next message on; a change below \`channels.<name>\` restarts that channel; everything else is
named and waits for a restart. A file that has become invalid changes nothing.
`;

/** `docs/config.md`. */
export function configTable(keys: readonly SchemaKey[]): string {
  const sections = keys.filter((key) => key.path.length === 1);
  const parts = sections.map((section) => {
    const rows = keys.filter((key) => key.path[0] === section.path[0] && isRow(key, keys)).map(row);
    const title = `\n## ${textOf(section.node["title"])}: \`${section.path[0]}\`\n\n${textOf(section.node["description"])}\n`;
    return `${title}\n| key | type | default | meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`;
  });
  return [HEAD, ...parts].join("");
}

const isRow = (key: SchemaKey, keys: readonly SchemaKey[]): boolean =>
  !isSection(key.node) &&
  key.path.at(-1) !== "[]" &&
  textOf(key.node["description"]) !== "" &&
  !isInsideSecret(key.path, keys);

function row({ path, node }: SchemaKey): string {
  const fallback = "default" in node ? `\`${JSON.stringify(node["default"])}\`` : "";
  const meaning = `**${textOf(node["title"])}.** ${textOf(node["description"])}`;
  return `| ${[`\`${showKey(path)}\``, showType(node), fallback, meaning].map(escapeCell).join(" | ")} |`;
}

const escapeCell = (text: string): string => text.replaceAll("|", "\\|");

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HARMLESS_KEYS } from "../../src/app/config/keys/narrowing-keys.ts";

const BEGIN = "<!-- Generated from src/app/config/keys/narrowing-keys.ts. -->";
const END = "<!-- End of the generated part. -->";

/** The guide for people who come from OpenClaw, with the keys that look like restrictions and stop nothing. */
export function migrationGuide(root: string): string {
  const page = readFileSync(join(root, "docs/guides/migration.md"), "utf8");
  const [before = "", ...rest] = page.split(BEGIN);
  const [, after = ""] = rest.join(BEGIN).split(END);
  const rows = HARMLESS_KEYS.map(({ keys, why }) => `| ${keys.map(shown).join(", ")} | ${why} |`);
  return `${before}${BEGIN}\n\n| Key | Why |\n|---|---|\n${rows.join("\n")}\n\n${END}${after}`;
}

const shown = (key: string): string => `\`${key.replace("agents.list.*", "agents.list[]")}\``;

import { toolAliases, groupsOf } from "../../src/tools/policy/names.ts";
import { isOwnerOnly, profilesWith } from "../../src/tools/policy/stages.ts";
import { isFields } from "../../src/utils/fields.ts";
import type { BuiltInTool } from "./built-in-tools.ts";

const HEAD = `# Built-in tools

<!-- Generated from the tools' own schemas by \`npm run generate\`. -->

The tools of the gateway itself. [Tool policy](guides/tool-policy.md) says who may use which; plugins and MCP servers add more. A \`*\`
marks a parameter that every call needs. \`tools.allow\` and \`tools.deny\` take the other names too. Without a profile, and with \`full\`, an
agent has every tool of this table. Tokens are an estimate of what the schema of a tool costs in each request: a quarter of its characters.

| Tool | Other names | Group | Profiles | Who | Tokens | Parameters |
|---|---|---|---|---|---|---|
`;

/** \`docs/tools.md\`. */
export function toolTable(tools: readonly BuiltInTool[]): string {
  const sum = (profile: string) =>
    tools.filter(({ name }) => profilesWith(name).includes(profile)).reduce((all, tool) => all + tokensOf(tool), 0);
  const costs = ["minimal", "coding", "messaging"].map((name) => `\`${name}\` ${sum(name)}`).join(", ");
  return `${HEAD}${tools.map(rowOf).join("")}\nTokens of the schemas of a profile: ${costs}.\n`;
}

function rowOf(tool: BuiltInTool): string {
  const { name } = tool;
  const cells = [
    code(name),
    toolAliases(name).map(code).join(", "),
    groupsOf(name).map(code).join(", "),
    profilesWith(name).join(", "),
    isOwnerOnly(name) ? "owners" : "all",
    String(tokensOf(tool)),
    parametersOf(tool).join(", "),
  ];
  return `| ${cells.join(" | ")} |\n`;
}

const code = (text: string): string => `\`${text}\``;

const tokensOf = ({ name, schema }: BuiltInTool): number =>
  Math.ceil((JSON.stringify(schema).length + name.length) / 4);

function parametersOf({ schema: { properties, required } }: BuiltInTool): readonly string[] {
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.keys(isFields(properties) ? properties : {}).map(
    (key) => `${code(key)}${needed.includes(key) ? "*" : ""}`,
  );
}

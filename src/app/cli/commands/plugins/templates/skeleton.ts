import { SDK_VERSION } from "../../../../../plugins/sdk-version.ts";
import type { Template } from "./template.ts";

interface Place {
  readonly id: string;
  /** Absolute path of the plugin's folder. */
  readonly root: string;
  /** Absolute path of this package, which the plugin's tests import. */
  readonly packageRoot: string;
}

/** The files of a new plugin by their paths. */
export function skeletonFiles(template: Template, place: Place): Readonly<Record<string, string>> {
  const { id } = place;
  return {
    "openclaw.plugin.json": json({
      id,
      version: "0.1.0",
      configSchema: { type: "object", additionalProperties: false, properties: {} },
      ...template.manifest({ id }),
    }),
    "package.json": json({
      name: id,
      version: "0.1.0",
      description: template.about({ id }),
      type: "module",
      files: ["index.js", "openclaw.plugin.json"],
      scripts: { test: "vitest run" },
      openclaw: { extensions: ["./index.js"], compat: { pluginApi: `>=${SDK_VERSION}` } },
      devDependencies: { vitest: "^5.1.1" },
    }),
    "index.js": template.entry({ id }),
    "test/contract.test.js": template.test({ id }),
    "README.md": readme(template, place),
  };
}

const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;

const readme = (template: Template, { id, root, packageRoot }: Place): string => `# ${id}

${template.about({ id })}

## Test

The tests import \`openclaw/plugin-sdk/testing\` of the installed gateway; the second command links it.

\`\`\`sh
npm install
npm install --no-save ${JSON.stringify(packageRoot)}
npm test
\`\`\`

A clone of the gateway that was only built has no types for your editor. The archive that \`npm pack\` makes of it has them: install that instead.

## Use

\`\`\`sh
${[`openclaw plugins install -l ${JSON.stringify(root)}`, ...template.enable({ id })].join("\n")}
\`\`\`

\`-l\` uses the folder where it is. A running gateway loads the plugin at once. It loads changed code after a restart.
`;

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { OpenClawError } from "../../../../types/errors.ts";
import { isMissing } from "../../../../utils/missing.ts";
import { packageRoot } from "../../../package-root.ts";
import type { Io } from "../../io.ts";
import { channel } from "./templates/channel.ts";
import { contextEngine } from "./templates/context-engine.ts";
import { hook } from "./templates/hook.ts";
import type { Template } from "./templates/template.ts";
import { tool } from "./templates/tool.ts";
import { SDK_VERSION } from "../../../../plugins/sdk-version.ts";

/** Also a part of names of tools and of npm packages. */
const ID = /^[a-z][a-z0-9-]{0,59}$/;

/** `openclaw plugins init <kind> [dir]`: writes a plugin into a new or empty folder. Throws an `OpenClawError`. */
export async function pluginsInit(io: Io, kind: string, dir = `my-${kind}`): Promise<number> {
  const template = TEMPLATES.find((one) => one.kind === kind);
  if (!template)
    throw new OpenClawError("USAGE", {
      message: `There is no skeleton for plugins of the kind "${kind}".`,
      fix: `Choose one of: ${TEMPLATES.map((one) => one.kind).join(", ")}.`,
    });
  const root = resolve(dir);
  const id = basename(root);
  if (!ID.test(id))
    throw new OpenClawError("USAGE", {
      message: `"${id}" cannot be the id of a new plugin.`,
      fix: "Name the folder with lower case letters, digits and hyphens, a letter first.",
    });
  await refuseFilled(root);
  const files = skeletonFiles(template, { id, root, packageRoot });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text, { flag: "wx" });
  }
  const shown = relative(process.cwd(), root) || ".";
  io.out(
    `Wrote ${shown}: ${Object.keys(files).join(", ")}\nNext: ${join(shown, "README.md")} says how to test and use it.\n`,
  );
  return 0;
}

async function refuseFilled(root: string): Promise<void> {
  const names = await readdir(root).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  if (names.length === 0) return;
  throw new OpenClawError("USAGE", {
    message: `The folder ${root} is not empty.`,
    fix: "Name a new folder: openclaw plugins init <kind> <dir>",
  });
}

/** The kinds of plugins that `openclaw plugins init` writes. */
const TEMPLATES: readonly Template[] = [contextEngine, tool, hook, channel];

interface Place {
  readonly id: string;
  /** Absolute path of the plugin's folder. */
  readonly root: string;
  /** Absolute path of this package, which the plugin's tests import. */
  readonly packageRoot: string;
}

/** The files of a new plugin by their paths. */
function skeletonFiles(template: Template, place: Place): Readonly<Record<string, string>> {
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

The tests import \`openclaw/plugin-sdk/testing\` of the installed gateway; the second command links it under the name \`openclaw\`.

\`\`\`sh
npm install
npm install --no-save ${JSON.stringify(`openclaw@${packageRoot}`)}
npm test
\`\`\`

A clone of the gateway that was only built has no types for your editor. The archive that \`npm pack\` makes of it has them: name that in the second command instead.

## Use

\`\`\`sh
${[`openclaw plugins install -l ${JSON.stringify(root)}`, ...template.enable({ id })].join("\n")}
\`\`\`

\`-l\` uses the folder where it is. A running gateway loads the plugin at once. It loads changed code after a restart.
`;

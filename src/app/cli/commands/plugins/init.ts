import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { OpenClawError } from "../../../../types/errors.ts";
import { isMissing } from "../../../../utils/missing.ts";
import { packageRoot } from "../../../package-root.ts";
import type { Io } from "../../io.ts";
import { skeletonFiles } from "./templates/skeleton.ts";
import { channel } from "./templates/channel.ts";
import { contextEngine } from "./templates/context-engine.ts";
import { hook } from "./templates/hook.ts";
import type { Template } from "./templates/template.ts";
import { tool } from "./templates/tool.ts";

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

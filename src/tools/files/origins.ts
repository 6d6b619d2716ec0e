import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { FileOrigins } from "../../types/memory/file-origins.ts";
import type { Tool, ToolContext, ToolContribution, ToolResult, ToolScene } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { namesIn } from "../exec/exec-names.ts";
import { changedFiles, WRITERS, type ChangedFile } from "./changed-files.ts";

/** Most names of a command or a result that are looked up. */
const MOST_NAMES = 200;

/** The files whose content a call has shown, as it names them. */
const SHOWN: Readonly<Record<string, (input: Readonly<Record<string, unknown>>, text: string) => readonly string[]>> = {
  read: ({ path }) => (typeof path === "string" ? [path] : []),
  grep: (_, text) => [...new Set([...text.matchAll(/^(.+?)[:-]\d+[:-]/gm)].map(([, path = ""]) => path))],
  exec({ command, cwd, workdir = cwd }) {
    const from = typeof workdir === "string" ? workdir : ".";
    const names = typeof command === "string" ? namesIn(command, { home: homedir(), cwd: from }) : [];
    return names.map((name) => (isAbsolute(name) ? name : join(from, name)));
  },
};

/**
 * The same tools; what they change in files is noted with where it is from, and what they show of files that others may have written is
 * untrusted content.
 */
export function notingOrigins(
  contributions: readonly ToolContribution[],
  origins: FileOrigins,
): readonly ToolContribution[] {
  return contributions.map((contribution) => {
    const { name } = contribution;
    if (!WRITERS.has(name) && !Object.hasOwn(SHOWN, name)) return contribution;
    return {
      ...contribution,
      forRun(scene: ToolScene) {
        const tool = contribution.forRun(scene);
        return tool && (WRITERS.has(name) ? noting(tool, scene, origins) : marking(tool, scene, origins));
      },
    };
  });
}

const noting = (tool: Tool, scene: ToolScene, origins: FileOrigins): Tool => ({
  ...tool,
  async run(input, context) {
    const result = await tool.run(input, context);
    const sources = (await context.untrusted?.()) ?? [];
    for (const file of changedFiles(input, result)) {
      const [path, from] = await Promise.all([file.path, file.from].map((one) => placeOf(one, scene, context)));
      if (path === undefined) continue;
      const isWhole = tool.name === "write" || isNew(file);
      await origins.changed({ path, ...(from !== undefined && { from }), isWhole, by: scene.acting, sources });
    }
    return result;
  },
});

const isNew = ({ details, from }: ChangedFile): boolean => details["created"] === true && from === undefined;

const marking = (tool: Tool, scene: ToolScene, origins: FileOrigins): Tool => ({
  ...tool,
  async run(input, context) {
    const result = await tool.run(input, context);
    const { details } = result;
    if (isFields(details?.["externalContent"])) return result;
    const source = await sourceOf(SHOWN[tool.name]?.(isFields(input) ? input : {}, textOf(result)) ?? [], {
      scene,
      context,
      origins,
    });
    return source === undefined
      ? result
      : { ...result, details: { ...details, externalContent: { untrusted: true, source } } };
  },
});

/** The first of the files that has such content. */
async function sourceOf(
  names: readonly string[],
  { scene, context, origins }: { scene: ToolScene; context: ToolContext; origins: FileOrigins },
): Promise<string | undefined> {
  for (const name of names.slice(0, MOST_NAMES)) {
    const path = await placeOf(name, scene, context);
    const from = path === undefined ? undefined : await origins.of(path, scene.acting);
    if (from !== undefined) return `${name} (${from})`;
  }
  return undefined;
}

const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("\n");

/** Undefined for what the run cannot read, or is no path. */
const placeOf = (
  name: string | undefined,
  { files }: ToolScene,
  { workspace }: ToolContext,
): Promise<string | undefined> =>
  name === undefined ? Promise.resolve(undefined) : files.locate(name, workspace, "read").catch(() => undefined);

import { homedir } from "node:os";
import { isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { FileOrigins } from "../../types/memory/file-origins.ts";
import type { Tool, ToolContext, ToolContribution, ToolResult, ToolScene } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { errorResult } from "../define.ts";
import { fileNamesIn } from "../exec/exec-names.ts";
import { changedFiles, WRITERS, type ChangedFile } from "./changed-files.ts";
import { notingCommands } from "./noted-commands.ts";

/** Most names of a command or a result that are looked up. */
const MOST_NAMES = 200;

type Fields = Readonly<Record<string, unknown>>;

const strings = (...values: readonly unknown[]): readonly string[] =>
  values.flat().filter((value) => typeof value === "string");

/** The path of a `file:` address; any other name unchanged. */
function pathIn(name: string): string {
  try {
    return /^file:/i.test(name) ? fileURLToPath(name) : name;
  } catch {
    return name;
  }
}

/** The files whose content a call has shown, with the names in the call, by tool. */
const SHOWN: Readonly<Record<string, (input: Fields, text: string, cwd: string) => readonly string[]>> = {
  read: ({ path }) => strings(path),
  grep: (_, text) => [...new Set([...text.matchAll(/^(.+?)[:-]\d+[:-]/gm)].map(([, path = ""]) => path))],
  image: ({ image, images }) => strings(image, images).map(pathIn),
  pdf: ({ pdf, pdfs }) => strings(pdf, pdfs).map(pathIn),
  memory_get: ({ path }) => strings(path),
  memory_search: (_, text) => [
    ...new Set([...text.matchAll(/"path":\s*"((?:[^"\\]|\\.)+)"/g)].map(([, path = ""]) => path)),
  ],
  exec: ({ command }, _, cwd) => strings(command).flatMap((text) => namesOf(text, cwd)),
};

/**
 * Tools for notes. Each line of a note that a file tool wrote has a known origin, so that only the output of commands
 * marks the whole file.
 */
const OF_LINES: ReadonlySet<string> = new Set(["memory_get", "memory_search"]);

/**
 * The same tools with notes on origins: a change of a file is noted with its sources, and shown content of files with
 * untrusted content is marked as untrusted.
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
        if (name === "exec") return commanding(contribution, scene, origins);
        const tool = contribution.forRun(scene);
        return tool && (WRITERS.has(name) ? noting(tool, scene, origins) : marking(tool, scene, origins));
      },
    };
  });
}

/** The tool for commands, with notes on the files that they write. All calls of a run share the latest context. */
function commanding(contribution: ToolContribution, scene: ToolScene, origins: FileOrigins): Tool | undefined {
  let latest: ToolContext | undefined;
  const inside = notingCommands(scene, origins, {
    sources: async () => (await latest?.untrusted?.()) ?? [],
    named: async (line) =>
      latest && sourceOf(namesOf(line.command, line.cwd), { scene, context: latest, origins, isAnywhere: true }),
  });
  const tool = contribution.forRun(inside);
  const outer = tool && marking(tool, scene, origins);
  return (
    outer && {
      ...outer,
      run(input, context) {
        latest = context;
        return outer.run(input, context);
      },
    }
  );
}

function namesOf(command: string, from: string): readonly string[] {
  const names = fileNamesIn(command, { home: homedir(), cwd: from });
  return names.map((name) => (isAbsolute(name) ? name : join(from, name)));
}

const noting = (tool: Tool, scene: ToolScene, origins: FileOrigins): Tool => ({
  ...tool,
  async run(input, context) {
    // A change of a part keeps the output of a command in the file, and removes the time by which that output is known.
    const before: (string | undefined)[] = [];
    for (const name of partlyChanged(input)) before.push(await sourceOf([name], { scene, context, origins }));
    const source = before.find((one) => one !== undefined);
    const result = await (source === undefined ? tool.run(input, context) : telling(tool, input, { context, source }));
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

/** Runs a call that changes a part of a file. Its error is marked as untrusted, because it quotes lines of the file. */
async function telling(
  tool: Tool,
  input: unknown,
  { context, source }: { readonly context: ToolContext; readonly source: string },
): Promise<ToolResult> {
  try {
    return await tool.run(input, context);
  } catch (error) {
    context.signal.throwIfAborted();
    return errorResult(errorText(error), marked(source));
  }
}

const marked = (source: string) => ({ externalContent: { untrusted: true, source } });

/** The files that a call of `edit` or `apply_patch` is about to change, with the names in the call. */
function partlyChanged(input: unknown): readonly string[] {
  const { path, content, input: patch } = isFields(input) ? input : {};
  if (typeof path === "string") return content === undefined ? [path] : [];
  if (typeof patch !== "string") return [];
  return [...patch.matchAll(/^\*\*\* Update File: (.+)$/gm)].map(([, name = ""]) => name.trim());
}

const isNew = ({ details, from }: ChangedFile): boolean => details["created"] === true && from === undefined;

const marking = (tool: Tool, scene: ToolScene, origins: FileOrigins): Tool => ({
  ...tool,
  async run(input, context) {
    const result = await tool.run(input, context);
    const { details } = result;
    if (isFields(details?.["externalContent"])) return result;
    const names = SHOWN[tool.name]?.(isFields(input) ? input : {}, textOf(result), cwdIn(details, context)) ?? [];
    const asked = OF_LINES.has(tool.name) ? { of: origins.byCommand } : origins;
    const source = await sourceOf(names, { scene, context, origins: asked, isAnywhere: tool.name === "exec" });
    return source === undefined ? result : { ...result, details: { ...details, ...marked(source) } };
  },
});

/** Directory of a command, relative to the workspace if it is inside. */
function cwdIn({ cwd }: Fields = {}, { workspace }: ToolContext): string {
  if (typeof cwd !== "string") return ".";
  return isInside(cwd, workspace) ? relative(workspace, cwd) : cwd;
}

interface Looking {
  readonly scene: ToolScene;
  readonly context: ToolContext;
  readonly origins: Pick<FileOrigins, "of">;
  /** True for commands, which may read files that are closed to file tools. */
  readonly isAnywhere?: boolean;
}

/** Name and source of the first file with untrusted content. */
async function sourceOf(
  names: readonly string[],
  { scene, context, origins, isAnywhere = false }: Looking,
): Promise<string | undefined> {
  for (const name of names.slice(0, MOST_NAMES)) {
    const path = (await placeOf(name, scene, context)) ?? (isAnywhere ? await placeOnDisk(name) : undefined);
    const from = path === undefined ? undefined : await origins.of(path, scene.acting);
    if (from !== undefined) return `${name} (${from})`;
  }
  return undefined;
}

/** The real path of an absolute name. Undefined for a text that is no path, or for a path that does not exist. */
const placeOnDisk = async (name: string): Promise<string | undefined> =>
  isAbsolute(name) ? realOf(name).catch(() => undefined) : undefined;

const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("\n");

/** The real path of a name. Undefined for a file that the run cannot read, and for a text that is no path. */
const placeOf = (
  name: string | undefined,
  { files }: ToolScene,
  { workspace }: ToolContext,
): Promise<string | undefined> =>
  name === undefined ? Promise.resolve(undefined) : files.locate(name, workspace, "read").catch(() => undefined);

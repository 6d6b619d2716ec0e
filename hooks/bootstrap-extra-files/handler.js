import { constants } from "node:fs";
import { glob, open, realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, sep } from "node:path";

const NAMES = new Set([
  "AGENTS.md",
  "SOUL.md",
  "TOOLS.md",
  "IDENTITY.md",
  "USER.md",
  "HEARTBEAT.md",
  "BOOTSTRAP.md",
  "MEMORY.md",
  "CLAUDE.md",
]);
const MOST_FILES = 20;
const MOST_BYTES = 1_000_000;
/** Follows no link, and waits for nobody at a named pipe. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Adds the files that the patterns of the config match. */
export async function addFiles({ context }) {
  const { workspaceDir, bootstrapFiles, cfg } = context;
  const patterns = patternsIn(cfg);
  if (patterns.length === 0) return;
  const root = await realpath(workspaceDir);
  const known = new Set(bootstrapFiles.map(({ path }) => path));
  for (const path of await matching(workspaceDir, patterns)) {
    if (known.has(path)) continue;
    const content = await readInside(path, root);
    if (content !== undefined) bootstrapFiles.push({ name: basename(path), path, content, missing: false });
  }
}

/** Undefined for what is no regular file of the workspace, or is changed meanwhile, as a command in a sandbox may do. */
async function readInside(path, root) {
  const real = await realpath(path);
  if (!isInside(real, root)) return undefined;
  const file = await open(real, FLAGS).catch(() => undefined);
  try {
    const opened = await file?.stat();
    if (opened?.isFile() !== true || opened.size > MOST_BYTES) return undefined;
    const there = await stat(real);
    const isSame = opened.ino === there.ino && opened.dev === there.dev && (await realpath(real)) === real;
    return isSame ? await file.readFile("utf8") : undefined;
  } finally {
    await file?.close();
  }
}

function patternsIn(cfg) {
  const { paths, patterns, files } = cfg?.hooks?.internal?.entries?.["bootstrap-extra-files"] ?? {};
  const given = [paths, patterns, files].find(Array.isArray) ?? [];
  return given.filter((pattern) => typeof pattern === "string" && !isAbsolute(pattern));
}

async function matching(workspaceDir, patterns) {
  const found = new Set();
  const isSkipped = (path) => ["node_modules", ".git"].includes(basename(path));
  for await (const path of glob(patterns, { cwd: workspaceDir, exclude: isSkipped })) {
    if (NAMES.has(basename(path))) found.add(join(workspaceDir, path));
    if (found.size >= MOST_FILES) break;
  }
  return [...found].toSorted((a, b) => (a < b ? -1 : 1));
}

function isInside(path, root) {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

import { glob, readFile, realpath, stat } from "node:fs/promises";
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

/** Adds the files that the patterns of the config match. */
export async function addFiles({ context }) {
  const { workspaceDir, bootstrapFiles, cfg } = context;
  const patterns = patternsIn(cfg);
  if (patterns.length === 0) return;
  const root = await realpath(workspaceDir);
  const known = new Set(bootstrapFiles.map(({ path }) => path));
  for (const path of await matching(workspaceDir, patterns)) {
    if (known.has(path) || !isInside(await realpath(path), root)) continue;
    const facts = await stat(path);
    if (!facts.isFile() || facts.size > MOST_BYTES) continue;
    const content = await readFile(path, "utf8");
    bootstrapFiles.push({ name: basename(path), path, content, missing: false });
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

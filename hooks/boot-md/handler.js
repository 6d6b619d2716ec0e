import { constants } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";

const MOST_CHARS = 20_000;
const MOST_BYTES = 1_000_000;
/** Follows no link, and waits for nobody at a named pipe. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Begins a turn of every agent that has something to do at the start. */
export async function boot({ context }) {
  const { agents, beginTurn } = context;
  for (const { agentId, workspaceDir } of agents) {
    const text = await textOf(join(workspaceDir, "BOOT.md"));
    if (text !== "") await beginTurn({ name: "boot-md", agentId, message: promptFor(text) });
  }
}

const promptFor = (text) =>
  `The gateway has just started. Do what BOOT.md says now. If nobody needs to hear of it, answer NO_REPLY.\n\nBOOT.md:\n${text}`;

/** A command in a sandbox may have put a link there that leads to what it cannot read itself. */
async function textOf(path) {
  try {
    return (await readInside(path)).trim().slice(0, MOST_CHARS).toWellFormed();
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return "";
    throw error;
  }
}

async function readInside(path) {
  const [real, root] = await Promise.all([realpath(path), realpath(join(path, ".."))]);
  const file = await open(real, FLAGS);
  try {
    const opened = await file.stat();
    const there = await stat(real);
    const isSame = opened.ino === there.ino && opened.dev === there.dev && (await realpath(real)) === real;
    if (!isSame || !opened.isFile() || opened.size > MOST_BYTES || !isInside(real, root))
      throw new Error(`${path} was not read: it is no regular file of the workspace of at most ${MOST_BYTES} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function isInside(path, root) {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

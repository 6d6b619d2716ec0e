import { readFile } from "node:fs/promises";
import { join } from "node:path";

const MOST_CHARS = 20_000;

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

async function textOf(path) {
  try {
    return (await readFile(path, "utf8")).trim().slice(0, MOST_CHARS).toWellFormed();
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return "";
    throw error;
  }
}

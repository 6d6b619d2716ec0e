import { readFileSync, renameSync, writeFileSync } from "node:fs";

let read;

/** Reads, and writes back, the rows of sessions and a transcript, as plugins of the field do it by themselves. */
export function actOnFiles({ runtime }, word, { agentId, sessionId, sessionKey }) {
  const { resolveStorePath, loadSessionStore, resolveSessionFilePath } = runtime.agent.session;
  const storePath = resolveStorePath(undefined, { agentId });
  if (word === "store-read") {
    read = loadSessionStore(storePath);
    return `read ${Object.keys(read).length} rows`;
  }
  if (word === "store-write") {
    for (const row of Object.values(read)) Object.assign(row, { totalTokens: 4321, totalTokensFresh: true });
    writeFileSync(storePath, JSON.stringify(read, null, 2));
    return `wrote ${Object.keys(read).length} rows`;
  }
  const file = resolveSessionFilePath(sessionId, loadSessionStore(storePath)[sessionKey], { agentId, storePath });
  if (word === "file") return `file ${file}`;
  if (word === "rotate") return `kept ${rotate(file)} entries`;
  return "recorded";
}

/** Keeps the header and the newest turn of a transcript, under a new file in the old place. */
function rotate(file) {
  const [header, ...entries] = readFileSync(file, "utf8").trim().split("\n");
  const [first, ...rest] = entries.slice(-2);
  const kept = [header, JSON.stringify({ ...JSON.parse(first), parentId: null }), ...rest];
  writeFileSync(`${file}.rotating`, `${kept.join("\n")}\n`);
  renameSync(`${file}.rotating`, file);
  return kept.length - 1;
}

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const USUAL_MESSAGES = 15;
const MOST_MESSAGES = 200;
/** Characters of one message. */
const MOST_CHARS = 4000;
/** Files of one minute. */
const MOST_TRIES = 50;

/** Writes the end of a conversation into the agent's workspace. */
export async function remember({ context, timestamp, sessionKey }) {
  const { workspaceDir, conversation, cfg, sessionId, commandSource } = context;
  if (typeof workspaceDir !== "string" || !Array.isArray(conversation)) return;
  const kept = conversation.slice(-countIn(cfg));
  if (kept.length === 0) return;
  const text = [
    `# Conversation until ${timestamp.toISOString().slice(0, 16).replace("T", " ")} UTC`,
    "",
    `- Session: ${sessionKey}`,
    `- Conversation: ${sessionId ?? "unknown"}`,
    `- Ended in: ${commandSource ?? "unknown"}`,
    "",
    ...kept.map(
      ({ by, name, text: said }) => `${by === "agent" ? "assistant" : (name ?? "user")}: ${shortened(said)}\n`,
    ),
  ].join("\n");
  await keep(join(workspaceDir, "memory"), timestamp.toISOString(), text);
}

function countIn(cfg) {
  const count = cfg?.hooks?.internal?.entries?.["session-memory"]?.messages;
  return Number.isInteger(count) && count > 0 ? Math.min(count, MOST_MESSAGES) : USUAL_MESSAGES;
}

const shortened = (text) => (text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)} […]`.toWellFormed() : text);

/** Never replaces a file. */
async function keep(folder, time, text) {
  const name = `${time.slice(0, 10)}-${time.slice(11, 13)}${time.slice(14, 16)}`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (let at = 1; at <= MOST_TRIES; at++) {
    try {
      await writeFile(join(folder, `${name}${at === 1 ? "" : `-${at}`}.md`), text, { flag: "wx", mode: 0o600 });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
  throw new Error(`${folder} has too many notes of ${name}`);
}

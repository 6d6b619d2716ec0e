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
  const { workspaceDir, heardGuests, sessionId = "unknown", commandSource = "unknown" } = context;
  const { messages, guests } = optionsIn(context);
  const kept = (context.conversation ?? []).slice(-countOf(messages));
  if (kept.length === 0) return;
  // A note is a part of what the agent knows, for everybody.
  if (heardGuests && guests !== true) throw new Error(`not kept: ${WHY}`);
  const text = [
    `# Conversation until ${timestamp.toISOString().slice(0, 16).replace("T", " ")} UTC`,
    "",
    `- Session: ${sessionKey}`,
    `- Conversation: ${sessionId}`,
    `- Ended in: ${commandSource}`,
    "",
    ...kept.map(lineOf),
  ].join("\n");
  await keep(join(workspaceDir, "memory"), timestamp.toISOString(), text);
}

const optionsIn = ({ cfg }) => cfg?.hooks?.internal?.entries?.["session-memory"] ?? {};

const lineOf = ({ by, name = "user", text }) => `${by === "agent" ? "assistant" : name}: ${shortened(text)}\n`;

const WHY =
  "somebody who is no owner has written in the conversation; commands.ownerAllowFrom names the owners, and " +
  "hooks.internal.entries.session-memory.guests: true keeps such conversations too";

const countOf = (count) => (Number.isInteger(count) && count > 0 ? Math.min(count, MOST_MESSAGES) : USUAL_MESSAGES);

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

import { appendFile, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Writes a command down. */
export async function note({ action, sessionKey, timestamp, context }) {
  const folder = join(process.env.OPENCLAW_STATE_DIR ?? join(homedir(), ".openclaw"), "logs");
  const { senderId = "unknown", commandSource: source = "unknown" } = context;
  const line = JSON.stringify({ timestamp: timestamp.toISOString(), action, sessionKey, senderId, source });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await appendFile(join(folder, "commands.log"), `${line}\n`, { mode: 0o600 });
}

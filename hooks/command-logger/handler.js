import { appendFile, mkdir, rename, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Bytes above which the file becomes `commands.log.1`, in place of the one before. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Writes a command down. */
export async function note({ action, sessionKey, timestamp, context }) {
  const folder = join(process.env.OPENCLAW_STATE_DIR ?? join(homedir(), ".openclaw"), "logs");
  const { senderId = "unknown", commandSource: source = "unknown" } = context;
  const line = JSON.stringify({ timestamp: timestamp.toISOString(), action, sessionKey, senderId, source });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "commands.log");
  // There is no file before the first command.
  const before = await stat(file).catch(() => undefined);
  if (before && before.size > MOST_BYTES) await rename(file, `${file}.1`);
  await appendFile(file, `${line}\n`, { mode: 0o600 });
}

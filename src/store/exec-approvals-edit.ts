import { dirname } from "node:path";
import { OpenClawError } from "../types/errors.ts";
import { isFields, type Fields } from "../utils/fields.ts";
import { makePrivateDir, removeUnfinished, writeAtomic } from "./disk.ts";
import { parseApprovals, readApprovalsFile, type ReadApprovals } from "./exec-approvals-read.ts";
import { lockFile } from "./lock/lock-file.ts";

/** The document as it is in the file, with everything in it that this gateway does not know. */
export type RawApprovals = Fields & { readonly version?: unknown };

/** The document while there is no file. */
export const EMPTY: RawApprovals = { version: 1 };

/** Most times that an edit is repeated because another program wrote the file meanwhile. */
const MOST_TRIES = 5;

/** The document in the file, and an empty one while there is no file. Throws `OpenClawError` APPROVALS_UNUSABLE. */
export function approvalsNow(path: string): RawApprovals {
  const found = readApprovalsFile(path);
  if (found.kind === "broken") throw unusable(path, found);
  return found.kind === "missing" ? EMPTY : rawOf(found.text);
}

/**
 * Changes `exec-approvals.json` under its lock, in one step and with mode 0600. `edit` gets the current document and returns
 * the new one, or the same to change nothing; it is called again when another program wrote the file in between. Waits
 * `patienceMs` for other programs that hold the lock, 45 s when unset. Throws `OpenClawError` APPROVALS_UNUSABLE when the file
 * or the new document cannot be used (the file then stays as it is), APPROVALS_CHANGED when others write it again and
 * again, DISK_FULL or DISK_WRITE.
 */
export async function editApprovals(
  path: string,
  edit: (document: RawApprovals) => RawApprovals,
  patienceMs?: number,
): Promise<void> {
  await makePrivateDir(dirname(path));
  const unlock = await lockFile(path, patienceMs);
  try {
    await removeUnfinished(path);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      if (await editOnce(path, edit)) return;
    }
    throw changed(path);
  } finally {
    await unlock();
  }
}

/** False when another program wrote the file in between. */
async function editOnce(path: string, edit: (document: RawApprovals) => RawApprovals): Promise<boolean> {
  const found = readApprovalsFile(path);
  if (found.kind === "broken") throw unusable(path, found);
  const before = found.kind === "missing" ? EMPTY : rawOf(found.text);
  const after = edit(before);
  if (after === before) return true;
  const text = `${JSON.stringify(after, null, 2)}\n`;
  const made = parseApprovals(text);
  if (made.kind === "broken") throw unusable("The new document", made);
  const isSame = async () => {
    const now = readApprovalsFile(path);
    return now.kind === found.kind && (now.kind !== "read" || found.kind !== "read" || now.text === found.text);
  };
  return writeAtomic(path, text, isSame);
}

function rawOf(text: string): RawApprovals {
  const content: unknown = JSON.parse(text);
  return isFields(content) ? content : EMPTY;
}

const unusable = (what: string, { why }: Extract<ReadApprovals, { kind: "broken" }>): OpenClawError =>
  new OpenClawError("APPROVALS_UNUSABLE", {
    message: `${what} cannot be used as approvals of commands: ${why}.`,
    fix: "Correct it, or remove exec-approvals.json; until then every command is asked about.",
  });

const changed = (path: string): OpenClawError =>
  new OpenClawError("APPROVALS_CHANGED", {
    message: `Another program changes ${path} all the time, so nothing was written.`,
    fix: "Find the program that writes exec-approvals.json without its lock, and stop it.",
  });

import { createHash } from "node:crypto";
import type { ShownApprovals } from "../types/answers/approvals.ts";
import { OpenClawError } from "../types/errors.ts";
import { approvalsNow, editApprovals, EMPTY, type RawApprovals } from "./exec-approvals-edit.ts";

/** Throws `OpenClawError` APPROVALS_UNUSABLE. */
export function shownApprovals(path: string): ShownApprovals {
  const document = approvalsNow(path);
  return shown(path, document, document !== EMPTY);
}

/** How a document is replaced. */
export interface Replacing {
  /** The hash that the file must have. */
  readonly baseHash?: string | undefined;
  /** Milliseconds to wait for other programs that write the file. */
  readonly patienceMs?: number;
}

/**
 * Replaces the document. `socket` stays as the file has it. Throws `OpenClawError` APPROVALS_UNUSABLE when the new document is
 * not valid, APPROVALS_CHANGED when the file has another hash than `baseHash`, and as `editApprovals` does; the file then stays
 * as it is.
 */
export async function replaceApprovals(
  path: string,
  { socket: _given, ...rest }: RawApprovals,
  { baseHash, patienceMs }: Replacing,
): Promise<ShownApprovals> {
  let written: RawApprovals = rest;
  const edit = (before: RawApprovals) => {
    if (baseHash !== undefined && baseHash.toLowerCase() !== hashOf(before)) throw otherHash(path);
    const { socket } = before;
    written = { ...rest, ...(socket !== undefined && { socket }) };
    return written;
  };
  await editApprovals(path, edit, patienceMs);
  return shown(path, written, true);
}

function shown(path: string, document: RawApprovals, exists: boolean): ShownApprovals {
  const { socket: _socket, ...file } = document;
  return { path, exists, hash: hashOf(document), file };
}

/** Hash of the shown document only: a hash with the token in it would help to guess the token. */
const hashOf = ({ socket: _socket, ...shownPart }: RawApprovals): string =>
  createHash("sha256").update(JSON.stringify(shownPart)).digest("hex");

const otherHash = (path: string): OpenClawError =>
  new OpenClawError("APPROVALS_CHANGED", {
    message: `${path} does not have the base hash that the change names, so nothing was written.`,
    fix: "Read it again with openclaw approvals get --json, and repeat the change.",
  });

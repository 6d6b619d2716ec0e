import { closeSync, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { ZodError } from "zod";
import { execApprovals, type ExecApprovals } from "../tools/exec/rules/document.ts";
import { errorCode, isMissing } from "../utils/missing.ts";
import { READ_NO_FOLLOW } from "../utils/read-regular.ts";
import { errorText } from "../utils/text/error-text.ts";

/** Content of `exec-approvals.json`, as the file is now. */
export type ReadApprovals =
  | { readonly kind: "read"; readonly text: string; readonly document: ExecApprovals }
  | { readonly kind: "broken"; readonly why: string }
  | { readonly kind: "missing" };

const MOST_BYTES = 16 * 1_048_576;
const TOO_LARGE = `it is larger than ${MOST_BYTES / 1_048_576} MB`;
const WRITABLE_BY_OTHERS = 0o022;

/** Reads the file. Follows no link, since the file decides what runs. Never throws. */
export function readApprovalsFile(path: string): ReadApprovals {
  try {
    return parseApprovals(textOf(path));
  } catch (error) {
    if (isMissing(error)) return { kind: "missing" };
    return { kind: "broken", why: errorCode(error) === "ELOOP" ? "it is a link" : errorText(error) };
  }
}

/** Reads the text of `exec-approvals.json`. Never throws. */
export function parseApprovals(text: string): ReadApprovals {
  if (Buffer.byteLength(text) > MOST_BYTES) return { kind: "broken", why: TOO_LARGE };
  try {
    const content: unknown = JSON.parse(text);
    return { kind: "read", text, document: execApprovals.parse(content) };
  } catch (error) {
    return { kind: "broken", why: problemIn(error) };
  }
}

function textOf(path: string): string {
  const file = openSync(path, READ_NO_FOLLOW);
  try {
    const why = whyUnsafe(fstatSync(file));
    if (why !== undefined) throw new Error(why);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Why nobody should trust the content of a file. */
function whyUnsafe(facts: Stats): string | undefined {
  const { uid, mode, size } = facts;
  if (!facts.isFile()) return "it is no regular file";
  if (size > MOST_BYTES) return TOO_LARGE;
  // Windows has neither users nor modes of this kind.
  if (process.getuid === undefined) return undefined;
  if (uid !== process.getuid() && uid !== 0) return `it belongs to another user (${uid})`;
  return (mode & WRITABLE_BY_OTHERS) === 0 ? undefined : "other users can write it; set its mode to 600";
}

function problemIn(error: unknown): string {
  const [issue] = error instanceof ZodError ? error.issues : [];
  return issue ? `${issue.path.join(".")}: ${issue.message}` : errorText(error);
}

import { errorCode } from "../utils/missing.ts";
import { cleanText } from "../utils/text/clean-text.ts";

const MOST_PATH = 200;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  ENOTDIR: "a part of the path is no directory",
  EISDIR: "it is a directory",
  EACCES: "the gateway may not use it",
  EPERM: "the system does not allow it",
  EEXIST: "something is there already",
  ENOTEMPTY: "the directory is not empty",
  ELOOP: "it leads through too many links",
  ENAMETOOLONG: "the name or path is too long",
  EROFS: "it can only be read",
  EXDEV: "it lies on another file system",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  EMFILE: "the gateway has too many open files; try again",
  ENFILE: "the machine has too many open files; try again",
  EAGAIN: "the machine has no room for another process; try again",
  ENOMEM: "the machine has too little memory; try again",
  E2BIG: "the command is too long; write it into a file",
  EBUSY: "another program uses it",
  ETXTBSY: "another program uses it",
};

/**
 * A refusal of the system as one sentence for a model; undefined for any other error. Node's own text names system calls, and repeats
 * paths and arguments at any length.
 */
export function systemText(error: unknown): string | undefined {
  const code = errorCode(error) ?? "";
  if (code === "ERR_INVALID_ARG_VALUE" && error instanceof Error && error.message.includes("null bytes"))
    return "A command, path or variable has a NUL character, which the system does not take. Write it without.";
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  const path = "path" in error && typeof error.path === "string" ? cleanText(error.path, MOST_PATH) : undefined;
  const reason = REASONS[code] ?? (path === undefined ? undefined : `the system refused it (${code})`);
  return reason === undefined ? undefined : `${path ?? "The system refused it"}: ${reason}.`;
}

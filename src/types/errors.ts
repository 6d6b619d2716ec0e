import { errorText } from "../utils/text/error-text.ts";
/**
 * Errors that the operator must correct. Each code is in `docs/reference/errors.md` with its cause and fix (a test
 * compares both). `exit` is the process's exit code when the error reaches the command line: 1 failed, 2 usage, 75 try
 * again, 78 configuration.
 */
export const ERROR_CODES = {
  CONFIG_SYNTAX: { exit: 78 },
  CONFIG_INVALID: { exit: 78 },
  CONFIG_UNREADABLE: { exit: 78 },
  CONFIG_WRITE: { exit: 1 },
  SECRET_MISSING: { exit: 78 },
  STATE_LOCKED: { exit: 78 },
  STATE_UNWRITABLE: { exit: 78 },
  STATE_PERMISSIONS: { exit: 78 },
  ACCESS_DENIED: { exit: 78 },
  WRONG_FILE_KIND: { exit: 78 },
  WORKSPACE_UNUSABLE: { exit: 78 },
  JOURNAL_NEWER: { exit: 78 },
  JOURNAL_OLDER: { exit: 78 },
  JOURNAL_BROKEN: { exit: 78 },
  DISK_FULL: { exit: 75 },
  DISK_WRITE: { exit: 75 },
  SESSIONS_UNREADABLE: { exit: 1 },
  TRANSCRIPT_NEWER: { exit: 1 },
  TRANSCRIPT_BROKEN: { exit: 1 },
  TRANSCRIPT_DAMAGED: { exit: 1 },
  APPROVALS_UNUSABLE: { exit: 78 },
  APPROVALS_CHANGED: { exit: 75 },
  PORT_IN_USE: { exit: 78 },
  BIND_REFUSED: { exit: 78 },
  GATEWAY_UNREACHABLE: { exit: 75 },
  GATEWAY_UNAUTHORIZED: { exit: 78 },
  GATEWAY_BUSY: { exit: 75 },
  CHANNEL_CONFIG: { exit: 78 },
  CHANNEL_AUTH: { exit: 78 },
  CHANNEL_LIBRARY: { exit: 75 },
  CHANNEL_MISSING: { exit: 2 },
  MODEL_UNKNOWN: { exit: 78 },
  MODEL_KEY_MISSING: { exit: 78 },
  MODEL_SILENT: { exit: 1 },
  MCP_LOGIN: { exit: 78 },
  ENGINE_MISSING: { exit: 78 },
  ENGINE_UNUSABLE: { exit: 78 },
  PLUGIN_INVALID: { exit: 1 },
  PLUGIN_UNSAFE: { exit: 1 },
  PLUGIN_BLOCKED: { exit: 1 },
  PLUGIN_FETCH: { exit: 75 },
  PLUGIN_HANGS: { exit: 1 },
  PLUGIN_CRASHES: { exit: 1 },
  PLUGIN_TIMEOUT: { exit: 1 },
  MEDIA_UNAVAILABLE: { exit: 1 },
  MEDIA_TOO_LARGE: { exit: 1 },
  SERVICE_UNSUPPORTED: { exit: 78 },
  SERVICE_MISSING: { exit: 1 },
  SERVICE_FOREIGN: { exit: 78 },
  SERVICE_FAILED: { exit: 1 },
  BACKUP_REFUSED: { exit: 2 },
  BACKUP_LOCKED: { exit: 1 },
  BACKUP_UNSOUND: { exit: 1 },
  UPDATE_REFUSED: { exit: 78 },
  UPDATE_BUSY: { exit: 75 },
  UPDATE_FETCH: { exit: 75 },
  UPDATE_FAILED: { exit: 1 },
  NODE_TOO_OLD: { exit: 78 },
  USAGE: { exit: 2 },
  NOT_FOUND: { exit: 1 },
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** An error for a person: what happened, and what to do about it, a sentence each. */
export class OpenClawError extends Error {
  override readonly name = "OpenClawError";
  readonly code: ErrorCode;
  readonly fix: string;

  constructor(code: ErrorCode, problem: { message: string; fix: string; cause?: unknown }) {
    super(problem.message, problem.cause === undefined ? undefined : { cause: problem.cause });
    this.code = code;
    this.fix = problem.fix;
  }
}

/** One text after another. A fix that ends with a command has no full stop. */
export const sentences = (first: string, second: string): string =>
  `${first}${/[.!?:]$/.test(first) ? "" : "."} ${second}`;

/** Message of an error, with the fix where the error has one. */
export function withFix(error: unknown): string {
  if (error instanceof OpenClawError) return `${error.message} ${error.fix}`;
  return errorText(error);
}

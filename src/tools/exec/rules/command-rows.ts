import { createHash, randomUUID } from "node:crypto";
import { trimCommand } from "../plan/shell-words.ts";
import type { Allowance } from "./exec-allowance.ts";
import type { ExecRow } from "./document.ts";

const DIGITS = 16;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The pattern of a row that is for exactly this text. */
export const commandPattern = (command: string): string => `=command:${sha256(trimCommand(command)).slice(0, DIGITS)}`;

/** A command that an owner allowed permanently. */
interface Allowed {
  readonly command: string;
  readonly cwd: string;
  /** See `Allowance.key`. */
  readonly key: string;
  /** The owner (`channel:id`) who allowed the command, or `operator`. */
  readonly by: string;
  /** Epoch milliseconds of the allowance. */
  readonly at: number;
}

/**
 * The row for a command that was allowed permanently. `binding` is the whole SHA-256 of the allowance, where the
 * pattern has 16 digits of the text's.
 */
export const execRowOf = ({ command, cwd, key, by, at }: Allowed): ExecRow => ({
  id: randomUUID(),
  pattern: commandPattern(command),
  source: "allow-always",
  commandText: trimCommand(command),
  cwd,
  binding: sha256(key),
  givenBy: by,
  lastUsedAt: at,
  lastUsedCommand: trimCommand(command),
});

/**
 * The rows for a command. A row with a binding is for its directory and the content of its files too. A row without
 * one, which another program wrote, is for the text alone, so it allows no command whose files could have changed.
 * Pure.
 */
export function rowsForCommand(rows: readonly ExecRow[], allowance: Allowance): readonly ExecRow[] {
  const pattern = commandPattern(allowance.command);
  const binding = sha256(allowance.key);
  return rows.filter((row) => {
    if (row.pattern !== pattern || (row.cwd !== undefined && row.cwd !== allowance.cwd)) return false;
    if (row.commandText !== undefined && trimCommand(row.commandText) !== trimCommand(allowance.command)) return false;
    return row.binding === undefined ? !allowance.isBound : row.binding === binding;
  });
}

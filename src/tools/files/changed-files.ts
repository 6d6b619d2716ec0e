import type { ToolResult } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";

/** Tools that change files and list these files in their details. */
export const WRITERS: ReadonlySet<string> = new Set(["write", "edit", "apply_patch"]);

/** A file that a call has changed. */
export interface ChangedFile {
  /** The path in the call. */
  readonly path: string;
  /** The path before a move; unset when the file was not moved. */
  readonly from?: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * The files that a call of one of the writers has changed. `apply_patch` lists its files; a step that moves a file has
 * the new path in `to`.
 */
export function changedFiles(input: unknown, { details = {} }: ToolResult): readonly ChangedFile[] {
  if (details["changed"] !== true) return [];
  const files = details["files"];
  if (Array.isArray(files)) return files.flatMap((file: unknown) => stepOf(file) ?? []);
  const path = isFields(input) ? input["path"] : undefined;
  return typeof path === "string" ? [{ path, details }] : [];
}

/** A file of a patch's details. A failed patch lists its completed steps as texts. */
function stepOf(file: unknown): ChangedFile | undefined {
  const step = isFields(file) ? file : stepIn(String(file));
  const { path, to } = step;
  if (typeof path !== "string") return undefined;
  return typeof to === "string" ? { path: to, from: path, details: step } : { path, details: step };
}

function stepIn(text: string): Readonly<Record<string, unknown>> {
  const [, path, to] = /^[AMD] (.*?)(?: -> (.*))?$/s.exec(text) ?? [];
  return { path, to };
}

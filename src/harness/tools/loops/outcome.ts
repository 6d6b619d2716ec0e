import { createHash } from "node:crypto";
import { isFields, type Fields } from "../../../utils/fields.ts";
import type { ToolResultMessage } from "../../../types/run/model.ts";

/** Parts of a text that differ from call to call although nothing has changed. */
const VOLATILE: readonly RegExp[] = [
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?/g,
  /\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?/g,
  // Epoch seconds and milliseconds.
  /\b1\d{9}(?:\d{3})?\b/g,
  /\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|mins?|minutes?)\b/gi,
  /\bpid\b["' :=#]{0,4}\d+/gi,
  /\b(?:attempt|retry|try)\b["' :=#]{0,4}\d+/gi,
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  /\b(?:message|msg|marker|run|call|request|approval)[_ -]?id["' :=#]{1,4}[\w-]{1,64}/gi,
  // The note of `exec` about the processes that a command left behind.
  /\[Still running [^\]]*\]?/g,
];

const sha = (text: string): string => createHash("sha256").update(text).digest("base64");

/** The identity of a call: its tool and arguments, whatever the order of their keys. */
export const callKey = (tool: string, args: unknown): string => sha(JSON.stringify([tool, sorted(args)]));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isFields(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, inner]) => [key, sorted(inner)]);
}

/** Details of a result that say how a command or process ended. */
const STATES = ["status", "exitCode", "timedOut", "because"];

/**
 * The outcome of a call: its result without times, durations and ids. Two calls with the same outcome made no progress.
 * Pure.
 */
export function callOutcome({
  content,
  details,
  isError,
}: Pick<ToolResultMessage, "content" | "details" | "isError">): string {
  const facts: Fields = isFields(details) ? details : {};
  if (facts["changed"] === false) return "unchanged";
  const parts = content.map((part) => (part.type === "text" ? lasting(part.text) : sha(part.data)));
  return sha(JSON.stringify([isError, STATES.map((name) => facts[name] ?? null), parts]));
}

const lasting = (text: string): string => VOLATILE.reduce((rest, pattern) => rest.replaceAll(pattern, "…"), text);

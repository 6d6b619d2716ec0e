import type { ToolResult } from "../../types/run/tool.ts";
import { describeCause } from "../exec/command-end.ts";
import { textResult } from "../define.ts";
import type { BackgroundProcess } from "./background-process.ts";

const LOG_LINES = 200;

/** A sentence about a process. */
export const said = (one: BackgroundProcess, text: string): ToolResult =>
  textResult(text, { status: one.status, sessionId: one.id });

export function listResult(all: readonly BackgroundProcess[]): ToolResult {
  const now = Date.now();
  const rows = all.map((one) => rowOf(one, now));
  const lines = rows.map(
    ({ sessionId, status, runtimeMs, name, waitingForInput }) =>
      `${sessionId} ${status} ${Math.round(runtimeMs / 1000)}s ${name}${waitingForInput ? " [may be waiting for input]" : ""}`,
  );
  return textResult(lines.length === 0 ? "No command runs in the background." : lines.join("\n"), { sessions: rows });
}

function rowOf(one: BackgroundProcess, now: number) {
  const { command, cwd, startedAt, running } = one.of;
  const { output } = running;
  const text = output.text();
  return {
    sessionId: one.id,
    name: one.name,
    status: one.status,
    pid: running.pid,
    startedAt,
    runtimeMs: (one.endedAt ?? now) - startedAt,
    cwd,
    command,
    tail: one.tail(),
    truncated: output.size > text.length,
    stdinWritable: one.isInputOpen,
    waitingForInput: one.isWaiting(now),
    idleMs: now - output.lastAt,
    ...endDetails(one),
  };
}

function endDetails({ end, endedAt }: BackgroundProcess) {
  if (end === undefined) return {};
  return { exitCode: end.code, timedOut: end.because === "timeout", ...(endedAt !== undefined && { endedAt }) };
}

/** The output since the last poll, and how the process is. */
export function pollResult(one: BackgroundProcess): ToolResult {
  const { text, skipped } = one.drain();
  const isRunning = one.status === "running";
  const cut = skipped > 0 ? `[${skipped} characters before this are left out; log shows more.]\n` : "";
  // Unchanged, line end included: the next poll continues it.
  const shown = text === "" ? "[no new output]" : text;
  return textResult(`${cut}${shown}\n\n${stateOf(one)}`, {
    status: one.status,
    sessionId: one.id,
    pid: one.of.running.pid,
    ...(isRunning && { retryInMs: one.retryInMs, waitingForInput: one.isWaiting(Date.now()) }),
    ...endDetails(one),
  });
}

function stateOf(one: BackgroundProcess): string {
  if (one.end === undefined && one.status === "running") {
    const waits = one.isWaiting(Date.now()) ? " It may be waiting for input." : "";
    return `[Still running.${waits} Poll again in ${one.retryInMs / 1000} seconds, or with a timeout.]`;
  }
  if (one.end === undefined || one.status === "killed") return "[killed]";
  const { file } = one.end.output;
  const whole = file === undefined ? "" : `\n[All of its output is in ${file}.]`;
  return `${describeCause(one.end, one.of.timeoutMs)}${whole}`;
}

/** Lines of the output that is kept: the last ones, or those from an offset on. */
export function logResult(
  one: BackgroundProcess,
  { offset, limit = LOG_LINES }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): ToolResult {
  const { output } = one.of.running;
  const text = output.text();
  const lines = text.replace(/\n$/, "").split("\n");
  const total = text === "" ? 0 : lines.length;
  const from = offset ?? Math.max(0, total - limit);
  const shown = lines.slice(from, from + limit);
  const isCut = output.size > text.length;
  const kept = isCut ? ` of the last ${text.length} characters` : "";
  const range = shown.length === 0 || total === 0 ? "no lines" : `lines ${from} to ${from + shown.length - 1}`;
  return textResult(`${total === 0 ? "" : shown.join("\n")}\n\n[${range}${kept}; ${total} in all; ${one.status}]`, {
    status: one.status,
    sessionId: one.id,
    total,
    totalLines: total,
    totalChars: output.size,
    truncated: isCut,
    ...endDetails(one),
  });
}

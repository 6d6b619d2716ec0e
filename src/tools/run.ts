import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import type { Log } from "../types/log.ts";
import type { ApprovalDesk, Tool, ToolContext, ToolResult } from "../types/run/tool.ts";
import { isFields, type Fields } from "../utils/fields.ts";
import { shorten } from "../utils/text/shorten.ts";
import { errorResult } from "./define.ts";
import { capped, contentIn, shortened } from "./result-text.ts";
import { errorCode } from "../utils/missing.ts";
import { cleanText } from "../utils/text/clean-text.ts";

/** Milliseconds after an abort in which a tool may still return its result. */
const GRACE_MS = 500;
/** Time limit in milliseconds of one call, for tools that set none. */
const MOST_MS = 30 * 60_000;

/** Most characters of a text about wrong arguments, which may repeat a part of them. */
const MOST_ISSUES = 2000;

function describeIssues(error: z.ZodError): string {
  const issues = error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`);
  return shorten(issues.join("; "), MOST_ISSUES);
}

function message(error: unknown): string {
  return systemText(error) ?? (error instanceof Error && error.message !== "" ? error.message : String(error));
}

// A plugin's tool may return anything; an invalid result must not end the run, and the other parts must survive a bad
// one.
function checkedResult(tool: Tool, result: unknown, mostChars: number | undefined): ToolResult {
  const content = isFields(result) ? contentIn(result["content"]) : undefined;
  if (!isFields(result) || !content) return errorResult(`The tool ${tool.name} returned no usable result.`);
  const { details } = result;
  return {
    content: capped(shortened(content, mostChars), mostChars),
    ...(result["isError"] === true ? { isError: true } : {}),
    ...(isFields(details) ? { details: boundedDetails(details) } : {}),
    ...(result["endsTurn"] === true ? { endsTurn: true } : {}),
  };
}

async function attempt(tool: Tool, input: unknown, { log: _log, ...context }: CallContext): Promise<ToolResult> {
  try {
    return checkedResult(tool, await tool.run(input, context), context.mostChars);
  } catch (error) {
    return errorResult(context.signal.aborted ? "Aborted." : message(error));
  }
}

/**
 * Resolves when the signal has been aborted for the time of grace; never without an abort. Logs a tool that still runs
 * then.
 */
async function overdue(tool: Tool, { signal, log, callId }: CallContext, call: Call): Promise<ToolResult> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true, signal: call.done });
  await promise;
  await delay(GRACE_MS, undefined, { ref: false });
  if (call.done.aborted) return errorResult("Aborted.");
  const why = call.isLate() ? "its time was over" : "it was aborted";
  log?.warn("tool abandoned: it did not end", { tool: tool.name, callId, why });
  return errorResult(`Aborted. The tool ${tool.name} did not end after ${why}; it may still be running.`, {
    abandoned: true,
  });
}

interface Call {
  /** Aborted when the call has its result. */
  readonly done: AbortSignal;
  readonly isLate: () => boolean;
}

export interface CallContext extends ToolContext {
  /** Log for a tool that does not end. */
  readonly log?: Pick<Log, "warn"> | undefined;
}

/** Ends a call after its time limit; the time in which a person is asked does not count. */
class CallTimer {
  readonly #late = new AbortController();
  #leftMs: number;
  #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** `ms` is 0 for a call without a limit. */
  constructor(ms: number) {
    this.#leftMs = ms;
    this.#start();
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  /** Stops the timer for good. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The desk, whose questions stop the timer until they are answered. */
  pausing(desk: ApprovalDesk): ApprovalDesk {
    return {
      ask: async (question, signal) => {
        const isRunning = this.#timer !== undefined;
        this.stop();
        this.#leftMs -= isRunning ? performance.now() - this.#startedAt : 0;
        try {
          return await desk.ask(question, signal);
        } finally {
          if (isRunning) this.#start();
        }
      },
    };
  }

  #start(): void {
    if (this.#leftMs <= 0) return;
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => this.#late.abort(), this.#leftMs).unref();
  }
}

/** The arguments in the tool's form, or the reason why they do not fit. */
function inputOf(tool: Tool, given: unknown): { readonly data: unknown } | { readonly refused: string } {
  try {
    const { data, error } = tool.input.safeParse(tool.prepare ? tool.prepare(given) : given);
    return error ? { refused: `The arguments for ${tool.name} do not fit. ${describeIssues(error)}` } : { data };
  } catch (error) {
    return { refused: message(error) };
  }
}

/**
 * Calls a tool. Never rejects: an invalid input, a throw and a result without content become error results that the
 * model can act on. Resolves at most 500 ms after `context.signal` aborts or the tool's time is over, and drops each
 * later `update`. The result and the log name a tool that does not end.
 */
export async function runTool(tool: Tool, rawInput: unknown, context: CallContext): Promise<ToolResult> {
  const input = inputOf(tool, rawInput ?? {});
  if ("refused" in input) return errorResult(input.refused);
  if (context.signal.aborted) {
    return errorResult("Aborted.");
  }
  const done = new AbortController();
  const timer = new CallTimer(tool.timeoutMs ?? MOST_MS);
  const update = (partial: string): void => {
    if (!done.signal.aborted) {
      context.update(partial);
    }
  };
  const signal = AbortSignal.any([context.signal, timer.signal]);
  const own = { ...context, update, signal, approvals: timer.pausing(context.approvals) };
  try {
    const result = await Promise.race([
      attempt(tool, input.data, own),
      overdue(tool, own, { done: done.signal, isLate: () => timer.signal.aborted }),
    ]);
    return timer.signal.aborted ? late(tool, result) : result;
  } finally {
    done.abort();
    timer.stop();
  }
}

/** The result of a call whose time was over. */
const late = (tool: Tool, result: ToolResult): ToolResult => ({
  ...result,
  isError: true,
  content: [
    ...result.content,
    { type: "text", text: `[The tool ${tool.name} was ended after ${(tool.timeoutMs ?? MOST_MS) / 1000} seconds.]` },
  ],
});

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
 * A refusal of the system as one sentence for a model; undefined for any other error. Node's own text names system
 * calls, and repeats paths and arguments at any length.
 */
function systemText(error: unknown): string | undefined {
  const code = errorCode(error) ?? "";
  if (code === "ERR_INVALID_ARG_VALUE" && error instanceof Error && error.message.includes("null bytes"))
    return "A command, path or variable has a NUL character, which the system does not take. Write it without.";
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  const path = "path" in error && typeof error.path === "string" ? cleanText(error.path, MOST_PATH) : undefined;
  const reason = REASONS[code] ?? (path === undefined ? undefined : `the system refused it (${code})`);
  return reason === undefined ? undefined : `${path ?? "The system refused it"}: ${reason}.`;
}

/** Most characters of a result's details as JSON, and of one text in details above that limit. */
const MOST_CHARS = 64_000;
const MOST_TEXT = 4000;
/** Most characters of the name of a source. */
const MOST_NAME = 200;

const sizeOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

/**
 * The details of a result for the transcript. Details that are too large lose their largest parts and have
 * `persistedDetailsTruncated`; values that cannot be written as JSON are left out.
 */
function boundedDetails(details: Fields): Record<string, unknown> {
  try {
    if (sizeOf(details) <= MOST_CHARS) return details;
  } catch {
    // A tool of a plugin may return values that JSON does not have: only the values that JSON has are kept.
  }
  const entries = Object.entries(details).flatMap(([key, value]) => keptEntry(key, value));
  const kept: Record<string, unknown> = { persistedDetailsTruncated: true };
  let left = MOST_CHARS;
  for (const { key, value, size } of entries.toSorted((a, b) => a.size - b.size)) {
    // The quotes, the colon and the comma.
    left -= size + key.length + 4;
    if (left < 0) break;
    kept[key] = value;
  }
  return { ...kept, ...markIn(details) };
}

/** The mark of untrusted content without its other fields: questions to people depend on the mark. */
function markIn({ externalContent: external }: Fields): Record<string, unknown> {
  if (!isFields(external) || external["untrusted"] !== true) return {};
  const { source, provider } = external;
  const short = (text: unknown) => (typeof text === "string" ? text.slice(0, MOST_NAME).toWellFormed() : undefined);
  return { externalContent: { untrusted: true, source: short(source), provider: short(provider) } };
}

function keptEntry(key: string, value: unknown) {
  const short = typeof value === "string" ? value.slice(0, MOST_TEXT).toWellFormed() : value;
  try {
    return [{ key, value: short, size: sizeOf(short) }];
  } catch {
    // JSON does not have this value.
    return [];
  }
}

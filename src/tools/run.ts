import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import type { Log } from "../types/log.ts";
import type { ApprovalDesk, Tool, ToolContext, ToolResult } from "../types/run/tool.ts";
import { isFields } from "../utils/fields.ts";
import { shorten } from "../utils/text/shorten.ts";
import { errorResult } from "./define.ts";
import { boundedDetails } from "./result-details.ts";
import { systemText } from "./system-text.ts";
import { capped, contentIn, shortened } from "./result-text.ts";

/** Milliseconds after an abort in which a tool may still return its result. */
const GRACE_MS = 500;
/** Milliseconds of one call, for tools that do not say how long they may take. */
const MOST_MS = 30 * 60_000;

/** Characters of what is wrong with arguments, which may repeat a part of them. */
const MOST_ISSUES = 2000;

function describeIssues(error: z.ZodError): string {
  const issues = error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`);
  return shorten(issues.join("; "), MOST_ISSUES);
}

function message(error: unknown): string {
  return systemText(error) ?? (error instanceof Error && error.message !== "" ? error.message : String(error));
}

// A plugin's tool may return anything; an invalid result must not end the run, and one bad part must not cost the others.
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

/** Resolves once the signal has been aborted for the time of grace; never when it is not. */
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
  /** Is told of a tool that does not end. */
  readonly log?: Pick<Log, "warn"> | undefined;
}

/** Ends a call after its time; the time in which a person is asked does not count. */
class CallTimer {
  readonly #late = new AbortController();
  #leftMs: number;
  #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** 0 for a call that may take any time. */
  constructor(ms: number) {
    this.#leftMs = ms;
    this.#start();
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  /** Stops for good. */
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

/** The arguments as the tool takes them, or why it does not. */
function inputOf(tool: Tool, given: unknown): { readonly data: unknown } | { readonly refused: string } {
  try {
    const { data, error } = tool.input.safeParse(tool.prepare ? tool.prepare(given) : given);
    return error ? { refused: `The arguments for ${tool.name} do not fit. ${describeIssues(error)}` } : { data };
  } catch (error) {
    return { refused: message(error) };
  }
}

/**
 * Calls a tool. Never rejects: an invalid input, a throw and a result without content become error results that the model
 * can act on. Resolves at most 500 ms after `context.signal` aborts or the tool's time is over, and drops each `update` after it
 * has resolved. A tool that does not end is named in the result and in the log.
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

/** A result that came because the time was over. */
const late = (tool: Tool, result: ToolResult): ToolResult => ({
  ...result,
  isError: true,
  content: [
    ...result.content,
    { type: "text", text: `[The tool ${tool.name} was ended after ${(tool.timeoutMs ?? MOST_MS) / 1000} seconds.]` },
  ],
});

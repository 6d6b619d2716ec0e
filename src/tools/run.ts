import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import type { ImageContent, TextContent } from "../types/run/model.ts";
import type { Tool, ToolContext, ToolResult } from "../types/run/tool.ts";
import { shorten } from "../utils/text/shorten.ts";
import { headBytes, MAX_BYTES } from "./cap.ts";
import { errorResult } from "./define.ts";

/** Milliseconds after an abort in which a tool may still return its result. */
const GRACE_MS = 500;

function describeIssues(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`).join("; ");
}

function message(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

type Content = TextContent | ImageContent;

function isContent(value: unknown): value is Content {
  if (!isRecord(value)) {
    return false;
  }
  const { type } = value;
  return type === "text" ? typeof value["text"] === "string" : type === "image" && typeof value["data"] === "string";
}

// A plugin's tool may return anything; an invalid result must not end the run.
function checkedResult(tool: Tool, result: unknown, mostChars: number | undefined): ToolResult {
  if (!isRecord(result) || !Array.isArray(result["content"]) || !result["content"].every(isContent)) {
    return errorResult(`The tool ${tool.name} returned no usable result.`);
  }
  const { details } = result;
  return {
    content: capped(shortened(result["content"], mostChars)),
    ...(result["isError"] === true ? { isError: true } : {}),
    ...(isRecord(details) ? { details } : {}),
  };
}

function shortened(content: readonly Content[], most: number | undefined): readonly Content[] {
  if (most === undefined) {
    return content;
  }
  let left = most;
  return content.map((part) => {
    if (part.type === "image") {
      return part;
    }
    const text = shorten(part.text, left);
    left = Math.max(0, left - text.length);
    return text === part.text ? part : { type: "text", text };
  });
}

function capped(content: readonly Content[]): Content[] {
  let left = MAX_BYTES;
  return content.map((part) => {
    if (part.type === "image") {
      return part;
    }
    const kept = headBytes(part.text, left);
    left -= Buffer.byteLength(kept);
    return kept === part.text ? part : { type: "text", text: `${kept}\n[... cut: a result may have 50 KB ...]` };
  });
}

async function attempt(tool: Tool, input: unknown, { mostChars, ...context }: CallContext): Promise<ToolResult> {
  try {
    return checkedResult(tool, await tool.run(input, context), mostChars);
  } catch (error) {
    return errorResult(context.signal.aborted ? "Aborted." : message(error));
  }
}

/** Resolves once the signal has been aborted for the time of grace; never when it is not. */
async function overdue(signal: AbortSignal, done: AbortSignal): Promise<ToolResult> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true, signal: done });
  await promise;
  await delay(GRACE_MS, undefined, { ref: false });
  return errorResult("Aborted.");
}

export interface CallContext extends ToolContext {
  /** Most UTF-16 units of the result's text, in addition to the limit of 50 KB. */
  readonly mostChars?: number | undefined;
}

/**
 * Calls a tool. Never rejects: an invalid input, a throw and a result without content become error results that the model
 * can act on. Resolves at most 500 ms after `context.signal` aborts, and drops each `update` after it has resolved.
 */
export async function runTool(tool: Tool, rawInput: unknown, context: CallContext): Promise<ToolResult> {
  const given = rawInput ?? {};
  const input = tool.input.safeParse(tool.prepare ? tool.prepare(given) : given);
  if (!input.success) {
    return errorResult(`The arguments for ${tool.name} do not fit. ${describeIssues(input.error)}`);
  }
  if (context.signal.aborted) {
    return errorResult("Aborted.");
  }
  const done = new AbortController();
  const update = (partial: string): void => {
    if (!done.signal.aborted) {
      context.update(partial);
    }
  };
  try {
    const result = attempt(tool, input.data, { ...context, update });
    return await Promise.race([result, overdue(context.signal, done.signal)]);
  } finally {
    done.abort();
  }
}

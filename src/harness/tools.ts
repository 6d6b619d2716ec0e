import type { AgentTool } from "@mariozechner/pi-agent-core";
import { isTorn } from "../providers/call.ts";
import { runTool } from "../tools/run.ts";
import { toolSchema } from "../tools/schema.ts";
import type { ApprovalDesk, Tool, ToolContext } from "../types/tool.ts";
import type { Deadline } from "./deadline.ts";

/** What the tools of one run share; the call id and the signal come with each call. */
export interface ToolSetting extends Pick<ToolContext, "runId" | "sessionKey" | "agentId" | "workspace" | "approvals"> {
  readonly signal: AbortSignal;
  /** See `RunDeps`. */
  readonly before?: ((callId: string) => Promise<void>) | undefined;
  /** UTF-16 units of one result. */
  readonly mostChars: number | undefined;
}

/** A question to a person stands outside the run's time. */
export function pausing(desk: ApprovalDesk, deadline: Deadline): ApprovalDesk {
  return {
    async ask(question, signal) {
      deadline.pause();
      try {
        return await desk.ask(question, signal);
      } finally {
        deadline.resume();
      }
    },
  };
}

const TORN_TEXT =
  "This call was not run: its arguments were cut off before they were complete, or are not valid JSON. " +
  "Call the tool again with complete arguments; write long content in several smaller calls.";

/** The SDK asks before it validates a call's arguments; what is thrown is the call's result. */
function unlessTorn(args: unknown): unknown {
  if (isTorn(args)) throw new Error(TORN_TEXT);
  return args;
}

/** The same tool in the SDK's shape. A failed call comes back as a result with `isError` in its details. */
export function toAgentTool(tool: Tool, setting: ToolSetting): AgentTool {
  return {
    name: tool.name,
    label: tool.label,
    description: tool.description,
    parameters: toolSchema(tool),
    prepareArguments: unlessTorn,
    // One call that changes something makes the calls of its answer run one after the other: none overtakes a question to a
    // person, nor changes a file that the question is about.
    executionMode: tool.hasSideEffects ? "sequential" : "parallel",
    execute: async (callId, params, given, onUpdate) => {
      const { before, ...rest } = setting;
      const signal = given ? AbortSignal.any([given, setting.signal]) : setting.signal;
      if (before) await unlessAborted(before(callId), signal);
      const result = await runTool(tool, params, {
        ...rest,
        callId,
        signal,
        update: (partial) => onUpdate?.({ content: [{ type: "text", text: partial }], details: undefined }),
      });
      return { content: result.content, details: { ...result.details, isError: result.isError === true } };
    },
  };
}

/** Resolves with the work, or as soon as the signal aborts. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([work, promise]);
  signal.removeEventListener("abort", stop);
}

import { z } from "zod";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, type Method } from "../../types/method.ts";
import { toolAnswers } from "../../types/answers/tools.ts";
import type { ToolCallOutcome } from "../../types/chat/tool-call.ts";
import type { ServerPorts } from "../options.ts";
import { callPlace } from "../tools-invoke.ts";

/** A call has no signal of its own: it ends when the tool does, or at the tool's own limit. */
const NEVER = new AbortController().signal;

type Ports = Pick<ServerPorts, "callTool" | "keys" | "catalog">;

/** The method that calls one tool without a model, as `POST /tools/invoke` does. */
export const toolCallMethods = (ports: Ports): readonly Method[] => [
  defineMethod({
    name: "tools.invoke",
    scope: "operator.write",
    mayWait: true,
    params: z.looseObject({
      name: z.string().min(1).max(128),
      args: z.record(z.string(), z.unknown()).optional(),
      sessionKey: keyParam().optional(),
      agentId: z.string().min(1).max(128).optional(),
      idempotencyKey: z.string().min(1).max(256).optional(),
    }),
    result: toolAnswers.invoke,
    idempotencyKey: "idempotencyKey",
    run: async ({ name, args = {}, sessionKey, agentId }) => {
      const place = callPlace({ sessionKey, agentId }, ports);
      if ("status" in place) return failed(name, place.type, place.message);
      return answerOf(name, await ports.callTool({ ...place, tool: name, args, isDryRun: false, signal: NEVER }));
    },
  }),
];

const failed = (toolName: string, code: string, message: string) => ({ ok: false, toolName, error: { code, message } });

function answerOf(name: string, outcome: ToolCallOutcome) {
  switch (outcome.kind) {
    case "done":
      return resultOf(name, outcome.result);
    case "fits":
      return { ok: true, toolName: outcome.tool };
    case "missing":
      return failed(name, "not_found", `Tool not available: ${name}`);
    case "invalid":
      return failed(name, "invalid_request", outcome.why);
    case "looping":
      return failed(name, "tool_loop", outcome.why);
  }
}

function resultOf(toolName: string, result: Extract<ToolCallOutcome, { kind: "done" }>["result"]) {
  const { content, details, isError } = result;
  if (isError !== true) return { ok: true, toolName, output: { content, details } };
  const message = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return failed(toolName, "tool_error", message === "" ? "The tool failed." : message);
}

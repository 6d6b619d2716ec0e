import { toolSchema } from "../../tools/schema.ts";
import type { ToolCallRequest } from "../../types/chat/tool-call.ts";
import type { Tool } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";

/** `action` of the request is the argument of that name, of a tool that has one. */
export function argumentsFor(tool: Tool, { action, args }: ToolCallRequest): Record<string, unknown> {
  const { properties } = toolSchema(tool);
  const hasAction = isFields(properties) && "action" in properties;
  return action === undefined || !hasAction || "action" in args ? { ...args } : { ...args, action };
}

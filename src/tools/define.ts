import type { TextContent } from "../types/run/model.ts";
import type { Tool, ToolResult } from "../types/run/tool.ts";

/**
 * Makes a tool for a table of tools of many inputs: it checks its input itself, so `run` may be given anything.
 * `run` then throws a `ZodError` for an input that does not fit. The schema may set defaults but not transform, since
 * it may see its own output again.
 */
export function defineTool<Input>(tool: Tool<Input>): Tool {
  return { ...tool, run: async (input, context) => tool.run(tool.input.parse(input), context) };
}

const text = (words: string): TextContent => ({ type: "text", text: words });

/** A result of words alone. */
export function textResult(words: string, details?: Record<string, unknown>): ToolResult {
  return { content: [text(words)], ...(details === undefined ? {} : { details }) };
}

/** A result that tells the model what went wrong. */
export function errorResult(words: string, details?: Record<string, unknown>): ToolResult {
  return { ...textResult(words, details), isError: true };
}

import type { TextContent } from "../types/run/model.ts";
import type { Tool, ToolResult } from "../types/run/tool.ts";

/** Time limit in milliseconds of a call of a file tool: a network disk that does not answer must not hold a run. */
export const FILE_TOOL_MS = 120_000;

/**
 * Makes a tool whose `run` accepts any input, so that tools with different inputs fit into one list. `run` throws a
 * `ZodError` for an invalid input. The schema may set defaults but not transform, since it may be applied to its own
 * output.
 */
export function defineTool<Input>(tool: Tool<Input>): Tool {
  const { riskOf } = tool;
  return {
    ...tool,
    ...(riskOf && {
      // The call itself refuses arguments that do not fit.
      riskOf: async (input, context) => {
        const { data } = tool.input.safeParse(input);
        return data === undefined ? undefined : riskOf(data, context);
      },
    }),
    run: async (input, context) => tool.run(tool.input.parse(input), context),
  };
}

const textPart = (text: string): TextContent => ({ type: "text", text });

/** Result with a text alone. */
export function textResult(text: string, details?: Record<string, unknown>): ToolResult {
  return { content: [textPart(text)], ...(details === undefined ? {} : { details }) };
}

/** Result with an error for the model. */
export function errorResult(text: string, details?: Record<string, unknown>): ToolResult {
  return { ...textResult(text, details), isError: true };
}

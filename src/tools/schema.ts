import { z } from "zod";
import type { Tool } from "../types/tool.ts";

/** JSON Schema of an object, as models take it. */
export type ToolSchema = Readonly<Record<string, unknown>>;

const schemas = new WeakMap<z.ZodType, ToolSchema>();

/** The tool's input as JSON Schema without `$schema`; the same object each time. Throws for a type that JSON cannot say. */
export function toolSchema(tool: Tool): ToolSchema {
  const known = schemas.get(tool.input);
  if (known !== undefined) {
    return known;
  }
  const { $schema: _dialect, ...schema } = z.toJSONSchema(tool.input, { io: "input" });
  schemas.set(tool.input, schema);
  return schema;
}

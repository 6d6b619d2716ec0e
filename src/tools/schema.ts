import { z } from "zod";
import type { Tool } from "../types/run/tool.ts";
import { toolInputSchema } from "../utils/json-schema/tool-input.ts";
import { once } from "../utils/share-calls.ts";

/** JSON Schema of an object, in the form for models. */
export type ToolSchema = Readonly<Record<string, unknown>>;

const schemas = new WeakMap<z.ZodType, ToolSchema>();

const shownInput = once((schema: ToolSchema): ToolSchema => toolInputSchema(schema));

/**
 * The tool's input as JSON Schema without `$schema`; the same object each time. Throws for a type without a JSON
 * Schema.
 */
export function toolSchema(tool: Pick<Tool, "input" | "jsonSchema">): ToolSchema {
  const known = schemas.get(tool.input);
  if (known !== undefined) {
    return known;
  }
  if (tool.jsonSchema) return shownInput(tool.jsonSchema);
  const { $schema: _dialect, ...schema } = z.toJSONSchema(tool.input, {
    io: "input",
    // The bounds of exact integers do not help a model, and some providers refuse such large numbers.
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) {
        delete jsonSchema.maximum;
      }
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) {
        delete jsonSchema.minimum;
      }
    },
  });
  schemas.set(tool.input, schema);
  return schema;
}

import { z } from "zod";
import { canBeChecked, inTime } from "./slow-patterns.ts";

/** The Zod schema of a JSON Schema from outside, whose checks end in time; undefined when it cannot be read. Never throws. */
export function fromJsonSchema(jsonSchema: Readonly<Record<string, unknown>>): z.ZodType | undefined {
  try {
    return canBeChecked(jsonSchema) ? inTime(z.fromJSONSchema(structuredClone(jsonSchema)), jsonSchema) : undefined;
  } catch {
    return undefined;
  }
}

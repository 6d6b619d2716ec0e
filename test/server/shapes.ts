import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { z } from "zod";

const file = fileURLToPath(new URL("../protocol.schema.json", import.meta.resolve("@openclaw/gateway-protocol")));
const definitions = z
  .object({ definitions: z.record(z.string(), z.record(z.string(), z.unknown())) })
  .parse(JSON.parse(readFileSync(file, "utf8"))).definitions;
const schemas = new Map<string, z.ZodType>();

/** Compares with the published schemas of the protocol: what a value must look like, told by nobody here. */
export function expectShape(name: string, value: unknown): void {
  const schema = schemas.get(name) ?? schemaOf(name);
  schemas.set(name, schema);
  const parsed = schema.safeParse(JSON.parse(JSON.stringify(value ?? null)));
  expect(parsed.success ? "" : z.prettifyError(parsed.error), name).toBe("");
}

function schemaOf(name: string): z.ZodType {
  const definition = definitions[name];
  if (definition === undefined) throw new Error(`the protocol has no ${name}`);
  return z.fromJSONSchema({ ...definition, definitions });
}

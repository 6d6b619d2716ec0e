import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { z } from "zod";

/** Zod does not read `not`, which in the protocol only says which of two fields is missing. */
const withoutNot = (name: string, value: unknown): unknown => (name === "not" ? undefined : value);

const file = fileURLToPath(new URL("../protocol.schema.json", import.meta.resolve("@openclaw/gateway-protocol")));
const definitions = z
  .object({ definitions: z.record(z.string(), z.record(z.string(), z.unknown())) })
  .parse(JSON.parse(readFileSync(file, "utf8"), withoutNot)).definitions;
const schemas = new Map<string, z.ZodType>();

/** Fields that clients of 2026.9.6 read, and that the protocol's package, which is older, has not. */
const NEWER: Readonly<Record<string, readonly string[]>> = {
  SkillsProposalsListResult: ["installedSkills"],
  SystemInfoResult: ["disks", "eventLoop", "processMemory"],
};

/** Compares a value with the protocol's published schema of this name. */
export function expectShape(name: string, value: unknown): void {
  const parsed = shapeOf(name).safeParse(JSON.parse(JSON.stringify(value ?? null)));
  expect(parsed.success ? "" : z.prettifyError(parsed.error), name).toBe("");
}

/** The protocol's schema of this name. Throws when there is none. */
export function shapeOf(name: string): z.ZodType {
  const schema = schemas.get(name) ?? schemaOf(name);
  schemas.set(name, schema);
  return schema;
}

const ANSWERS = new Map(
  Object.keys(definitions).flatMap((name) => {
    const method = /^(.+)(?:Result|Response)$/.exec(name)?.[1];
    return method === undefined ? [] : [[method.toLowerCase(), name] as const];
  }),
);

/** Name of the protocol's schema for the answer of a method, where it has one. */
export const answerShape = (method: string): string | undefined =>
  ANSWERS.get(method.replaceAll(/[.-]/g, "").toLowerCase());

function schemaOf(name: string): z.ZodType {
  const definition = definitions[name];
  if (definition === undefined) throw new Error(`the protocol has no ${name}`);
  const newer = Object.fromEntries((NEWER[name] ?? []).map((field) => [field, {}]));
  const properties = Object.assign({}, definition["properties"], newer);
  return z.fromJSONSchema({ ...definition, ...(name in NEWER && { properties }), definitions });
}

import { z } from "zod";

const known = new WeakMap<z.core.$ZodType, z.core.$ZodType>();

/** The same shape, which refuses keys that it does not name at any depth, and replaces no value that does not fit. */
export function strictShape(schema: z.core.$ZodType): z.core.$ZodType {
  const made = known.get(schema) ?? strictOf(schema);
  known.set(schema, made);
  return made;
}

function strictOf(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodObject) return strictObject(schema);
  if (schema instanceof z.ZodArray) return z.array(strictShape(schema.element));
  if (schema instanceof z.ZodRecord) return schema.clone({ ...schema.def, valueType: strictShape(schema.valueType) });
  if (schema instanceof z.ZodUnion) return z.union(schema.options.map(strictShape));
  if (schema instanceof z.ZodPipe) return strictShape(schema.in);
  if (schema instanceof z.ZodLazy) return z.lazy(() => strictShape(schema.unwrap()));
  if (schema instanceof z.ZodOptional) return z.optional(strictShape(schema.unwrap()));
  if (schema instanceof z.ZodNullable) return z.nullable(strictShape(schema.unwrap()));
  if (schema instanceof z.ZodDefault) return z.optional(strictShape(schema.def.innerType));
  if (schema instanceof z.ZodReadonly || schema instanceof z.ZodCatch) return strictShape(schema.def.innerType);
  if (schema instanceof z.ZodIntersection) throw new Error("an intersection cannot be made strict: use extend");
  return schema;
}

const strictObject = ({ shape }: z.ZodObject): z.core.$ZodType =>
  z.strictObject(Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, strictShape(field)])));

/** A line for each place where the value does not fit; of a union, those of the option that fits best. */
export function misfits(schema: z.core.$ZodType, value: unknown): readonly string[] {
  const { error } = z.core.safeParse(schema, value);
  return error === undefined ? [] : linesOf(error.issues, []);
}

function linesOf(issues: readonly z.core.$ZodIssue[], at: readonly PropertyKey[]): readonly string[] {
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path];
    if (issue.code !== "invalid_union" || issue.errors.length === 0)
      return [`${path.map(nameIn).join(".")}: ${issue.message}`];
    const options = issue.errors.map((option) => linesOf(option, path));
    return options.toSorted((a, b) => a.length - b.length)[0] ?? [];
  });
}

/** Items of a list have one name, so that a fault of all of them is told once. */
const nameIn = (key: PropertyKey): string => (typeof key === "number" ? "[]" : String(key));

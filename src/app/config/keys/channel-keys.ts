import { z } from "zod";
import { isRecord, type KeyPath } from "../schema/problem.ts";
import { own } from "../../../utils/own.ts";

/** A key without effect, and the names of the keys that have an effect at its place. */
export interface ForeignKey {
  readonly path: KeyPath;
  readonly named: readonly string[];
}

/**
 * Keys of an account, at any depth, that none of the schemas names: neither the core's nor the channel's. Below a key
 * whose values no schema describes, all keys are accepted.
 */
export function foreignKeys(value: unknown, schemas: readonly unknown[], path: KeyPath = []): readonly ForeignKey[] {
  const kinds = schemas.flatMap(kindsOf);
  if (Array.isArray(value)) {
    const elements = kinds.flatMap((kind) => (kind instanceof z.ZodArray ? [kind.element] : []));
    return value.flatMap((item: unknown, index) => foreignKeys(item, elements, [...path, index]));
  }
  if (!isRecord(value)) return [];
  const named = kinds.flatMap((kind) => (kind instanceof z.ZodObject ? Object.keys(kind.shape) : []));
  const takesAll = named.length === 0 || kinds.some(isOpen);
  return Object.entries(value).flatMap(([key, child]) => {
    const below = kinds.flatMap((kind) => schemasAt(kind, key));
    if (below.length > 0) return foreignKeys(child, below, [...path, key]);
    return takesAll ? [] : [{ path: [...path, key], named }];
  });
}

function schemasAt(kind: unknown, key: string): readonly unknown[] {
  if (kind instanceof z.ZodRecord) return [kind.valueType];
  const schema = kind instanceof z.ZodObject ? own(kind.shape, key) : undefined;
  return schema === undefined ? [] : [schema];
}

const isOpen = (kind: unknown): boolean =>
  kind instanceof z.ZodUnknown || kind instanceof z.ZodAny || kind instanceof z.ZodCustom;

/** The schemas that a value may fit, without wrappers such as defaults and transforms. */
function kindsOf(schema: unknown): readonly unknown[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(kindsOf);
  if (schema instanceof z.ZodPipe) return [schema.in, schema.out].flatMap(kindsOf);
  if (schema instanceof z.ZodIntersection) return [schema.def.left, schema.def.right].flatMap(kindsOf);
  const isWrapped =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodLazy;
  return isWrapped ? kindsOf(schema.unwrap()) : [schema];
}

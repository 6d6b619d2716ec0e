import { isFields, type Fields } from "../../utils/fields.ts";
import { own } from "../../utils/own.ts";
import type { KeyPath } from "../config/schema/problem.ts";
import OPENCLAW_CONFIG from "./openclaw-config.json" with { type: "json" };

/** A key of the config that OpenClaw refuses, and why. */
export interface LeftKey {
  readonly path: KeyPath;
  readonly why: string;
}

/** The part of a value that a schema takes; undefined when it takes none of it. */
interface Fit {
  readonly value: unknown;
  readonly left: readonly LeftKey[];
}

const UNKNOWN = "OpenClaw has no such key";
const OTHER_VALUE = "OpenClaw does not take this value";

const ROOT: Fields = { type: "object", properties: OPENCLAW_CONFIG.properties, additionalProperties: false };
const DEFS: Fields = OPENCLAW_CONFIG.defs;

/** The part of a config that OpenClaw 2026.5.20 accepts, as its schema says, and the keys that it refuses. Pure. */
export function fitConfig(value: Fields): { readonly value: Fields; readonly left: readonly LeftKey[] } {
  const { value: kept, left } = fit(ROOT, value, []);
  return { value: isFields(kept) ? kept : {}, left };
}

function fit(schema: unknown, value: unknown, path: KeyPath): Fit {
  if (!isFields(schema)) return { value, left: [] };
  const { $ref: name, anyOf, allOf } = schema;
  if (typeof name === "string") return fit(DEFS[name], value, path);
  if (Array.isArray(anyOf))
    return best(
      anyOf.map((branch) => fit(branch, value, path)),
      path,
    );
  const base = fitType(schema, value, path);
  if (!Array.isArray(allOf)) return base;
  return allOf.reduce<Fit>((before, branch) => {
    if (before.value === undefined) return before;
    const next = fit(branch, before.value, path);
    return { value: next.value, left: [...before.left, ...next.left] };
  }, base);
}

/** Of several forms the one that takes all of the value, else the one that takes most of it. */
function best(all: readonly Fit[], path: KeyPath): Fit {
  const some = all
    .filter(({ value }) => value !== undefined)
    .toSorted((one, other) => one.left.length - other.left.length);
  return some[0] ?? refused(path);
}

const refused = (path: KeyPath, why = OTHER_VALUE): Fit => ({ value: undefined, left: [{ path, why }] });

/** A text that OpenClaw fills from the environment before it checks the value. */
const isReference = (value: unknown): boolean => typeof value === "string" && /\$\{[A-Z_][A-Z0-9_]*\}/.test(value);

function fitType(schema: Fields, value: unknown, path: KeyPath): Fit {
  const { const: only, enum: several, type } = schema;
  if (only !== undefined) return takenIf(only === value, value, path);
  if (Array.isArray(several)) return takenIf(several.includes(value), value, path);
  if (type === "object") return isFields(value) ? fitObject(schema, value, path) : refused(path);
  if (type === "array") return Array.isArray(value) ? fitList(schema, value, path) : refused(path);
  return fitScalar(schema, value, path);
}

const takenIf = (isTaken: boolean, value: unknown, path: KeyPath): Fit =>
  isTaken ? { value, left: [] } : refused(path);

function fitScalar(schema: Fields, value: unknown, path: KeyPath): Fit {
  switch (schema["type"]) {
    case "string":
      // Ids of people and chats are written as numbers, too.
      return fitText(schema, typeof value === "number" ? String(value) : value, path);
    case "number":
    case "integer":
      return takenIf(isNumber(schema, value) || isReference(value), value, path);
    case "boolean":
      return takenIf(typeof value === "boolean" || isReference(value), value, path);
    case undefined:
      return { value, left: [] };
    default:
      return refused(path);
  }
}

function fitObject(schema: Fields, value: Fields, path: KeyPath): Fit {
  const { properties, required, additionalProperties: others } = schema;
  const named = isFields(properties) ? properties : {};
  const left: LeftKey[] = [];
  const kept: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined) continue;
    const here = [...path, name];
    const known = own(named, name) ?? (others === false ? undefined : (others ?? true));
    const found = known === undefined ? refused(here, UNKNOWN) : fit(known, one, here);
    left.push(...found.left);
    if (found.value !== undefined) kept[name] = found.value;
  }
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  if (needed.some((name) => typeof name === "string" && kept[name] === undefined)) return refused(path);
  return { value: kept, left };
}

function fitList(schema: Fields, value: readonly unknown[], path: KeyPath): Fit {
  const found = value.map((item, at) => fit(schema["items"], item, [...path, at]));
  const kept = found.flatMap((item) => (item.value === undefined ? [] : [item.value]));
  const isWithin =
    kept.length >= numberOr(schema["minItems"], 0) && kept.length <= numberOr(schema["maxItems"], Infinity);
  return isWithin ? { value: kept, left: found.flatMap(({ left }) => left) } : refused(path);
}

function fitText(schema: Fields, value: unknown, path: KeyPath): Fit {
  if (typeof value !== "string") return refused(path);
  const { minLength, maxLength, pattern } = schema;
  const isWithin = value.length >= numberOr(minLength, 0) && value.length <= numberOr(maxLength, Infinity);
  const isLike = typeof pattern !== "string" || new RegExp(pattern, "u").test(value);
  return (isWithin && isLike) || isReference(value) ? { value, left: [] } : refused(path);
}

function isNumber({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Fields, value: unknown): boolean {
  if (typeof value !== "number" || (type === "integer" && !Number.isInteger(value))) return false;
  const isFrom = value >= numberOr(minimum, -Infinity) && value > numberOr(exclusiveMinimum, -Infinity);
  return isFrom && value <= numberOr(maximum, Infinity) && value < numberOr(exclusiveMaximum, Infinity);
}

const numberOr = (given: unknown, other: number): number => (typeof given === "number" ? given : other);

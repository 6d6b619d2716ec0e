import { isFields, type Fields } from "../../utils/fields.ts";

/** Readers of values that a plugin passed: nothing about their types is certain. */

export function objectOf(value: unknown, what: string): Fields {
  if (isFields(value)) return value;
  throw new TypeError(`${what} takes an object`);
}

/** A text that is not empty. Throws without one. */
export function nameIn(value: Fields, key: string, what: string): string {
  const name = value[key];
  if (typeof name === "string" && name.trim() !== "") return name.trim();
  throw new TypeError(`${what} needs the text "${key}"`);
}

export function textIn(value: Fields, key: string): string | undefined {
  const text = value[key];
  return typeof text === "string" ? text : undefined;
}

export function numberIn(value: Fields, key: string): number | undefined {
  const given = value[key];
  return typeof given === "number" && Number.isFinite(given) ? given : undefined;
}

export const textsIn = (value: Fields, key: string): readonly string[] | undefined => {
  const list = value[key];
  return Array.isArray(list) ? list.filter((item): item is string => typeof item === "string") : undefined;
};

type Foreign = (...args: readonly unknown[]) => unknown;

/** A method, bound to its object. Throws where there is none. */
export function methodIn(value: Fields, key: string, what: string): Foreign {
  const method = optionalMethodIn(value, key);
  if (method) return method;
  throw new TypeError(`${what} needs the function "${key}"`);
}

export function optionalMethodIn(value: Fields, key: string): Foreign | undefined {
  const method = value[key];
  return typeof method === "function" ? (...args) => Reflect.apply(method, value, args) : undefined;
}

export function functionOf(value: unknown, what: string): Foreign {
  if (typeof value !== "function") throw new TypeError(`${what} takes a function`);
  return (...args) => Reflect.apply(value, undefined, args);
}

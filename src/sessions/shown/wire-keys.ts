import { z } from "zod";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import { keyFormOf, type KeyForm } from "../../types/key-field.ts";
import { isFields } from "../../utils/fields.ts";
import { resolveAlias, wireKey } from "../keys.ts";

/** The two forms of a session key. Each function takes either form. */
export interface KeyNames {
  /** The key inside the gateway; `main` and its other names are the operator's own chat. */
  inner(text: string): SessionKey;
  /** The key for clients, `agent:<agentId>:<rest>`. */
  wire(key: string): string;
}

export const keyNames = (defaultAgent: () => AgentId): KeyNames => ({
  inner: (text) => resolveAlias(text, defaultAgent()),
  wire: (key) => wireKey(key, defaultAgent()),
});

type Rename = (text: string, form: KeyForm) => string;
type Walk = (value: unknown, rename: Rename) => unknown;

/** The parameters of a request, with the keys that the gateway has inside. A value without keys is returned itself. */
export const keysInward = (params: z.ZodType, value: unknown, keys: KeyNames): unknown =>
  translate(params, value, (text, form) => renamed(text, form, keys.inner));

/** An answer with the keys that clients see. */
export const keysOutward = (result: z.ZodType, value: unknown, keys: KeyNames): unknown =>
  translate(result, value, (text, form) => (form === "key" ? keys.wire(text) : renamed(text, form, outer(keys))));

/** A stored name may have any form of a key. */
const outer = (keys: KeyNames) => (text: string) => keys.wire(keys.inner(text));

const SESSION = "session:";

function renamed(text: string, form: KeyForm, name: (text: string) => string): string {
  if (form !== "place") return name(text);
  return text.startsWith(SESSION) ? SESSION + name(text.slice(SESSION.length)) : text;
}

const walks = new WeakMap<z.core.$ZodType, Walk | undefined>();

const translate = (schema: z.ZodType, value: unknown, rename: Rename): unknown =>
  walkOf(schema)?.(value, rename) ?? value;

/** The way to the marked fields of a schema; undefined when it has none. */
function walkOf(schema: z.core.$ZodType): Walk | undefined {
  if (!walks.has(schema)) walks.set(schema, makeWalk(schema));
  return walks.get(schema);
}

function makeWalk(schema: z.core.$ZodType): Walk | undefined {
  const form = keyFormOf(schema);
  if (form) return (value, rename) => (typeof value === "string" ? rename(value, form) : value);
  if (schema instanceof z.ZodObject) return walkObject(schema);
  if (schema instanceof z.ZodArray) return walkItems(walkOf(schema.element));
  if (schema instanceof z.ZodRecord) return walkValues(walkOf(schema.valueType));
  if (schema instanceof z.ZodUnion) return inTurn(schema.options.map(walkOf));
  if (schema instanceof z.ZodPipe) return walkOf(schema.in);
  if (schema instanceof z.ZodLazy) return walkOf(schema.unwrap());
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapper ? walkOf(schema.unwrap()) : undefined;
}

function walkObject({ shape }: z.ZodObject): Walk | undefined {
  const fields = Object.entries(shape).flatMap(([name, field]) => {
    const walk = walkOf(field);
    return walk ? [[name, walk] as const] : [];
  });
  if (fields.length === 0) return undefined;
  return (value, rename) => {
    if (!isFields(value)) return value;
    const changed = fields.flatMap(([name, walk]) => {
      const next = value[name] === undefined ? undefined : walk(value[name], rename);
      return next === value[name] ? [] : [[name, next] as const];
    });
    return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
  };
}

const walkItems = (walk: Walk | undefined): Walk | undefined =>
  walk &&
  ((value, rename) => {
    if (!Array.isArray(value)) return value;
    const items: readonly unknown[] = value;
    const next = items.map((item) => walk(item, rename));
    return next.every((item, at) => item === items[at]) ? items : next;
  });

const walkValues = (walk: Walk | undefined): Walk | undefined =>
  walk &&
  ((value, rename) =>
    isFields(value)
      ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, rename)]))
      : value);

/** Each walk changes the fields that it knows; a key that has its form already stays. */
function inTurn(all: readonly (Walk | undefined)[]): Walk | undefined {
  const walks = all.filter((walk) => walk !== undefined);
  if (walks.length === 0) return undefined;
  return (value, rename) => walks.reduce((done, walk) => walk(done, rename), value);
}

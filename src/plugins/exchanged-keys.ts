import { z } from "zod";
import { keysInward, keysOutward, type KeyNames } from "../sessions/shown/wire-keys.ts";
import type { HookHandler } from "../types/hook/hooks.ts";
import { keyField } from "../types/key-field.ts";
import { isFields, type Fields } from "../utils/fields.ts";

const key = keyField().optional();
const message = z.looseObject({ provenance: z.looseObject({ sourceSessionKey: key }).optional() });
const row = z.looseObject({ parentSessionKey: key, spawnedBy: key }).optional();
const messages = z.array(message).optional();

/** Fields with keys of the values that the gateway and a plugin exchange: events, contexts, parameters and answers. */
const EXCHANGED = z.looseObject({
  sessionKey: key,
  childSessionKey: key,
  mainSessionKey: key,
  nextSessionKey: key,
  parentSessionKey: key,
  requesterSessionKey: key,
  sourceSessionKey: key,
  targetSessionKey: key,
  spawnedBy: key,
  message: message.optional(),
  messages,
  historyMessages: messages,
  replacements: z.array(z.looseObject({ message: message.optional() })).optional(),
  inputProvenance: z.array(z.looseObject({ sourceSessionKey: key }).optional()).optional(),
  internalEvents: z.array(z.array(z.looseObject({ childSessionKey: key })).optional()).optional(),
  runtimeContext: z.looseObject({ sessionKey: key }).optional(),
  sessionEntry: row,
  patch: row,
});

/** The origin of a message is kept in the form of plugins. */
const GIVEN = EXCHANGED.omit({ message: true, messages: true, historyMessages: true, replacements: true });

const FIELDS = Object.entries(EXCHANGED.shape);

/** A value for a plugin, with the keys that plugins see. A field that is made when it is read stays so. */
export function forPlugin<T>(given: T, keys: KeyNames): T {
  if (!isFields(given)) return given;
  const own: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(given);
  for (const [name, schema] of FIELDS) {
    const property = own[name];
    if (property) own[name] = shownProperty(property, (value) => keysOutward(schema, value, keys));
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same fields, with keys of another form
  return Object.defineProperties({}, own) as T;
}

/** What a plugin gives, with the keys that the gateway has inside. */
export const fromPlugin = <T>(given: T, keys: KeyNames): T =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same fields, with keys of another form
  keysInward(GIVEN, given, keys) as T;

/** A key that a plugin or a client gives, in the form that plugins see. */
export const anyForPlugin = (given: unknown, keys: KeyNames): unknown => forPlugin(fromPlugin(given, keys), keys);

/** A plugin's handler of a hook, with the keys of its event, its context and its answer in the form of each side. */
export const hookForPlugin =
  (handler: HookHandler, keys: KeyNames): HookHandler =>
  (event, context) => {
    const answer = handler(forPlugin(event, keys), forPlugin(context, keys));
    if (answer instanceof Promise) return answer.then((given: unknown) => fromPlugin(given, keys));
    return fromPlugin(answer, keys);
  };

/** Rows of conversations by their keys. */
export const rowsForPlugin = (rows: Fields, keys: KeyNames): Fields =>
  Object.fromEntries(
    Object.entries(rows).map(([name, member]) => [nameOf(name, member, keys), forPlugin(member, keys)]),
  );

/** Members that are no rows are another program's. */
const nameOf = (name: string, member: unknown, keys: KeyNames): string =>
  isFields(member) && typeof member["sessionId"] === "string" ? keys.wire(name) : name;

function shownProperty(property: PropertyDescriptor, shown: (value: unknown) => unknown): PropertyDescriptor {
  const { get } = property;
  if (!get) return { ...property, value: shown(property.value) };
  let own: { readonly value: unknown } | undefined;
  return {
    ...property,
    get: () => (own ??= { value: shown(Reflect.apply(get, undefined, [])) }).value,
    set: (value: unknown) => (own = { value }),
  };
}

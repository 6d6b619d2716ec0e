import { isFields } from "../../utils/fields.ts";

/** Export of a plugin's entry. */
export interface PluginDefinition {
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  /** The plugin's own function; its result may be a promise. */
  register(api: object): unknown;
}

/**
 * Finds the definition in the namespace of an entry: a function, or an object with `register` or the older `activate`, as
 * the default export or, in CommonJS, as the whole module. Undefined where there is none.
 */
export function definitionIn(namespace: unknown): PluginDefinition | undefined {
  let value = namespace;
  // A CommonJS module that was made from a module has its default export one level deeper.
  for (let depth = 0; depth < 3; depth++) {
    const found = definitionOf(value);
    if (found) return found;
    value = isFields(value) ? value["default"] : undefined;
  }
  return undefined;
}

function definitionOf(value: unknown): PluginDefinition | undefined {
  if (typeof value === "function") return { register: (api) => Reflect.apply(value, undefined, [api]) };
  if (!isFields(value)) return undefined;
  const register = value["register"] ?? value["activate"];
  if (typeof register !== "function") return undefined;
  return { ...textsOf(value), register: (api) => Reflect.apply(register, value, [api]) };
}

function textsOf(value: Readonly<Record<string, unknown>>): Omit<PluginDefinition, "register"> {
  const given = ["name", "description", "version"].flatMap((key) => {
    const text = value[key];
    return typeof text === "string" ? [[key, text] as const] : [];
  });
  return Object.fromEntries(given);
}

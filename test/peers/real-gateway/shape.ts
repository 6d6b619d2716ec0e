/** The types that the values at each path have: `sessions[].key` → `string`. */
export type Shape = ReadonlyMap<string, ReadonlySet<string>>;

/** The shape of a JSON value; the elements of an array share their paths. */
export function shapeOf(value: unknown): Shape {
  const shape = new Map<string, Set<string>>();
  add(shape, "", value);
  return shape;
}

function add(shape: Map<string, Set<string>>, path: string, value: unknown): void {
  const types = shape.get(path) ?? new Set<string>();
  shape.set(path, types.add(typeOf(value, path)));
  if (Array.isArray(value)) for (const item of value) add(shape, `${path}[]`, item);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) add(shape, path === "" ? key : `${path}.${key}`, item);
  }
}

function typeOf(value: unknown, path: string): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length > 0 ? "array" : "empty array";
  if (typeof value === "string") return formOf(value, path);
  return typeof value;
}

const KEY_FIELD = /(?:^|[.\]])(?:\w*[sS]essionKey|key|spawnedBy|mainKey)s?(?:\[\])?$/;
const AGENT_KEY = /^agent:[^:]+:./;

/** A session key is a string in one of two forms; everything else is a string. */
function formOf(text: string, path: string): string {
  if (!KEY_FIELD.test(path)) return "string";
  return AGENT_KEY.test(text) ? "key agent:…" : "string";
}

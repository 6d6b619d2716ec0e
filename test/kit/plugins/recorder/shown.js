/** A value as JSON, with what JSON has no form for written as `{$kind: …}`. */
export function shown(value, depth = 0) {
  if (value === undefined) return { $undefined: true };
  if (typeof value === "function") return { $function: value.length };
  if (value instanceof Set) return { $set: [...value] };
  if (value instanceof AbortSignal) return { $signal: value.aborted };
  if (Array.isArray(value)) return value.map((item) => shown(item, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  const { constructor } = value;
  if (constructor !== undefined && constructor !== Object) return { $class: constructor.name };
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shown(child, depth + 1)]));
}

import type { z } from "zod";
import type { ChannelHost } from "../types/chat/channel.ts";

/**
 * Reads a note that this adapter wrote; undefined when there is none. Entries of its lists and records that cannot be parsed are left
 * out, and so is a note that cannot be parsed without them: one odd entry costs no other. The log says so, and the note is kept as
 * `<name>.broken`, so that the adapter keeps receiving messages. Rejects when notes cannot be read or written at all.
 */
export async function readOwnNote<T>(host: ChannelHost, name: string, shape: z.ZodType<T>): Promise<T | undefined> {
  const text = await host.notes.get(name);
  if (text === undefined) return undefined;
  const value = parse(text);
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const rest = shape.safeParse(without(value, read.error.issues));
  const became = rest.success ? "its other entries are used" : "it is ignored";
  host.log.warn("a note of the adapter cannot be parsed", { name, became, error: read.error.message });
  await host.notes.set(`${name}.broken`, text);
  return rest.data;
}

/** Undefined, which no note is, for a text that is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value without the entries in which the issues are. */
function without(value: unknown, issues: readonly { readonly path: readonly PropertyKey[] }[]): unknown {
  const odd = new Map<PropertyKey, { readonly path: readonly PropertyKey[] }[]>();
  for (const { path } of issues) {
    const [first, ...below] = path;
    if (first !== undefined) odd.set(first, [...(odd.get(first) ?? []), { path: below }]);
  }
  if (Array.isArray(value)) return value.filter((_, at) => !odd.has(at));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]: [string, unknown]) => {
      const inner = odd.get(key);
      if (!inner) return [[key, one]];
      // Only a list has entries of its own: any other value is the entry.
      return Array.isArray(one) && inner.every(({ path }) => path.length > 0) ? [[key, without(one, inner)]] : [];
    }),
  );
}

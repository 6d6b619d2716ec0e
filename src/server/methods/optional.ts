/** The fields that are there, so that an absent option stays absent. */
export function optional<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> };
export function optional(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

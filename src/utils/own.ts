/** What a record holds under a name that people choose: nothing of what every object inherits, such as `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** The same of a value that may be anything: undefined where it is no object. */
export const propertyOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;

export type Json = Record<string, unknown>;

export const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** Parses JSON. Throws unless it is an object. */
export function readJson(text: string): Json {
  const value: unknown = JSON.parse(text);
  if (!isJson(value)) throw new TypeError(`no object: ${text}`);
  return value;
}

/** A member that is an object, or an empty one. */
export const objectIn = (json: Json | undefined, name: string): Json => {
  const value = json?.[name];
  return isJson(value) ? value : {};
};

/** The objects of a member that is a list. */
export const objectsIn = (json: Json | undefined, name: string): Json[] => {
  const value = json?.[name];
  return Array.isArray(value) ? value.filter(isJson) : [];
};

/** A member that is text, or nothing. */
export const textIn = (json: Json, name: string): string => {
  const value = json[name];
  return typeof value === "string" ? value : "";
};

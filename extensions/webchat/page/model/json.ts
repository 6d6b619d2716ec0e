/** Whether a value read from JSON is an object with named fields. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of a value of unknown type, the names of the fields are unknown too. */
type Fields<T> = [keyof T] extends [never] ? Record<string, unknown> : Partial<T>;

/** The fields of an object, any of which may be missing; an empty object for any other value. */
export function fields<T>(value: T): Fields<NonNullable<T>>;
export function fields(value: unknown): object {
  return isRecord(value) ? value : {};
}

/** The text of a table for a word from outside, which may be the name of something that every object has. */
export const ownText = (table: Readonly<Record<string, string>>, word: string): string | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** The value when it is a list, else an empty list. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value when it is a string, else the fallback. */
export function stringOr(value: unknown, fallback = ""): string {
  return typeof value === "string" ? value : fallback;
}

/** The value when it is a string that is not empty. */
export function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const MOST_NAME = 60;
/** Line ends and controls, characters that nothing shows, and characters that turn the text after them around. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]+/gu;

/** A name that a stranger chose, on one line and at most 60 characters long; undefined when nothing visible is left. */
export function shortNameIn(value: unknown): string | undefined {
  const characters = Array.from(stringOr(value).replace(UNSEEN, " ").trim());
  if (characters.length > MOST_NAME) return `${characters.slice(0, MOST_NAME - 1).join("")}…`;
  return nonEmpty(characters.join(""));
}

/** The value when it is a finite number, else the fallback. */
export function number(value: unknown, fallback = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

/** The strings of a list; other items are left out. */
export function strings(value: unknown): readonly string[] {
  return list(value).filter((item) => typeof item === "string");
}

/** Milliseconds since 1970 from a number or an ISO date; undefined for any other value. */
export function timeIn(value: unknown): number | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** The value of a text of JSON; undefined when it is none. */
export function readJsonText(raw: string): unknown {
  try {
    const value: unknown = JSON.parse(raw);
    return value;
  } catch {
    return undefined;
  }
}

/** Whether two values of JSON are the same. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const entries = Object.entries(one);
  if (Array.isArray(one) !== Array.isArray(other) || entries.length !== Object.keys(other).length) return false;
  return entries.every(([key, value]) => isSameJson(value, Reflect.get(other, key)));
}

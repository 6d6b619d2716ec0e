/** Whether a value read from JSON is an object with named fields. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of an object, or none when the value is something else. */
export function fields(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** The value when it is a list, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value when it is a string, else the fallback (empty when none is given). */
export function text(value: unknown, fallback = ""): string {
  return typeof value === "string" ? value : fallback;
}

/** The value when it is a string with something in it. */
export function word(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value when it is a finite number, else the fallback (0 when none is given). */
export function number(value: unknown, fallback = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

/** The strings of a list; anything else in it is left out. */
export function words(value: unknown): readonly string[] {
  return list(value).filter((item) => typeof item === "string");
}

/** Milliseconds since 1970 from a number or an ISO date; undefined when it is neither. */
export function moment(value: unknown): number | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}

import type { KeyValue } from "../../../src/types/journal.ts";

/** Small values that live as long as the test. */
export function memoryValues(): KeyValue {
  const values = new Map<string, string>();
  return { get: async (key) => values.get(key), set: async (key, value) => void values.set(key, value) };
}

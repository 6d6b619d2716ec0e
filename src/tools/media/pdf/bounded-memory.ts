/** Bytes of one array. A compressed stream of a few kilobytes can grow to gigabytes. */
const MOST_BYTES = 96 * 1024 * 1024;

const ARRAYS = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
] as const;

/**
 * Bounds the memory that this thread takes outside of its heap, which no limit of a thread covers: arrays larger than the limit
 * throw, and the decompression that makes no such array is missing. Called before a parser is loaded, and only in a thread of
 * its own.
 */
export function boundMemory(): void {
  for (const name of ARRAYS) {
    const made = globalThis[name];
    Object.defineProperty(globalThis, name, { value: bounded(made, made.BYTES_PER_ELEMENT), configurable: true });
  }
  // A parser that does not have it decompresses into an array.
  Object.defineProperty(globalThis, "DecompressionStream", { value: undefined, configurable: true });
}

const bounded = <T extends new (...given: never[]) => object>(array: T, bytesEach: number): T =>
  new Proxy(array, {
    construct(target, given: unknown[], newTarget) {
      const [length] = given;
      if (typeof length === "number" && length * bytesEach > MOST_BYTES)
        throw new RangeError("a part of it is too large when it is decompressed");
      const made: object = Reflect.construct(target, given, newTarget);
      return made;
    },
  });

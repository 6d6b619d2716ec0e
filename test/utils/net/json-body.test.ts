import fc from "fast-check";
import { expect, it } from "vitest";
import { readJsonBytes } from "../../../src/utils/net/json-body.ts";

/** A body in pieces whose connection stays open after them. */
function open(text: string, size: number): { body: ReadableStream<Uint8Array>; closed: () => boolean } {
  const bytes = Buffer.from(text);
  let isClosed = false;
  const body = new ReadableStream<Uint8Array>({
    start(out) {
      for (let at = 0; at < bytes.length; at += size) out.enqueue(bytes.subarray(at, at + size));
    },
    cancel: () => void (isClosed = true),
  });
  return { body, closed: () => isClosed };
}

it("ends with the value, though the connection stays open, which is closed then", async () => {
  const value = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
  await fc.assert(
    fc.asyncProperty(value, fc.integer({ min: 1, max: 9 }), async (given, size) => {
      const { body, closed } = open(`\n ${JSON.stringify(given)}`, size);
      const read = JSON.parse(Buffer.from(await readJsonBytes(body)).toString());
      expect(read).toEqual(JSON.parse(JSON.stringify(given)));
      expect(closed()).toBe(true);
    }),
  );
});

it("takes what is no object and no list to the end of the body", async () => {
  const parts = async function* () {
    yield Buffer.from('"a } and ');
    yield Buffer.from('a ]"');
  };
  expect(Buffer.from(await readJsonBytes(parts())).toString()).toBe('"a } and a ]"');
});

it("takes no more bytes than it may", async () => {
  await expect(readJsonBytes(open('{"a":"bcdef"}', 4).body, 6)).rejects.toThrow(RangeError);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { encoded, piecesOfJson } from "../../../../src/providers/call/body/json-pieces.ts";

/** Tools of two requests share their schemas, as those of one session do. */
const SCHEMAS = Array.from({ length: 4 }, () => ({ type: "object", properties: {} }));

const tools = fc
  .array(fc.tuple(fc.nat({ max: 3 }), fc.string({ unit: "grapheme" })), { maxLength: 5 })
  .map((all) =>
    all.map(([at, name]) => ({ type: "function", function: { name, description: name, parameters: SCHEMAS[at] } })),
  );
const system = fc
  .tuple(fc.constantFrom("system", "developer", "user"), fc.string({ unit: "grapheme", minLength: 1 }), fc.boolean())
  .map(([role, text, isNamed]) => ({ role, content: text.repeat(600), ...(isNamed && { name: "n" }) }));
const list = fc.tuple(system, fc.array(fc.jsonValue(), { maxLength: 20 })).map(([first, rest]) => [first, ...rest]);
const field = fc.oneof(fc.jsonValue(), fc.constant(undefined));
const body = fc
  .tuple(fc.dictionary(fc.string(), field), fc.record({ messages: list, input: fc.array(fc.jsonValue()), tools }))
  .map(([fields, lists]) => ({ ...fields, ...lists }));

const bytesOf = (request: Readonly<Record<string, unknown>>) =>
  Buffer.concat(encoded(piecesOfJson(request), (length) => Buffer.alloc(length, "?")));

test("the pieces of a request are its JSON in UTF-8, whatever was sent before", () => {
  fc.assert(
    fc.property(fc.array(body, { maxLength: 4 }), fc.dictionary(fc.string(), field), (requests, plain) => {
      for (const request of [...requests, plain, ...requests])
        expect(bytesOf(request).toString()).toBe(Buffer.from(JSON.stringify(request)).toString());
    }),
    { numRuns: 300 },
  );
});

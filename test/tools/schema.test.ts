import { expect, it } from "vitest";
import { z } from "zod";
import { toolSchema } from "../../src/tools/schema.ts";

const shown = (jsonSchema: Readonly<Record<string, unknown>>) => toolSchema({ input: z.unknown(), jsonSchema });
const TEXT = { type: "string" };

it.each([
  [
    "no type",
    { properties: { a: TEXT }, required: ["a", "b"] },
    { type: "object", properties: { a: TEXT }, required: ["a"] },
  ],
  ["no properties", { type: ["object", "null"], title: "T" }, { type: "object", title: "T", properties: {} }],
  ["another type", { type: "string" }, { type: "object", properties: {}, additionalProperties: true }],
  [
    "alternatives at the root",
    {
      type: "object",
      anyOf: [
        { properties: { a: TEXT, b: TEXT }, required: ["a", "b"] },
        { properties: { a: { type: "integer" } }, required: ["a"] },
      ],
      additionalProperties: false,
    },
    { type: "object", properties: { a: { anyOf: [TEXT, { type: "integer" }] }, b: TEXT }, required: ["a"] },
  ],
  [
    "parts at the root",
    {
      allOf: [{ $ref: "#/definitions/one" }, { properties: { b: TEXT }, required: ["b"] }],
      definitions: { one: { properties: { a: TEXT }, required: ["a"] } },
    },
    { type: "object", properties: { a: TEXT, b: TEXT }, required: ["a", "b"] },
  ],
  [
    "references",
    {
      $schema: "x",
      $ref: "#/$defs/root",
      $defs: {
        root: {
          type: "object",
          properties: {
            list: { type: "array", items: { $ref: "#/$defs/node", description: "d" } },
            gone: { $ref: "#/$defs/none" },
          },
        },
        node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, size: { type: "integer" } } },
      },
    },
    {
      type: "object",
      properties: {
        list: {
          type: "array",
          items: { type: "object", properties: { next: {}, size: { type: "integer" } }, description: "d" },
        },
        gone: {},
      },
    },
  ],
])("a schema with %s is shown as an object that all providers take", (_what, given, expected) => {
  expect(shown(given)).toEqual(expected);
});

it("a schema that becomes too large with its references allows any object", () => {
  const level = (at: number) => ({
    properties: Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, { $ref: `#/$defs/l${at + 1}` }])),
  });
  const $defs = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`l${at}`, level(at)]));
  expect(shown({ ...level(-1), $defs })).toEqual({ type: "object", properties: {}, additionalProperties: true });
});

it("a plain schema stays as it is, and is made once", () => {
  const plain = {
    type: "object",
    properties: { a: { anyOf: [TEXT, { type: "null" }] } },
    required: ["a"],
    additionalProperties: false,
  };
  expect(shown(plain)).toEqual(plain);
  expect(shown(plain)).toBe(shown(plain));
});

import { describe, expect, test } from "vitest";
import { mergePatch } from "../../../src/app/config/edit/merge.ts";
import { wireConfig, restored } from "../../../src/app/config/edit/wire-config.ts";
import { Secret } from "../../../src/types/secret.ts";

const MARK = "__OPENCLAW_REDACTED__";

const STORED = {
  gateway: { port: 1, auth: { token: "a-token-of-the-file", password: "${GATEWAY_PASSWORD}" } },
  mcp: { servers: { notes: { command: "notes", args: ["--token", "s3cret-one", "--quiet"] } } },
  list: [
    { id: "a", apiKey: "key-of-a-123456" },
    { id: "b", apiKey: "key-of-b-123456" },
  ],
  plain: [{ name: "x", token: "token-of-x-1234" }, { name: "y" }],
};

test("a secret is the placeholder as a whole, and a variable's name is no secret", () => {
  expect(wireConfig(STORED)).toEqual({
    gateway: { port: 1, auth: { token: MARK, password: "${GATEWAY_PASSWORD}" } },
    mcp: { servers: { notes: { command: "notes", args: ["--token", MARK, "--quiet"] } } },
    list: [
      { id: "a", apiKey: MARK },
      { id: "b", apiKey: MARK },
    ],
    plain: [{ name: "x", token: MARK }, { name: "y" }],
  });
  expect(wireConfig({ a: [new Secret("anything at all")], url: "https://user:pass-word@example.org" })).toEqual({
    a: [MARK],
    url: MARK,
  });
});

describe("what is written back", () => {
  test("keeps every value when nothing was changed", () =>
    expect(restored(wireConfig(STORED), STORED)).toEqual(STORED));

  test.each([
    [
      "items changed places",
      {
        list: [
          { id: "b", apiKey: MARK },
          { id: "a", apiKey: MARK },
        ],
      },
      "list.0.apiKey",
      "key-of-b-123456",
    ],
    ["an item was removed", { list: [{ id: "b", apiKey: MARK }] }, "list.0.apiKey", "key-of-b-123456"],
    [
      "an item was added before",
      { list: [{ id: "n" }, { id: "a", apiKey: MARK, more: 1 }] },
      "list.1.apiKey",
      "key-of-a-123456",
    ],
    [
      "an item without id moved",
      { plain: [{ name: "y" }, { name: "x", token: MARK }] },
      "plain.1.token",
      "token-of-x-1234",
    ],
    [
      "a field beside it changed",
      { plain: [{ name: "z", token: MARK }, { name: "y" }] },
      "plain.0.token",
      "token-of-x-1234",
    ],
    [
      "an argument came first",
      { mcp: { servers: { notes: { args: ["-v", "--token", MARK, "--quiet"] } } } },
      "mcp.servers.notes.args.2",
      "s3cret-one",
    ],
  ])("keeps the value when %s", (_, next, path, value) => {
    const kept = path.split(".").reduce<unknown>((at, name) => Reflect.get(Object(at), name), restored(next, STORED));
    expect(kept).toBe(value);
  });

  test.each([
    ["another key", { gateway: { mode: MARK } }, "gateway.mode"],
    ["a key whose value is no secret", { gateway: { port: MARK } }, "gateway.port"],
    ["an unknown item", { list: [{ id: "c", apiKey: MARK }] }, "list[0].apiKey"],
    ["an item that may be any", { plain: [{ name: "w", token: MARK }] }, "plain[0].token"],
  ])("has no value for the placeholder at %s", (_, next, key) => {
    expect(() => restored(next, STORED)).toThrow(key);
  });
});

describe("a merge patch", () => {
  const merge = (base: unknown, patch: unknown, ...replace: string[]) => mergePatch(base, patch, new Set(replace));

  test("removes keys by null, at any depth", () => {
    expect(merge({ a: { b: 1, c: 2 }, d: 3 }, { a: { b: null }, d: null, n: { o: null } })).toEqual({
      value: { a: { c: 2 }, n: {} },
      losing: [],
    });
  });

  test("merges lists with ids item by item", () => {
    const base = { list: [{ id: "a", x: 1, tags: ["t"] }, { id: "b" }] };
    expect(merge(base, { list: [{ id: "b", y: 2 }, { id: "c" }] })).toEqual({
      value: { list: [{ id: "a", x: 1, tags: ["t"] }, { id: "b", y: 2 }, { id: "c" }] },
      losing: [],
    });
    expect(merge(base, { list: [{ id: "a", tags: [] }] }).losing).toEqual(["list[].tags"]);
    expect(merge(base, { list: [] }, "list").value).toEqual({ list: [] });
  });

  test.each([
    ["items left out", { a: ["1"] }, ["a"]],
    ["a list removed", { a: null }, ["a"]],
    ["a list replaced by a text", { a: "1" }, ["a"]],
    ["a section removed", { s: null }, ["s.b"]],
    ["items only added", { a: ["0", "1", "2", "3"] }, []],
  ])("names the lists that lose items: %s", (_, patch, losing) => {
    const base = { a: ["1", "2"], s: { b: ["x"], c: [] } };
    expect(merge(base, patch).losing).toEqual(losing);
    expect(merge(base, patch, ...losing).losing).toEqual([]);
    expect(mergePatch(base, patch, "all").losing).toEqual([]);
  });
});

import { expect, test } from "vitest";
import {
  changesBetween,
  HIDDEN,
  patchBetween,
  rebased,
  withoutKey,
  withValue,
} from "../../extensions/webchat/page/config/draft.ts";
import {
  begun,
  pathOfKey,
  refused,
  reloaded,
  withProblem,
  withTyped,
} from "../../extensions/webchat/page/config/form.ts";
import { foundKeys } from "../../extensions/webchat/page/config/search.ts";
import { lineOf, linesOfKeys, readText } from "../../extensions/webchat/page/config/text.ts";
import {
  hasKey,
  keyAt,
  limitsText,
  numberFrom,
  shapeOf,
  type SchemaNode,
} from "../../extensions/webchat/page/config/shape.ts";
import { shownSchema } from "../../src/app/config/shown-schema.ts";
import { isRecord } from "../../src/app/config/schema/problem.ts";

const { schema } = shownSchema({ channels: {}, plugins: {} });
const kindAt = (key: string) => shapeOf(keyAt(schema, key.split(".")).node).kind;

test("each kind of value of the config has its field", () => {
  expect(
    Object.fromEntries(
      [
        "gateway",
        "gateway.port",
        "gateway.bind",
        "gateway.controlUi.enabled",
        "gateway.customBindHost",
        "gateway.trustedProxies",
        "gateway.auth.token",
        "agents.list",
        "agents.defaults.models",
        "cron.retry.backoffMs",
        "cron.sessionRetention",
        "session.maintenance.pruneAfter",
        "tools.message.allowTargets",
      ].map((key) => [key, kindAt(key)]),
    ),
  ).toEqual({
    gateway: "group",
    "gateway.port": "number",
    "gateway.bind": "choice",
    "gateway.controlUi.enabled": "switch",
    "gateway.customBindHost": "text",
    "gateway.trustedProxies": "lines",
    "gateway.auth.token": "variants",
    "agents.list": "items",
    "agents.defaults.models": "group",
    "cron.retry.backoffMs": "lines",
    "cron.sessionRetention": "variants",
    "session.maintenance.pruneAfter": "text",
    "tools.message.allowTargets": "lines",
  });
});

test("no key with a type of its own is left to JSON", () => {
  const left: string[] = [];
  const walk = (node: SchemaNode, path: string): void => {
    const shape = shapeOf(node);
    if (shape.kind === "json" && (node["type"] !== undefined || node["anyOf"] !== undefined)) left.push(path);
    if (shape.kind === "items") walk(shape.item, `${path}.[]`);
    if (shape.kind === "variants") shape.variants.forEach((variant) => walk(variant, path));
    if (shape.kind !== "group") return;
    for (const [name, child] of shape.keys) walk(child, `${path}.${name}`);
    if (isRecord(shape.rest)) walk(shape.rest, `${path}.*`);
  };
  walk(schema, "");
  expect(left).toEqual([]);
});

test("a number says its limits, and keeps them", () => {
  const limits = { isWhole: true, min: 0, max: 65_535 };
  expect(limitsText(limits)).toBe("from 0 to 65535");
  expect(limitsText({ isWhole: false, above: 0, max: 1 })).toBe("above 0, at most 1");
  expect(numberFrom("18789", limits)).toEqual({ value: 18_789 });
  for (const text of ["-1", "65536", "1.5", "x", ""]) expect(numberFrom(text, limits)).toHaveProperty("problem");
});

test("a key of a map or a list is known by its pattern", () => {
  expect(keyAt(schema, ["models", "providers", "a.b", "models", 0, "id"]).pattern).toBe(
    "models.providers.*.models.*.id",
  );
});

test("what is no key of the config is told from what people name there, and from what may have any form", () => {
  for (const key of ["gateway", "gateway.port", "agents.list[0].workspace", "models.providers.mine.baseUrl"])
    expect(hasKey(schema, pathOfKey(key)), key).toBe(true);
  for (const key of ["nonesuch", "gateway.prot", "gateway.port.number", "agents.list[0].nonesuch"])
    expect(hasKey(schema, pathOfKey(key)), key).toBe(false);
});

test("keys are found by their name first, and those of entries as often as there are entries", () => {
  const config = { agents: { list: [{ id: "main" }, { id: "other" }] } };
  const found = foundKeys(schema, config, "Default Workspace").map((path) => path.join("."));
  expect(found).toContain("agents.defaults.workspace");
  expect(foundKeys(schema, config, "agents list workspace").map((path) => path.join("."))).toEqual(
    expect.arrayContaining(["agents.list.0.workspace", "agents.list.1.workspace"]),
  );
  expect(foundKeys(schema, config, "port")[0]).toEqual(["gateway", "port"]);
  expect(foundKeys(schema, config, "no such words")).toEqual([]);
});

test("a key that is taken out takes the groups with it that the file did not have", () => {
  const base = { cron: {} };
  const draft = withValue(withValue(base, ["logging", "file"], "/x"), ["cron", "enabled"], false);
  expect(withoutKey(withoutKey(draft, ["logging", "file"], base), ["cron", "enabled"], base)).toEqual(base);
});

test("a group that comes is told by its keys, and a changed item of a list by its own", () => {
  const before = { list: [{ id: "a", on: true }, { id: "b" }], names: ["x"] };
  const after = {
    list: [{ id: "a", on: false }, { id: "b" }],
    names: ["x", "y"],
    cron: { retry: { max: 1 } },
    env: {},
  };
  expect(changesBetween(before, after).map(({ path }) => path.join("."))).toEqual([
    "list.0.on",
    "names",
    "cron.retry.max",
    "env",
  ]);
});

test("the patch has whole lists, null for what goes, and the placeholder of a hidden value where a list has one", () => {
  const before = { a: { b: 1, c: 2 }, list: [{ token: HIDDEN, on: true }], token: HIDDEN };
  const after = { a: { c: 2 }, list: [{ token: HIDDEN, on: false }], token: HIDDEN };
  expect(patchBetween(before, after)).toEqual({ a: { b: null }, list: [{ token: HIDDEN, on: false }] });
});

test("changes are made to the file as it is now, and a key that both changed is named", () => {
  const base = { gateway: { port: 1, bind: "lan" }, cron: { enabled: true } };
  const draft = { gateway: { port: 2, bind: "lan" }, cron: { enabled: false } };
  const now = { gateway: { port: 3, bind: "loopback" }, cron: { enabled: true } };
  expect(rebased(base, draft, now)).toEqual({
    draft: { gateway: { port: 2, bind: "loopback" }, cron: { enabled: false } },
    clashes: [{ path: ["gateway", "port"], before: 1, after: 3 }],
  });
  expect(rebased(base, draft, draft).clashes).toEqual([]);
});

test("what was typed stays over a change of the file, until it is undone", () => {
  const form = withProblem(
    withTyped(begun({ value: { port: 1, name: "a" }, hash: "1" }), ["name"], "b", { text: "b " }),
    ["port"],
    { text: "1x", problem: "No number." },
  );
  const after = reloaded(form, { value: { port: 5, name: "c" }, hash: "2" });
  expect(after.draft).toEqual({ port: 5, name: "b" });
  expect([...after.typed.keys()].sort()).toEqual(["name", "port"]);
  expect([...after.clashes.keys()]).toEqual(["name"]);
  expect(reloaded(withTyped(after, ["name"], "c"), { value: { port: 5, name: "d" }, hash: "3" }).draft).toEqual({
    port: 5,
    name: "d",
  });
});

test("the problems of a refusal stand at their keys, until the key is changed", () => {
  const details = { issues: [{ path: "agents.list.0.id", message: "Too short." }] };
  const form = refused(begun({ value: { agents: { list: [{ id: "" }] } }, hash: "1" }), details);
  expect(form.issues.get("agents.list.0.id")).toBe("Too short.");
  expect(withTyped(form, ["agents", "list", 0, "id"], "main").issues.size).toBe(0);
});

test("a group that both the file and the draft begin holds the keys of both", () => {
  const now = { session: { idleMinutes: 5, scope: "global" } };
  expect(rebased({}, { session: { idleMinutes: 77 } }, now)).toEqual({
    draft: { session: { idleMinutes: 77, scope: "global" } },
    clashes: [{ path: ["session", "idleMinutes"], before: undefined, after: 5 }],
  });
  expect(rebased({ cron: { enabled: false } }, {}, { cron: { enabled: false }, env: {} }).draft).toEqual({ env: {} });
});

test("a text that is no JSON5 says where, and each key of one has its line", () => {
  expect(readText("{\n  a: 1,\n  b: ]\n}")).toEqual({
    problem: { line: 3, column: 6, message: "invalid character ']'" },
  });
  expect(readText("")).toEqual({ value: {} });
  const lines = linesOfKeys(
    [
      '{ // "agents": 1',
      '  "agents": {',
      "    list: [",
      "      { id: 'a' },",
      "      {",
      "        id: 'b: {',",
      "      },",
      "    ],",
      "  },",
      "  /* x */ port: 5 }",
    ].join("\n"),
  );
  expect([
    lineOf(lines, "agents"),
    lineOf(lines, "agents.list.0.id"),
    lineOf(lines, "agents.list.1"),
    lineOf(lines, "agents.list.1.id"),
    lineOf(lines, "agents.list.1.name"),
    lineOf(lines, "port"),
    lineOf(lines, "gone"),
  ]).toEqual([2, 4, 5, 6, 5, 10, 1]);
});

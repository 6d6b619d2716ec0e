import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, it } from "vitest";
import { parseConfigValue, setConfigValue, unsetConfigValue } from "../../../src/app/config/edit/edit.ts";
import { readPath, showPath, valueAt, type KeyPath } from "../../../src/app/config/schema/problem.ts";
import { removeConfigValue, writeConfigValue, writeConfigValues } from "../../../src/app/config/edit/write.ts";

const TEXT = `// my config
{
  gateway: {
    port: 18789, // the usual one
    /* open */ bind: "loopback"
  },
  unknownToUs: [1, 2, ],
  channels: { telegram: { botToken: "x" } },
}
`;

describe("several who change the file at the same time", () => {
  it("lose nothing of each other's changes", async () => {
    const dir = mkdtempSync(join(tmpdir(), "openclaw-config-"));
    try {
      const path = join(dir, "new", "openclaw.json");
      const keys = Array.from({ length: 8 }, (_, at) => `NAME_${at}`);
      await Promise.all(keys.map((key) => writeConfigValue({ path, env: {} }, ["env", "vars", key], key)));
      const { env } = JSON5.parse<{ env: { vars: Record<string, string> } }>(readFileSync(path, "utf8"));
      expect(Object.keys(env.vars).toSorted()).toEqual(keys);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("setting a value", () => {
  const set = (path: string, value: unknown, text = TEXT) => setConfigValue(text, readPath(path), value);

  it("replaces just the value", () => {
    expect(set("gateway.port", 4711)).toBe(TEXT.replace("18789", "4711"));
    expect(set("unknownToUs[1]", "two")).toBe(TEXT.replace("2, ]", '"two", ]'));
  });

  it("adds keys in the layout that is there", () => {
    expect(set("gateway.adopt", true)).toBe(TEXT.replace('bind: "loopback"\n', 'bind: "loopback",\n    adopt: true\n'));
    expect(set("channels.telegram.dmPolicy", "open")).toBe(TEXT.replace('"x" }', '"x", dmPolicy: "open" }'));
    expect(set("unknownToUs[2]", 3)).toBe(TEXT.replace("2, ]", "2, 3, ]"));
    expect(set("session.reset.mode", "idle")).toBe(
      TEXT.replace(/\}\n$/, '  session: {\n    "reset": {\n      "mode": "idle"\n    }\n  },\n}\n'),
    );
    expect(set("a.b", 1, "{}")).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
    expect(set("a", 1, "")).toBe('{\n  "a": 1\n}\n');
    expect(set("a", 1, "{ // nothing yet\n}")).toBe('{ // nothing yet\n  "a": 1\n}');
    expect(set("b", 2, '{\r\n\t"a": 1 // one\r\n}')).toBe('{\r\n\t"a": 1, // one\r\n\t"b": 2\r\n}');
  });

  it("refuses a place that is not there", () => {
    expect(() => set("unknownToUs[7]", 1)).toThrow("There is no item [7]: the list has 2.");
    expect(() => readPath("a..[")).toThrow("no key path");
  });
});

describe("removing a key", () => {
  const unset = (path: string, text = TEXT) => unsetConfigValue(text, readPath(path));

  it("keeps everything else", () => {
    expect(unset("gateway.port")).toBe(TEXT.replace("port: 18789, ", ""));
    expect(unset("gateway.bind")).toBe(
      TEXT.replace(
        '18789, // the usual one\n    /* open */ bind: "loopback"',
        "18789 // the usual one\n    /* open */ ",
      ),
    );
    expect(unset("channels")).toBe(TEXT.replace(/  channels.*\n/, ""));
    expect(unset("unknownToUs[0]")).toBe(TEXT.replace("[1, 2, ]", "[2, ]"));
    expect(unset("nope.nothing")).toBe(TEXT);
    expect(unset("a", '{"b":1,"a":2}')).toBe('{"b":1}');
    expect(unset("a", '{"a":1,"a":2}')).toBe("{}");
  });
});

const name = fc.constantFrom("a", "b", "port", "telegram", "-100123", "with space", "x.y", "ключ");
const json = fc.jsonValue({ maxDepth: 3 });
const dictionary = <T>(values: fc.Arbitrary<T>) => fc.dictionary(name, values, { noNullPrototype: true });
const tree = dictionary(fc.oneof(json, dictionary(json)));
const layout = fc.constantFrom<(value: unknown) => string>(
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, null, 2),
  (value) => JSON5.stringify(value, null, 2),
  (value) => `/* head */ ${JSON5.stringify(value, null, "\t").replaceAll(",\n", ", // note, }\n")}\n// tail {`,
  (value) => JSON.stringify(value, null, 2).replaceAll("\n", "\r\n"),
);

describe("any config", () => {
  it("returns the changed value, and everything else as it was", () => {
    fc.assert(
      fc.property(tree, layout, fc.array(name, { minLength: 1, maxLength: 3 }), json, (value, write, keys, wanted) => {
        const before = write(value);
        const path: KeyPath = keys;
        if (keys.some((_key, depth) => Array.isArray(valueAt(value, keys.slice(0, depth))))) return;
        const after = setConfigValue(before, path, wanted);
        const read: unknown = JSON5.parse(after);
        expect(JSON.stringify(valueAt(read, path))).toBe(JSON.stringify(wanted));
        for (const key of Object.keys(value)) {
          if (key !== keys[0]) expect(JSON.stringify(valueAt(read, [key]))).toBe(JSON.stringify(value[key]));
        }
      }),
    );
  });

  it("changes no byte outside the value that is set", () => {
    const sentinel = "§ sentinel §";
    fc.assert(
      fc.property(tree, layout, name, (value, write, key) => {
        if (!Object.hasOwn(value, key)) return;
        const before = write(value);
        const [head = "", tail = ""] = setConfigValue(before, [key], sentinel).split(JSON.stringify(sentinel));
        expect(before.startsWith(head) && before.endsWith(tail)).toBe(true);
        const replaced = before.slice(head.length, before.length - tail.length);
        expect(JSON.stringify(JSON5.parse(replaced))).toBe(JSON.stringify(value[key]));
      }),
    );
  });

  it("is what it was once an added key is removed", () => {
    fc.assert(
      fc.property(tree, layout, json, (value, write, added) => {
        if (Object.keys(value).length === 0) return;
        const before = write(value);
        expect(unsetConfigValue(setConfigValue(before, ["added"], added), ["added"])).toBe(before);
      }),
    );
  });

  it("is without a key once it was removed", () => {
    fc.assert(
      fc.property(tree, layout, name, (value, write, key) => {
        const after = unsetConfigValue(write(value), [key]);
        const { [key]: _gone, ...rest } = value;
        expect(JSON.stringify(JSON5.parse(after))).toBe(JSON.stringify(rest));
      }),
    );
  });

  it("has paths that read back", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(name, fc.nat(9)), { minLength: 1 }), (path) => {
        expect(readPath(showPath(path))).toEqual(path);
      }),
    );
  });
});

describe("typed values", () => {
  it("are JSON5 or text", () => {
    expect(["1", "true", "[1,]", "{a: 1}", "loopback", "'x'"].map(parseConfigValue)).toEqual([
      1,
      true,
      [1],
      { a: 1 },
      "loopback",
      "x",
    ]);
  });
});

describe("writing the file", () => {
  it("is private, keeps the one before, and is refused when it would break the config", async () => {
    const dir = mkdtempSync(join(tmpdir(), "config-edit-"));
    const path = join(dir, "openclaw.json");
    const options = { path, env: {} };
    try {
      await writeConfigValue(options, ["gateway", "port"], 1);
      const first = readFileSync(path, "utf8");
      await writeConfigValue(options, ["gateway", "port"], 2);
      expect(readFileSync(`${path}.bak`, "utf8")).toBe(first);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const before = readFileSync(path, "utf8");
      await expect(writeConfigValue(options, ["gateway", "prt"], 2)).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: "Not written: gateway.prt: unknown key; did you mean gateway.port?",
      });
      expect(readFileSync(path, "utf8")).toBe(before);
      const port = { path: ["gateway", "port"], value: 5 };
      const wrong = { path: ["gateway", "prt"], value: 5 };
      await expect(writeConfigValues(options, [port, wrong])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
      expect(readFileSync(path, "utf8")).toBe(before);
      await writeConfigValues(options, [port, { path: ["gateway", "reload", "mode"], value: "off" }]);
      expect(JSON5.parse(readFileSync(path, "utf8"))).toEqual({ gateway: { port: 5, reload: { mode: "off" } } });
      expect(await removeConfigValue(options, ["gateway", "bind"])).toBeUndefined();
      // A file that is wrong already can be mended key by key, and a secret of the gateway's environment is no problem here.
      writeFileSync(path, '{ gateway: { prt: 1, bnd: 2, auth: { token: "${ONLY_THERE}" } } }');
      expect(await removeConfigValue(options, ["gateway", "prt"])).toBe(options.path);
      expect(await removeConfigValue(options, ["gateway", "bnd"])).toBe(options.path);
      expect(readFileSync(path, "utf8")).toBe('{ gateway: { auth: { token: "${ONLY_THERE}" } } }');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

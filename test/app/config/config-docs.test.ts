import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { describe, expect, it } from "vitest";
import { schemaKeys } from "../../../src/app/config/keys/schema-keys.ts";
import { configSchema } from "../../../src/app/config/schema/schema.ts";
import { outdatedFiles } from "../../../scripts/docs/generated-files.ts";
import { ERROR_CODES } from "../../../src/types/errors.ts";

const root = join(import.meta.dirname, "../../..");
const read = (name: string) => readFileSync(join(root, name), "utf8");

describe("the docs", () => {
  it("say what the schema says", async () => {
    expect(await outdatedFiles(root)).toEqual([]);
    expect(read("docs/reference/config.md")).toContain("| `channels.telegram.botToken` | string or secret reference |");
  });

  it("have a title and a description for every key", () => {
    const isNamed = (key: { path: readonly string[] }) => !["*", "[]"].includes(key.path.at(-1) ?? "");
    const bare = schemaKeys()
      .filter(isNamed)
      .filter(
        ({ node, path }) =>
          !path.some((part) => ["source", "provider", "id"].includes(part)) && !(node["title"] && node["description"]),
      );
    expect(bare.map((key) => key.path.join("."))).toEqual([]);
  });

  it("have an example that loads, with every offered line taken in as well", () => {
    const text = read("openclaw.json.example");
    expect(() => configSchema.parse(JSON5.parse(text))).not.toThrow();
    const all = text.replaceAll(/^( *)\/\/ ((?:\$?\w+: |["{}[\]]| {2,}).*)$/gm, "$1$2");
    const value: unknown = JSON5.parse(all);
    expect(value).toMatchObject({
      gateway: { port: 18789 },
      channels: { telegram: {} },
      session: { dmScope: "per-channel-peer" },
    });
    expect(() => configSchema.parse(value)).not.toThrow();
  });

  it("list every error code with its exit code, and no other", () => {
    const rows = [...read("docs/reference/errors.md").matchAll(/^\| `([A-Z_]+)` \| (\d+) \| .{10,} \| .{10,} \|$/gm)];
    const listed = rows.map(([, code = "", exit]) => [code, Number(exit)] as const);
    const codes = Object.entries(ERROR_CODES).map(([code, { exit }]) => [code, exit] as const);
    expect(new Map(listed)).toEqual(new Map(codes));
    expect(listed).toHaveLength(codes.length);
  });

  it("list no error code that nothing throws", () => {
    const files = ["src", "bin", "extensions"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    );
    const code = files.filter((name) => /\.m?ts$|\.mjs$/.test(name) && !name.endsWith("types/errors.ts")).map(read);
    expect(Object.keys(ERROR_CODES).filter((name) => !code.some((text) => text.includes(name)))).toEqual([]);
  });
});

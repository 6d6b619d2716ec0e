import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keysBelow, schemaKeys } from "../../../src/app/config/keys/schema-keys.ts";
import { describeSchema } from "../../../src/app/config/schema/schema.ts";
import { telegramConfig } from "../../../extensions/telegram/config.ts";
import { NAMED, NOT_SHOWN } from "./config-keys.ts";
import { ROWS, type Seen, type Talk, watch } from "./config-rows.ts";

/** What is seen of the same talk without the key, found once for each talk. */
const plainly = new Map<Talk, Promise<Seen>>();
const without = (talk: Talk): Promise<Seen> => {
  const seen = plainly.get(talk) ?? watch({}, talk);
  plainly.set(talk, seen);
  return seen;
};

describe("a key of the config, in a gateway between a platform and a model", () => {
  it.each(ROWS)("$key changes what they see", async ({ config, talk, shows }) => {
    expect([shows(await without(talk)), shows(await watch(config, talk))]).toEqual([false, true]);
  });
});

const paths = [...schemaKeys(), ...keysBelow(describeSchema(telegramConfig), ["channels", "telegram"])].map(
  ({ path }) => path.filter((part) => part !== "*" && part !== "[]"),
);
const joined = (path: readonly string[]): string => path.join(".");
const parentsOf = (name: string) =>
  new Set(paths.filter((path) => path.at(-1) === name).map((path) => joined(path.slice(0, -1))));
const secrets = new Set([...parentsOf("source")].filter((parent) => parentsOf("id").has(parent)));

/** Without the parts of a secret reference; what a provider or a source is called is a part of one in most places. */
const plain = (path: readonly string[]): string => {
  const isSecretId = path.at(-1) === "id" && secrets.has(joined(path.slice(0, -1)));
  return joined(path.filter((part) => part !== "source" && part !== "provider").slice(0, isSecretId ? -1 : undefined));
};

const keys = new Set(paths.map(plain));
const leaves = [...keys].filter((key) => ![...keys].some((other) => other.startsWith(`${key}.`)));

/** For editors; and what the core reads as `channels.enabled`. */
const ELSEWHERE = ["$schema", "channels.telegram.enabled"];
/** It may only become smaller. */
const MOST_NOT_SHOWN = 329;
const shown = [...ROWS.map(({ key }) => key), ...NAMED.flatMap(([, , own]) => own)];

describe("every key of the schema", () => {
  it("has a test that shows its effect, or is known to have none yet", () => {
    const accounted = new Set([...shown, ...NOT_SHOWN, ...ELSEWHERE]);
    expect(leaves.filter((key) => !accounted.has(key))).toEqual([]);
  });

  it("is there under the name that the lists have, in one of them", () => {
    expect([...shown, ...NOT_SHOWN].filter((key) => !keys.has(key))).toEqual([]);
    expect(NOT_SHOWN.filter((key) => shown.includes(key))).toEqual([]);
    expect(NOT_SHOWN.length).toBeLessThanOrEqual(MOST_NOT_SHOWN);
  });

  it.each(NAMED)("%s has the test that is named: %s", (file, title) => {
    expect(readFileSync(join(import.meta.dirname, "../../..", file), "utf8")).toContain(JSON.stringify(title));
  });
});

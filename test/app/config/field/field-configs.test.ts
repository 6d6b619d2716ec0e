import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../../../src/app/config/load.ts";
import { ConfigError } from "../../../../src/app/config/schema/problem.ts";
import { bundledContributions, contributedSchemas } from "../../../../src/app/contributions/extensions.ts";
import { DIFFERENCES, FIELD_CONFIGS, FIELD_VARIABLES, REAL_VERDICTS, homeWithConfigs } from "./configs.ts";

let home: string;
beforeAll(() => {
  home = homeWithConfigs();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function judged(name: string) {
  const env = { HOME: home, ...FIELD_VARIABLES };
  const path = join(home, "state", `${name}.json5`);
  const options = { path, env, ...(await contributedSchemas(bundledContributions())) };
  try {
    return { isAccepted: true, notes: (await loadConfig(options)).warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { isAccepted: false, notes: error.problems };
  }
}

const different = new Map(DIFFERENCES.flatMap(({ configs, ...rest }) => configs.map((name) => [name, rest] as const)));

describe("a config of the field", () => {
  it.each(FIELD_CONFIGS)("is judged as OpenClaw judges it, or otherwise for a stated reason: %s", async (name) => {
    const { isAccepted, notes } = await judged(name);
    const isAcceptedThere = REAL_VERDICTS.refused[name] === undefined;
    const said = notes.map(({ text }) => text).join("\n");
    expect(isAccepted, said).toBe(different.has(name) ? !isAcceptedThere : isAcceptedThere);
    if (!isAccepted) expect(notes.length).toBeGreaterThan(0);
    expect(different.get(name)?.here ?? isAccepted).toBe(isAccepted);
  });

  it.each(FIELD_CONFIGS)("has a line for whatever is said about a key of it: %s", async (name) => {
    const { notes } = await judged(name);
    expect(notes.filter(({ line, key }) => line === undefined && key !== "").map(({ text }) => text)).toEqual([]);
  });

  it("is judged otherwise only where a config of the corpus shows it", () => {
    const named = [...different.keys()];
    expect(named.filter((name) => !FIELD_CONFIGS.includes(name))).toEqual([]);
    expect(Object.keys(REAL_VERDICTS.refused).filter((name) => !FIELD_CONFIGS.includes(name))).toEqual([]);
    expect(new Set(named).size).toBe(DIFFERENCES.flatMap(({ configs }) => configs).length);
  });

  it("finds each reason for another judgement in the guide", () => {
    const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guides/migration.md"), "utf8");
    for (const { what, why } of DIFFERENCES) expect(guide).toContain(`| ${what} | ${why} |`);
  });
});

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { FIELD_CONFIGS, FIELD_VARIABLES, homeWithConfigs, REAL_VERDICTS } from "../app/config/field/configs.ts";

/** The program of OpenClaw, which `npm run peers` installs. */
const FIELD = process.env["OPENCLAW_FIELD"] ?? "";
const TIMEOUT_MS = 120_000;

let home: string;
beforeAll(() => {
  home = homeWithConfigs();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const answer = z.object({ valid: z.boolean(), issues: z.array(z.object({ path: z.string() })).default([]) });

/** The places of a config that OpenClaw's own check refuses, each once; none when it accepts the config. */
async function refusedBy(name: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, [FIELD, "config", "validate", "--json"], {
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      OPENCLAW_STATE_DIR: join(home, "state"),
      OPENCLAW_CONFIG_PATH: join(home, "state", `${name}.json5`),
      NO_COLOR: "1",
      ...FIELD_VARIABLES,
    },
    stdio: ["ignore", "pipe", "ignore"],
    cwd: home,
  });
  let out = "";
  child.stdout.on("data", (piece: Buffer) => (out += piece.toString()));
  await new Promise((resolve) => child.once("close", resolve));
  const { valid, issues } = answer.parse(JSON.parse(out));
  expect(valid).toBe(issues.length === 0);
  return [...new Set(issues.map(({ path }) => path))].toSorted();
}

describe.skipIf(FIELD === "")("the check of configs of OpenClaw", () => {
  test("is that of the version whose verdicts are recorded", async () => {
    const { default: about } = await import(join(dirname(FIELD), "package.json"), { with: { type: "json" } });
    expect(about.version).toBe(REAL_VERDICTS.openclaw);
  });

  test.each(FIELD_CONFIGS)(
    "says what is recorded of %s",
    async (name) => {
      expect(await refusedBy(name)).toEqual(REAL_VERDICTS.refused[name] ?? []);
    },
    TIMEOUT_MS,
  );
});

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { getModels, getProviders } from "@mariozechner/pi-ai";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const program = join(import.meta.dirname, "../../bin/openclaw.mjs");
const listed = z.object({ models: z.array(z.looseObject({ provider: z.string(), id: z.string(), name: z.string() })) });

test("the built program knows every model that the SDK knows", async () => {
  const home = await mkdtemp(join(tmpdir(), "models-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const env = { PATH: process.env["PATH"], HOME: home };
  const args = [program, "models", "list", "--all", "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 16 * 1024 * 1024 });
  const { models } = listed.parse(JSON.parse(stdout));
  const shown = new Map(models.map(({ provider, id, name }) => [`${provider}/${id}`, name]));
  const known = getProviders().flatMap((provider) => getModels(provider));
  expect(known.length).toBeGreaterThan(500);
  for (const { provider, id, name } of known) expect(shown.get(`${provider}/${id}`)).toBe(name);
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEndpoint } from "../../extensions/memory-core/test/memory-kit.ts";
import { resolvePaths } from "../../src/app/config/paths.ts";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { memoryCheck } from "../../src/app/doctor/agents/memory-check.ts";

function state() {
  const dir = mkdtempSync(join(tmpdir(), "doctor-memory-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: dir });
  mkdirSync(join(dir, "workspace", "memory"), { recursive: true });
  mkdirSync(join(dir, "state", "memory"), { recursive: true });
  const results = async (memorySearch: unknown = {}, plugins: unknown = {}) => {
    const config = configSchema.parse({ agents: { defaults: { memorySearch } }, plugins });
    return memoryCheck({ config, paths, env: { HOME: dir } }).run(new AbortController().signal);
  };
  return { dir, results };
}

test("a memory without problems is said in one line, and another one is not looked at", async () => {
  const { results } = state();
  expect(await results()).toEqual([{ status: "ok", message: "Agents find their notes by their words." }]);
  expect(await results({}, { slots: { memory: "none" } })).toEqual([{ status: "ok", message: "The memory is none." }]);
  expect(await results({ enabled: false })).toEqual([{ status: "ok", message: "No agent searches its notes." }]);
});

test("an endpoint that does not answer, and settings that name none, are found", async () => {
  const { results } = state();
  const { url, state: endpoint } = await startEndpoint();
  const here = { provider: "openai-compatible", model: "m", remote: { baseUrl: url } };
  expect(await results(here)).toMatchObject([{ status: "ok", message: expect.stringContaining("vectors of m") }]);
  endpoint.status = 401;
  expect(await results(here)).toMatchObject([
    { status: "warn", message: expect.stringContaining("the status 401"), fix: expect.stringContaining("127.0.0.1") },
  ]);
  expect(await results({ provider: "ollama" })).toMatchObject([
    { status: "fail", message: expect.stringContaining("memorySearch.model") },
  ]);
});

test("notes that are not searched and origins that cannot be read are named", async () => {
  const { dir, results } = state();
  writeFileSync(join(dir, "elsewhere.md"), "x\n");
  symlinkSync(join(dir, "elsewhere.md"), join(dir, "workspace", "memory", "link.md"));
  writeFileSync(join(dir, "workspace", "memory", "large.md"), "x".repeat(4_000_001));
  writeFileSync(join(dir, "state", "memory", "main.changes.jsonl"), '{"torn\n');
  expect(await results()).toMatchObject([
    { status: "warn", message: expect.stringContaining("memory/link.md, memory/large.md") },
    { status: "warn", message: expect.stringMatching(/^1 lines of .*main\.changes\.jsonl cannot be read/) },
  ]);
});

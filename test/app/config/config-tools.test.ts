import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { configSchema } from "../../../src/app/config/schema/schema.ts";
import { toolsCheck } from "../../../src/app/doctor/tools-check.ts";
import { loadConfig } from "../../../src/app/config/load.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "config-tools-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function warningsOf(config: unknown): Promise<readonly string[]> {
  const path = join(dir, "openclaw.json");
  await writeFile(path, JSON.stringify(config));
  return (await loadConfig({ path, env: {} })).warnings.map(({ text }) => text);
}

it("reports entries in tool lists that name no tool", async () => {
  const warnings = await warningsOf({
    tools: { allow: ["group:plugins", "raed", "group:fs", "r*"], deny: ["browser", "group:web", "exce"] },
    agents: { list: [{ id: "a", tools: { alsoAllow: ["canvas", "cron", "Exec ", "bash", "message"] } }] },
  });
  expect(warnings).toHaveLength(4);
  expect(warnings.join("\n")).toMatch(
    /tools\.allow.*"group:plugins" names no tool of this gateway; groups are group:fs[^]*"raed"[^]*tools\.deny.*"exce"[^]*agents\.list.*"canvas"/,
  );
});

it("warns of programs in safeBins that still need approval", async () => {
  const warnings = await warningsOf({ tools: { exec: { safeBins: ["wc", "python3.11", "/tmp/x", "/usr/bin/sort"] } } });
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toContain('"python3.11" runs other programs');
  expect(warnings[1]).toContain('"/tmp/x" is outside /bin');
});

it("says nothing of lists that mean something", async () => {
  const allow = ["session_status", "web_fetch", "image", "gateway"];
  expect(await warningsOf({ tools: { allow } })).toEqual([]);
  expect(await warningsOf({ tools: { allow: ["*"], deny: ["exec"], exec: { safeBins: ["head"] } } })).toEqual([]);
});

it("names keys of senders that match nobody, or somebody whom another key names", async () => {
  const warnings = await warningsOf({
    tools: {
      toolsBySender: {
        "telegram:7": {},
        "channel:telegram:7": { deny: ["exec"] },
        "user:8": { deny: ["exec"] },
        "e164:ada": {},
        "id:": {},
        "whatsapp:9": {},
        "@ada": {},
      },
    },
    channels: { telegram: { groups: { "-1": { toolsBySender: { "slack:U1": {}, "7": {} } } } } },
  });
  expect(warnings).toHaveLength(6);
  expect(warnings.join("\n")).toMatch(
    /"channel:telegram:7" is the same sender as "telegram:7"; both hold[^]*"user:8" matches nobody: the config sets up no channel "user"[^]*"e164:ada"[^]*"id:" matches nobody: it names no sender[^]*"whatsapp:9"[^]*"slack:U1" matches nobody: these entries are for telegram alone/,
  );
});

it("names the agent without tools as the config does, also when none is listed", async () => {
  const config = configSchema.parse({ tools: { allow: ["nothing"] }, agents: { defaults: { agentId: "ada" } } });
  expect(await toolsCheck(config).run(AbortSignal.timeout(10_000))).toMatchObject([
    { status: "warn", message: expect.stringContaining('The agent "ada" has none') },
  ]);
});

it.each([{ profile: "minimal" }, { allow: ["web_fetch"] }])(
  "an agent with tools like %j has some, as the doctor sees it",
  async (tools) => {
    expect(await toolsCheck(configSchema.parse({ tools })).run(AbortSignal.timeout(10_000))).toEqual([
      { status: "ok", message: "Every agent has tools." },
    ]);
  },
);

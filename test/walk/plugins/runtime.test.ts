import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { test } from "../../kit/gateway/world.ts";
import { jsonLinesIn } from "../../kit/json-lines.ts";
import { until } from "../../kit/until.ts";

const FOLLOWER = `
import { appendFileSync } from "node:fs";
export default (api) => {
  const note = (kind) => (event) => appendFileSync(process.env.OPENCLAW_STATE_DIR + "/events.jsonl", JSON.stringify({ kind, ...event }) + "\\n");
  api.runtime.events.onAgentEvent(note("run"));
  api.runtime.events.onSessionTranscriptUpdate(note("transcript"));
  const end = api.runtime.events.onAgentEvent(note("ended"));
  end();
};`;

test("a plugin follows runs and transcripts while it is loaded", async ({ world, expect }) => {
  const entry = { enabled: true, hooks: { allowConversationAccess: true } };
  const home = await world.home(
    world.config({ channels: { telegram: { enabled: false } }, plugins: { entries: { follower: entry } } }),
  );
  writePlugin(join(home.stateDir, "extensions"), { id: "follower", code: FOLLOWER });
  const gateway = await home.start();
  world.model.answer(() => ({ text: "an answer" }));
  const file = join(home.stateDir, "events.jsonl");
  const events = () => jsonLinesIn<Record<string, unknown>>(file);
  await home.run(["agent", "--message", "hello"]);
  const isEnd = (event: Record<string, unknown>) => JSON.stringify(event["data"] ?? {}).includes('"phase":"end"');
  await until(() => events().some(isEnd));
  const seen = events();
  const ofRun = seen.filter(({ kind }) => kind === "run");
  expect(ofRun.map(({ stream }) => stream)).toEqual(expect.arrayContaining(["lifecycle", "assistant"]));
  expect(ofRun[0]).toMatchObject({
    runId: expect.any(String),
    sessionKey: expect.any(String),
    seq: expect.any(Number),
    data: { phase: "start" },
  });
  const written = seen.filter(({ kind }) => kind === "transcript");
  expect(written.length).toBeGreaterThan(1);
  expect(readFileSync(String(written.at(-1)?.["sessionFile"]), "utf8")).toContain("an answer");
  expect(seen.some(({ kind }) => kind === "ended")).toBe(false);
  await home.run(["config", "set", "plugins.entries.follower.enabled", "false"]);
  await gateway.logged("plugin unloaded");
  const before = events().length;
  await home.run(["agent", "--message", "again"]);
  expect(world.model.calls.length).toBe(2);
  expect(events().length).toBe(before);
});

test("a plugin in TypeScript is compiled by the built gateway", async ({ world, expect }) => {
  const home = await world.home(
    world.config({ channels: { telegram: { enabled: false } }, plugins: { entries: { typed: { enabled: true } } } }),
  );
  const root = writePlugin(join(home.stateDir, "extensions"), {
    id: "typed",
    code: "",
    package: { openclaw: { extensions: ["./main.ts"] } },
  });
  const code = `import type { OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";
    import { jsonResult } from "openclaw/plugin-sdk/core";
    import { word } from "./word";
    enum Name { Say = "say" }
    export default (api: OpenClawPluginApi) => api.registerCommand({
      name: Name.Say, description: "Says a word.", handler: () => ({ text: jsonResult(word).details }) });`;
  writeFileSync(join(root, "main.ts"), code);
  writeFileSync(join(root, "word.ts"), `export const word: string = "compiled";`);
  await home.start();
  expect((await home.run(["agent", "--message", "/say"])).stdout).toContain("compiled");
});

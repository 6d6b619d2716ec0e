import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../src/app/config/paths.ts";
import { type Gateway, startGateway } from "../../src/app/gateway/gateway.ts";
import { Live } from "../../src/app/live.ts";
import { openLog } from "../../src/app/log/log.ts";
import { type FakeModel, startFakeModel } from "../fakes/model.ts";
import { until } from "../outbox/stage.ts";
import { run } from "./cli/cli.ts";

const TOKEN = "a-token-of-the-tests";

let dir = "";
let gateway: Gateway | undefined;
let model: FakeModel;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "runs-"));
  model = await startFakeModel();
});
afterEach(async () => {
  await gateway?.close(0);
  gateway = undefined;
  await model.close();
  rmSync(dir, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const config = {
    gateway: { port: 0, auth: { token: TOKEN } },
    models: {
      mode: "replace",
      providers: { fake: { baseUrl: model.url, apiKey: "k", api: "openai-completions", models: [{ id: "fake-1" }] } },
    },
    agents: { defaults: { model: "fake/fake-1" } },
    logging: { level: "silent", consoleLevel: "silent" },
  };
  writeFileSync(join(dir, "openclaw.json"), JSON.stringify(config));
  const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const load = () => loadConfig({ path: paths.configPath, env: {} });
  const live = new Live(paths, dir, await load());
  gateway = await startGateway(live, {
    log: openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" }),
    load,
  });
}

const say = async (text: string) =>
  (
    await fetch(`http://127.0.0.1:${gateway?.port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "openclaw", user: "ada", messages: [{ role: "user", content: text }] }),
    })
  ).json();

interface Prompt {
  readonly faithful: boolean;
  readonly system: { readonly text: string }[];
  readonly messages: { readonly role: string; readonly content: { readonly text: string }[] }[];
  readonly tools: string[];
}

const textOf = (content: unknown): string =>
  typeof content === "string" ? content : (content as { readonly text: string }[]).map((part) => part.text).join("");

test("what the model was sent is what `runs show --prompt` prints, with a gateway and without", async () => {
  await start();
  model.answer((call) => ({ text: `echo: ${call.said}` }));
  await say("first words");
  await say("second words");
  const offline = { OPENCLAW_STATE_DIR: dir };
  const online = {
    OPENCLAW_STATE_DIR: dir,
    OPENCLAW_GATEWAY_URL: `ws://127.0.0.1:${gateway?.port}`,
    OPENCLAW_GATEWAY_TOKEN: TOKEN,
  };
  const list = async (env: Record<string, string>) =>
    JSON.parse((await run(["runs", "--json"], env)).out) as { runs: { runId: string }[] };
  await until(async () => (await list(online)).runs.length === 2, "two runs");
  const listed = await list(online);
  const [last] = listed.runs;
  const id = last?.runId ?? "";
  const asked = ["runs", "show", id, "--prompt", "--json"];
  const shown = await run(asked, online);
  expect(shown.code, shown.err).toBe(0);
  const prompt = JSON.parse(shown.out) as Prompt;
  const sent = model.calls.at(-1)!;
  expect(prompt.faithful).toBe(true);
  expect(prompt.system.map((part) => part.text).join("")).toBe(sent.system);
  expect(prompt.messages.map((one) => [one.role, one.content.map((part) => part.text).join("")])).toEqual(
    sent.messages.filter(({ role }) => role !== "system").map(({ role, content }) => [role, textOf(content)]),
  );
  expect(prompt.tools).toEqual(sent.tools.map((tool) => tool.function.name));
  const told = await run(["runs", "show", id], online);
  await gateway?.close(0);
  gateway = undefined;
  expect((await run(asked, offline)).out).toBe(shown.out);
  expect((await run(["runs", "show", id], offline)).out).toBe(told.out);
  expect(await list(offline)).toEqual(listed);
});

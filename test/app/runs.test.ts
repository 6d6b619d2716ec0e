import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../src/app/config/paths.ts";
import { type Gateway, startGateway } from "../../src/app/gateway/gateway.ts";
import { Live } from "../../src/app/live.ts";
import { openLog } from "../../src/app/log/log.ts";
import { type FakeModel, type ModelCall, startFakeModel } from "../fakes/model.ts";
import { until } from "../kit/until.ts";
import { run, type Ended } from "../kit/gateway/cli.ts";

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

async function start(provider = "fake", defaults: object = {}): Promise<void> {
  const config = {
    gateway: { port: 0, auth: { token: TOKEN } },
    models: {
      mode: "replace",
      providers: {
        [provider]: { baseUrl: model.url, apiKey: "k", api: "openai-completions", models: [{ id: "fake-1" }] },
      },
    },
    agents: { defaults: { model: `${provider}/fake-1`, ...defaults } },
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
  readonly why?: string;
  readonly system: { readonly text: string }[];
  readonly messages: { readonly role: string; readonly content: { readonly type: string; readonly text?: string }[] }[];
  readonly tools: string[];
  readonly toolTokens: number;
}

const wordsIn = (content: unknown): string => {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? (content as Prompt["messages"][number]["content"]) : [];
  return parts.map((part) => part.text ?? "").join("");
};

const online = (): Record<string, string> => ({
  OPENCLAW_STATE_DIR: dir,
  OPENCLAW_GATEWAY_URL: `ws://127.0.0.1:${gateway?.port}`,
  OPENCLAW_GATEWAY_TOKEN: TOKEN,
});
const offline = (): Record<string, string> => ({ OPENCLAW_STATE_DIR: dir });

/** What a command printed; a failure is told in its own words. */
function shown({ code, out, err }: Ended): unknown {
  expect(code, err).toBe(0);
  return JSON.parse(out);
}

const list = async (env: Record<string, string>) =>
  shown(await run(["runs", "--json"], env)) as { runs: { runId: string }[] };

/** The id of the latest run once there are so many. */
async function latest(count: number): Promise<string> {
  await until(async () => (await list(online())).runs.length === count, `${count} runs`, 30_000);
  return (await list(online())).runs[0]?.runId ?? "";
}

/** The prompt that is shown of a run is what the model's last call was sent. */
async function expectShown(id: string, env: Record<string, string>, sent: ModelCall | undefined): Promise<void> {
  const prompt = shown(await run(["runs", "show", id, "--prompt", "--json"], env)) as Prompt;
  expect(prompt.faithful, prompt.why).toBe(true);
  expect(prompt.system.map((part) => part.text).join("")).toBe(sent?.system);
  expect(prompt.messages.map((one) => [one.role.replace("toolResult", "tool"), wordsIn(one.content)])).toEqual(
    sent?.messages.filter(({ role }) => role !== "system").map(({ role, content }) => [role, wordsIn(content)]),
  );
  expect(prompt.tools).toEqual(sent?.tools.map((tool) => tool.function.name));
  expect(prompt.toolTokens).toBeGreaterThan(100);
}

test("what the model was sent is what `runs show --prompt` prints, with a gateway and without", async () => {
  await start();
  model.answer((call) => ({ text: `echo: ${call.said}` }));
  await say("first words");
  await say("second words");
  const id = await latest(2);
  await expectShown(id, online(), model.calls.at(-1));
  const told = await run(["runs", "show", id], online());
  const listed = await list(online());
  await gateway?.close(0);
  gateway = undefined;
  await expectShown(id, offline(), model.calls.at(-1));
  expect((await run(["runs", "show", id], offline())).out).toBe(told.out);
  expect(await list(offline())).toEqual(listed);
});

test("with the calls of tools, and whatever the conversation came to later", async () => {
  await start();
  model.answer(({ isAfterTool }) =>
    isAfterTool ? { text: "read" } : { text: "I look.", tool: "read", args: { path: "AGENTS.md" } },
  );
  await say("what does it say?");
  model.answer((call) => ({ text: `echo: ${call.said}` }));
  await say("and then?");
  const id = await latest(2);
  const sent = model.calls.at(-1);
  expect(sent?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
  await say("later words");
  model.answer(() => ({ status: 401, message: "the key is bad" }));
  await say("refused words");
  const refused = await latest(4);
  await expectShown(id, online(), sent);
  const told = await run(["runs", "show", refused], online());
  expect(told.out).toMatch(/^Result +failed:auth$/m);
  expect(told.out).toMatch(/^1 +fake\/fake-1 .* auth .*the key is bad/m);
  await say("/new");
  await expectShown(id, online(), sent);
});

test("with what the last failed call of a tool said", async () => {
  await start();
  model.answer(({ isAfterTool }) =>
    isAfterTool ? { text: "not there" } : { text: "", tool: "read", args: { path: "no-such-file.md" } },
  );
  await say("what does it say?");
  const id = await latest(1);
  const told = await run(["runs", "show", id], online());
  expect(told.out).toMatch(/^Last tool error +read \(no-such-file\.md\): .*no-such-file/m);
});

test.each([
  ["google-gemini-cli", true, "only this"],
  ["fake", false, "some preamble only this trailing"],
])("of a model of %s, thoughts in tags are asked for: %s", async (provider, isAsked, answer) => {
  await start(provider);
  model.answer(() => ({ text: "<think>hm</think>some preamble <final>only this</final> trailing" }));
  expect(await say("hello")).toMatchObject({ choices: [{ message: { content: answer } }] });
  expect(model.calls[0]?.system.includes("## Reasoning Format")).toBe(isAsked);
  model.answer(() => ({ text: "no tags at all" }));
  expect(await say("hello")).toMatchObject({ choices: [{ message: { content: "no tags at all" } }] });
});

test("of a model by the alias that the config gives it, which the prompt names", async () => {
  await start("fake", { models: { "fake/fake-1": { alias: "quick" }, "fake/fake-2": { alias: "deep" } } });
  model.answer(() => ({ text: "noted" }));
  expect(await say("/model deep")).toMatchObject({
    choices: [{ message: { content: expect.stringContaining("fake/fake-2") } }],
  });
  expect(await say("/model nobody")).toMatchObject({
    choices: [{ message: { content: expect.stringContaining('I do not know a model "nobody"') } }],
  });
  await say("hello");
  expect(model.calls.at(-1)?.model).toBe("fake-2");
  expect(model.calls.at(-1)?.system).toContain("- deep: fake/fake-2\n- quick: fake/fake-1");
});

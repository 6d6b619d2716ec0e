import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loadConfig, type LoadedConfig } from "../../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../../src/app/config/paths.ts";
import { type Gateway, startGateway } from "../../../src/app/gateway/gateway.ts";
import { Live } from "../../../src/app/live.ts";
import { openLog } from "../../../src/app/log/log.ts";
import { gatewayConfig } from "../../../src/server/config.ts";
import { until } from "../../kit/until.ts";

let dir = "";
let gateway: Gateway | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gateway-config-"));
});
afterEach(async () => {
  await gateway?.close(0);
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const MODELS = {
  mode: "replace",
  providers: { fake: { baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "fake-1" }] } },
};
const write = (config: object) => writeFileSync(join(dir, "openclaw.json"), JSON.stringify(config));
const withLevel = (level: string) => ({
  gateway: { port: 0, reload: { debounceMs: 10 } },
  models: MODELS,
  logging: { level, consoleLevel: "silent" },
});

type Load = () => Promise<LoadedConfig>;

async function start(config: object, reloadBy = (load: Load) => load()) {
  write(config);
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const load = () => loadConfig({ path: paths.configPath, env: process.env });
  const live = new Live(paths, dir, await load());
  const { level, consoleLevel, consoleStyle } = live.config.logging;
  const log = openLog({ file: join(dir, "test.log"), level, consoleLevel, consoleStyle });
  gateway = await startGateway(live, { log, load: () => reloadBy(load) });
  const url = `http://127.0.0.1:${gateway.port}`;
  const modelsFor = async (bearer: string) =>
    (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${bearer}` } })).status;
  return { log, url, modelsFor };
}

const gatewayWith = (more: object) => ({
  gateway: { port: 0, ...more },
  models: MODELS,
  logging: { level: "silent", consoleLevel: "silent" },
});

test.each([
  ["password", { token: "a-token", password: "a-password", mode: "password" }, [200, 200]],
  ["nothing", { token: "a-token", password: "a-password" }, [200, 200]],
  ["token", { token: "a-token", password: "a-password", mode: "token" }, [200, 401]],
])("the auth mode %s says what counts besides the token", async (_, auth, statuses) => {
  const { modelsFor } = await start(gatewayWith({ auth }));
  expect([await modelsFor("a-token"), await modelsFor("a-password")]).toEqual(statuses);
});

test.each([
  ["a token", {}, { OPENCLAW_GATEWAY_TOKEN: "a-token" }, [200, 401]],
  [
    "a password, without a mode",
    {},
    { OPENCLAW_GATEWAY_TOKEN: "a-token", OPENCLAW_GATEWAY_PASSWORD: "a-password" },
    [200, 200],
  ],
  ["a password, for its mode", { mode: "password" }, { OPENCLAW_GATEWAY_PASSWORD: "a-password" }, [401, 200]],
  ["no password in token mode", { mode: "token" }, { OPENCLAW_GATEWAY_PASSWORD: "a-password" }, [401, 401]],
  [
    "nothing that the config has",
    { token: "of-the-config", password: "of-the-config" },
    { OPENCLAW_GATEWAY_TOKEN: "a-token", OPENCLAW_GATEWAY_PASSWORD: "a-password" },
    [401, 401],
  ],
])("the environment gives the login %s", async (_, auth, env, statuses) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { modelsFor } = await start(gatewayWith({ auth }));
  expect([await modelsFor("a-token"), await modelsFor("a-password")]).toEqual(statuses);
});

test("what is switched off is not served", async () => {
  const off = { enabled: false };
  const { url, modelsFor } = await start(
    gatewayWith({
      auth: { token: "a-token" },
      controlUi: off,
      http: { endpoints: { chatCompletions: off, responses: off } },
    }),
  );
  expect(await modelsFor("a-token")).toBe(404);
  expect((await fetch(url)).status).toBe(503);
});

test("the page is below the base path, from the folder that the config names", async () => {
  const ui = join(dir, "ui");
  mkdirSync(ui);
  const config = gatewayWith({ controlUi: { root: "ui", basePath: "/claw/" } });
  const { url } = await start({ ...config, logging: { level: "warn", consoleLevel: "silent" } });
  expect((await fetch(`${url}/claw/`)).status).toBe(503);
  const log = readFileSync(join(dir, readdirSync(dir).find((name) => name.startsWith("test")) ?? ""), "utf8");
  expect(log).toContain("has no index.html");
  writeFileSync(join(ui, "index.html"), "<html><title>a page of its own</title></html>");
  const answer = await fetch(`${url}/claw`, { headers: { accept: "text/html" } });
  expect([answer.url, await answer.text()]).toEqual([`${url}/claw/`, expect.stringContaining("a page of its own")]);
  expect((await fetch(url)).status).toBe(404);
});

test.each([".", "/"])("no page is served from %j, which has the gateway's own files in it", async (root) => {
  writeFileSync(join(dir, "index.html"), "<html></html>");
  const { url } = await start(gatewayWith({ auth: { token: "a-token" }, controlUi: { root, basePath: "/claw" } }));
  for (const name of ["", "index.html", "openclaw.json", join(dir, "openclaw.json").slice(1)]) {
    const answer = await fetch(`${url}/claw/${name}`);
    expect([answer.ok, await answer.text()], name).toEqual([false, expect.not.stringContaining("a-token")]);
  }
});

test.each([
  ["/claw", "/claw"],
  ["claw/", "/claw"],
  ["/a/b", "/a/b"],
  ["/", ""],
  ["", ""],
])("the base path %j is %j", (given, used) => {
  expect(gatewayConfig.parse({ controlUi: { basePath: given } }).controlUi.basePath).toBe(used);
});

test.each(["/v1", "/v1/ui", "tools", "/healthz", "/a/../b", "/a b", "/a?b", "/<b>", "//a"])(
  "the base path %j is refused",
  (given) => {
    expect(gatewayConfig.safeParse({ controlUi: { basePath: given } }).success).toBe(false);
  },
);

test("the headers of the config name the conversations of /v1", async () => {
  const chatCompletions = { conversationHeaders: ["X-My-Chat"] };
  const { url } = await start(gatewayWith({ auth: { token: "a-token" }, http: { endpoints: { chatCompletions } } }));
  const ask = (headers: Record<string, string>) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer a-token", "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "openclaw", messages: [{ role: "user", content: "hi" }] }),
    });
  // Nothing answers at the model's address.
  await (await ask({ "x-openwebui-chat-id": "a" })).text();
  await (await ask({ "x-my-chat": "b" })).text();
  const sessions = () => readdirSync(dir, { recursive: true }).filter((file) => String(file).endsWith(".jsonl"));
  await until(() => sessions().length > 0);
  expect(sessions()).toHaveLength(1);
});

test("a changed log level holds at once", async () => {
  const { log } = await start(withLevel("silent"));
  log.info("unseen");
  write(withLevel("info"));
  await until(() => {
    log.info("seen");
    return log.file() !== undefined;
  });
  log.flush();
  expect(readFileSync(join(dir, "test.log"), "utf8")).not.toContain("unseen");
});

test("a change that is read while the gateway closes is not applied any more", async () => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let isRead = false;
  const { log } = await start(withLevel("silent"), async (load) => {
    begun.resolve();
    await held.promise;
    return load().finally(() => (isRead = true));
  });
  write(withLevel("info"));
  await begun.promise;
  const closing = gateway?.close(0);
  held.resolve();
  await closing;
  expect(isRead).toBe(true);
  log.info("unseen");
  expect(log.file()).toBeUndefined();
});

test("a public address wants a token that cannot be guessed", async () => {
  const refused = start(gatewayWith({ bind: "lan", auth: { token: "short" } }));
  await expect(refused).rejects.toMatchObject({ code: "BIND_REFUSED" });
});

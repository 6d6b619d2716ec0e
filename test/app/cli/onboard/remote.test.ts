import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { expect, test } from "vitest";
import { ended, run, start, stateDir, type Env } from "../../../kit/gateway/cli.ts";
import { fakeGateway, TOKEN } from "../fake-gateway.ts";

const BASE = ["onboard", "--non-interactive", "--accept-risk", "--mode", "remote"];

async function stage(config?: string, more: Env = {}) {
  const gateway = await fakeGateway({ health: () => ({ ok: true }) });
  const dir = stateDir(config);
  const env = { OPENCLAW_STATE_DIR: dir, ...more };
  const path = join(dir, "openclaw.json");
  return {
    gateway,
    env,
    url: `ws://127.0.0.1:${gateway.port}`,
    cli: (...args: readonly string[]) => run([...BASE, ...args], env),
    text: () => (existsSync(path) ? readFileSync(path, "utf8") : undefined),
    config: () => JSON5.parse(readFileSync(path, "utf8")),
  };
}

test("a gateway elsewhere takes the login once, and the commands talk to it from then on", async () => {
  const { cli, url, config, env, gateway } = await stage();
  const { code, out, err } = await cli("--remote-url", url, "--remote-token", TOKEN, "--json");
  expect([code, err]).toEqual([0, ""]);
  expect(JSON.parse(out)).toMatchObject({ mode: "remote", remoteUrl: url, auth: "token", version: "9.9.9" });
  expect(out).not.toContain(TOKEN);
  expect(config()).toEqual({ gateway: { mode: "remote", remote: { url, token: TOKEN } } });
  expect((await run(["health"], env)).code).toBe(0);
  expect(gateway.requests.map(({ method }) => method)).toEqual(["health"]);
  expect((await run(["dashboard"], env)).out).toBe(`http://127.0.0.1:${gateway.port}/#token=${TOKEN}\n`);
  const none = [await ended(start(["gateway", "run"], env)), await run(["gateway", "install"], env)];
  for (const refused of none)
    expect([refused.code, refused.err]).toEqual([78, expect.stringMatching(/"remote"[\s\S]*gateway\.mode local/)]);
});

test.each([
  ["a wrong token", ["--remote-token", "wrong"], 78, /did not take the token/],
  ["no token", [], 78, /there was none[\s\S]*OPENCLAW_GATEWAY_TOKEN/],
])("%s leaves the config as it was", async (_what, args, code, words) => {
  const before = "{ /* mine */ gateway: { port: 1 } }";
  const { cli, url, text } = await stage(before);
  const refused = await cli("--remote-url", url, ...args);
  expect([refused.code, refused.err, text()]).toEqual([code, expect.stringMatching(words), before]);
});

test("a gateway that does not answer leaves the config as it was", async () => {
  const { cli, text } = await stage();
  const refused = await cli("--remote-url", "ws://127.0.0.1:1", "--remote-token", TOKEN);
  expect([refused.code, refused.err, text()]).toEqual([
    75,
    expect.stringContaining("No gateway answers at"),
    undefined,
  ]);
});

test("the variable has the token where none is given, and another gateway does not get the old one", async () => {
  const old = '{ gateway: { mode: "remote", remote: { url: "ws://other:1", token: "of-the-other", password: "p" } } }';
  const { cli, url, config, env, gateway } = await stage(old, { OPENCLAW_GATEWAY_TOKEN: TOKEN });
  expect((await cli("--remote-url", url)).code).toBe(0);
  expect(config().gateway).toEqual({ mode: "remote", remote: { url } });
  expect((await run(["health"], env)).code).toBe(0);
  expect(gateway.connects.map(({ auth }) => auth)).toEqual([{ token: TOKEN }, { token: TOKEN }]);
  const ref = await cli("--remote-url", url, "--remote-token", TOKEN, "--secret-input-mode", "ref");
  expect([ref.code, config().gateway.remote.token]).toMatchObject([0, { source: "env", id: "OPENCLAW_GATEWAY_TOKEN" }]);
  expect((await run(["health"], env)).code).toBe(0);
});

test("a password of the config goes to the gateway elsewhere", async () => {
  const { cli, url, config, env, gateway } = await stage();
  const login = ["--remote-token", TOKEN, "--remote-password", "a-password"];
  expect((await cli("--remote-url", url, ...login)).code).toBe(0);
  expect(config().gateway.remote).toEqual({ url, token: TOKEN, password: "a-password" });
  expect((await run(["health"], env)).code).toBe(0);
  const both = { token: TOKEN, password: "a-password" };
  expect(gateway.connects.map(({ auth }) => auth)).toEqual([both, both]);
});

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run, stateDir, type Env } from "../../kit/gateway/cli.ts";
import { fakeGateway, TOKEN } from "./fake-gateway.ts";

const STATUS = { version: "9.9.9", uptimeMs: 1, activeRuns: 0, connections: 1, sessions: { count: 0 }, channels: [] };

/** A service manager that takes every order, beside a gateway that answers already. */
async function machine(config: (port: number) => string, more: Env = {}) {
  const gateway = await fakeGateway({
    status: () => ({ ...STATUS, ready: { ok: true, problems: [] }, model: { provider: "demo", id: "x", demo: true } }),
  });
  const dir = stateDir(config(gateway.port));
  const bin = join(dir, "bin");
  mkdirSync(bin);
  for (const name of ["systemctl", "loginctl"]) {
    writeFileSync(join(bin, name), "#!/bin/sh\necho ActiveState=active; echo MainPID=1; echo Linger=yes\n");
    chmodSync(join(bin, name), 0o755);
  }
  const env = { HOME: dir, OPENCLAW_STATE_DIR: dir, PATH: `${bin}:/usr/bin:/bin`, ...more };
  const kept = join(dir, "service-env", "gateway.env");
  return {
    dir,
    env,
    kept: () => (existsSync(kept) ? readFileSync(kept, "utf8").split("\n").filter(Boolean).toSorted() : []),
  };
}

const REFERENCES = `
  models: { providers: { mine: { baseUrl: "http://127.0.0.1:1/v1", apiKey: { source: "env", id: "MODEL_REF" }, models: [{ id: "m" }] } } },
  channels: { telegram: { botToken: { source: "env", provider: "default", id: "CHANNEL_REF" } } },
  skills: { entries: { weather: { apiKey: { source: "env", id: "SKILL_REF" }, env: { OTHER: "\${SKILL_VAR}" } } } },
  tools: { web: { search: { apiKey: "\${TOOL_VAR}" } } },`;

const SET: Env = {
  MODEL_REF: "1",
  CHANNEL_REF: "2",
  SKILL_REF: "3",
  SKILL_VAR: "4",
  TOOL_VAR: "5",
  ANTHROPIC_API_KEY: "6",
  TAVILY_API_KEY: "7",
  UNRELATED_KEY: "8",
};
const KEPT = [
  "ANTHROPIC_API_KEY=6",
  "CHANNEL_REF=2",
  "MODEL_REF=1",
  "SKILL_REF=3",
  "SKILL_VAR=4",
  "TAVILY_API_KEY=7",
  "TOOL_VAR=5",
];

describe.skipIf(process.platform !== "linux")("gateway install", () => {
  test("gives the service every variable that any section of the config refers to, and keys by their names", async () => {
    const config = (port: number) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}" } },${REFERENCES} }`;
    const { env, kept } = await machine(config, SET);
    const { code, err } = await run(["gateway", "install"], env);
    expect([code, err]).toEqual([0, ""]);
    expect(kept()).toEqual(KEPT);
  });

  test("gives it the login that the environment has in place of the config", async () => {
    const login = { OPENCLAW_GATEWAY_TOKEN: TOKEN, OPENCLAW_GATEWAY_PASSWORD: "a-password" };
    const bare = await machine((port) => `{ gateway: { port: ${port} } }`, login);
    expect((await run(["gateway", "install"], bare.env)).code).toBe(0);
    expect(bare.kept()).toEqual(["OPENCLAW_GATEWAY_PASSWORD=a-password", `OPENCLAW_GATEWAY_TOKEN=${TOKEN}`]);
    const named = await machine(
      (port) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}", mode: "token" } } }`,
      login,
    );
    expect((await run(["gateway", "install"], named.env)).code).toBe(0);
    expect(named.kept()).toEqual([]);
  });

  test("a token that is named by hand holds, whatever the environment said before", async () => {
    const { env, kept, dir } = await machine((port) => `{ gateway: { port: ${port} } }`, {
      OPENCLAW_GATEWAY_TOKEN: TOKEN,
    });
    expect((await run(["gateway", "install"], env)).code).toBe(0);
    const { code } = await run(["gateway", "install", "--token", TOKEN], env);
    expect([code, kept()]).toEqual([0, []]);
    expect(readFileSync(join(dir, "credentials", "gateway-token"), "utf8")).toBe(`${TOKEN}\n`);
  });

  test("doctor tells of variables that the terminal has and the service lacks", async () => {
    const config = (port: number) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}" } },${REFERENCES} }`;
    const { env, dir } = await machine(config, SET);
    const doctor = async () => (await run(["doctor", "--json", "--only", "app.service"], env)).out;
    expect(await doctor()).toContain("not installed as a service");
    await run(["gateway", "install"], env);
    expect(await doctor()).toContain("has all variables that it needs");
    writeFileSync(join(dir, "service-env", "gateway.env"), KEPT.filter((line) => !/_REF/.test(line)).join("\n"));
    expect(await doctor()).toMatch(/does not have CHANNEL_REF, MODEL_REF, SKILL_REF, which[\s\S]*gateway install/);
  });
});

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
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
    port: gateway.port,
    kept: () => (existsSync(kept) ? readFileSync(kept, "utf8").split("\n").filter(Boolean).toSorted() : []),
  };
}

const unitName = (dir: string) =>
  readdirSync(join(dir, ".config", "systemd", "user")).find((name) => name.endsWith(".service")) ?? "none";

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

  test("writes nothing where systemd takes no orders of this user, and says what to do", async () => {
    const { dir, env } = await machine((port) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}" } } }`);
    const deaf = "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2; exit 1\n";
    writeFileSync(join(dir, "bin", "systemctl"), deaf);
    const before = readFileSync(join(dir, "openclaw.json"), "utf8");
    const refused = await run(["gateway", "install", "--port", "18999", "--token", "a-token"], env);
    expect(refused).toMatchObject({ code: 78, err: expect.stringMatching(/SERVICE_UNSUPPORTED[^]*enable-linger/) });
    expect(existsSync(join(dir, ".config"))).toBe(false);
    expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toBe(before);
    expect(existsSync(join(dir, "credentials", "gateway-token"))).toBe(false);
  });

  test("what was installed is removed also where systemd takes no orders any more", async () => {
    const { dir, env } = await machine((port) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}" } } }`);
    expect((await run(["gateway", "install"], env)).code).toBe(0);
    const units = join(dir, ".config", "systemd", "user");
    const wants = join(units, "default.target.wants");
    mkdirSync(wants);
    writeFileSync(join(wants, unitName(dir)), "");
    writeFileSync(
      join(dir, "bin", "systemctl"),
      "#!/bin/sh\necho 'Failed to connect to bus: No medium found'; exit 1\n",
    );
    expect((await run(["gateway", "status"], env)).out).toContain("systemd cannot be asked here");
    expect(await run(["gateway", "start"], env)).toMatchObject({
      code: 78,
      err: expect.stringContaining("SERVICE_UNSUPPORTED"),
    });
    expect(await run(["gateway", "uninstall"], env)).toMatchObject({ code: 0 });
    expect([readdirSync(units), readdirSync(wants)]).toEqual([["default.target.wants"], []]);
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

  test("a program that cannot run the gateway is refused before anything is written", async () => {
    const { env, dir } = await machine((port) => `{ gateway: { port: ${port} } }`);
    writeFileSync(join(dir, "plain"), "no program");
    const program = (name: string, text: string) => {
      writeFileSync(join(dir, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return join(dir, name);
    };
    for (const [flag, path, why] of [
      ["--runtime-path", "/bin/true", "is no Node: `/bin/true --version`"],
      ["--runtime-path", program("silent", "exit 0"), 'said ""'],
      ["--runtime-path", program("broken", "exit 3"), "failed"],
      ["--runtime-path", program("old", "echo v22.18.9"), "is Node v22.18.9, and the gateway needs Node 22.19"],
      ["--runtime-path", join(dir, "gone"), "is no file"],
      ["--wrapper", join(dir, "plain"), "is not executable"],
      ["--wrapper", dir, "is no file"],
    ] as const) {
      const { code, err } = await run(["gateway", "install", flag, path], env);
      expect([code, err], flag).toEqual([2, expect.stringContaining(`${flag} ${path} `)]);
      expect(err).toContain(why);
    }
    expect(existsSync(join(dir, ".config"))).toBe(false);
  });

  test("--port goes into the config, where every command finds it", async () => {
    const { env, dir } = await machine(() => `{ gateway: { port: 1, auth: { token: "${TOKEN}" } } }`);
    const other = await machine((port) => `{ gateway: { port: ${port} } }`);
    const [, port = ""] = /port: (\d+)/.exec(readFileSync(join(other.dir, "openclaw.json"), "utf8")) ?? [];
    const { code, out } = await run(["gateway", "install", "--port", port], env);
    expect([code, out]).toEqual([0, expect.stringContaining(`gateway.port of the config is ${port} now.`)]);
    expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toContain(`port: ${port}`);
    const unit = readFileSync(join(dir, ".config", "systemd", "user", unitName(dir)), "utf8");
    expect(unit).not.toContain("--port");
    expect((await run(["dashboard"], env)).out).toContain(`:${port}/`);
  });

  test("doctor tells of variables that the terminal has and the service lacks", async () => {
    const config = (port: number) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}" } },${REFERENCES} }`;
    const { env, dir } = await machine(config, SET);
    const doctor = async () => (await run(["doctor", "--json", "--only", "app.service"], env)).out;
    expect(await doctor()).toContain("not installed as a service");
    await run(["gateway", "install"], env);
    expect(await doctor()).not.toContain("does not have");
    writeFileSync(join(dir, "service-env", "gateway.env"), KEPT.filter((line) => !/_REF/.test(line)).join("\n"));
    expect(await doctor()).toMatch(/does not have CHANNEL_REF, MODEL_REF, SKILL_REF, which[\s\S]*gateway install/);
  });
});

const finding = z.object({ status: z.string(), message: z.string(), fix: z.string().optional() });
const answer = z.object({ checks: z.array(z.object({ results: z.array(finding) })) });

describe.skipIf(process.platform !== "linux")("doctor and an installed service", () => {
  const config = (port: number) => `{ gateway: { port: ${port}, auth: { token: "${TOKEN}" } } }`;

  async function installed(more: Env = {}) {
    const at = await machine(config, more);
    expect((await run(["gateway", "install"], at.env)).code).toBe(0);
    const folder = join(at.dir, ".config", "systemd", "user");
    const [name = ""] = readdirSync(folder).filter((one) => one.endsWith(".service"));
    const unit = join(folder, name);
    const text = readFileSync(unit, "utf8");
    /** What is told of a unit with this text. That a test runs as root is told too. */
    const told = async (changed = text, env: Env = at.env) => {
      writeFileSync(unit, changed);
      const { out } = await run(["doctor", "--json", "--only", "app.service"], env);
      const results = answer.parse(JSON.parse(out)).checks.flatMap((one) => one.results);
      const faults = results.filter(({ status, message }) => status !== "ok" && !message.includes("runs as root"));
      expect(faults.filter(({ fix }) => fix === undefined)).toEqual([]);
      return faults.map(({ status, message, fix }) => `${status}: ${message} ${fix}`);
    };
    return { ...at, folder, name, text, told };
  }

  test("as it was installed, nothing is wrong with it, whatever port, wrapper and terminal", async () => {
    const { told, env, folder, name } = await installed();
    expect(await told()).toEqual([]);
    expect((await run(["gateway", "install", "--wrapper", "/usr/bin/nice"], env)).code).toBe(0);
    const wrapped = readFileSync(join(folder, name), "utf8");
    const changed = wrapped.replace('"gateway" "run"', '"gateway" "run" "--port" "4711"');
    expect(changed).toContain("4711");
    expect(
      await told(changed, { ...env, PATH: `${env["PATH"]}:/opt/more`, NODE_EXTRA_CA_CERTS: "/etc/ca.pem" }),
    ).toEqual([]);
  });

  test.each<[string, (text: string) => string, RegExp]>([
    [
      "of an earlier version",
      (text) => text.replace(/RestartSec=\d+/, "RestartSec=1"),
      /^warn.*written by another version.*gateway install/,
    ],
    [
      "whose program is gone",
      (text) => text.replace(/"[^"]*openclaw\.mjs"/, '"/nowhere/bin/openclaw.mjs"'),
      /^fail.*the program at \/nowhere.*gateway install/,
    ],
    [
      "whose Node is gone",
      (text) => text.replace(/ExecStart="[^"]*"/, 'ExecStart="/nowhere/node"'),
      /^fail.*Node at \/nowhere\/node.*gateway install/,
    ],
    [
      "without a state directory",
      (text) => text.replace(/.*OPENCLAW_STATE_DIR.*\n/, ""),
      /^warn.*does not say that its state directory.*gateway install/,
    ],
    [
      "of a state directory whose name begins like this one",
      (text) => text.replace(/(OPENCLAW_STATE_DIR=[^"\n]*)/, "$1-try"),
      /^warn.*has another state directory.*gateway install/,
    ],
    [
      "with a key in it",
      (text) => text.replace("[Service]", "[Service]\nEnvironment=OPENAI_API_KEY=sk-1"),
      /^warn.*has OPENAI_API_KEY in it.*gateway install/,
    ],
  ])("a unit %s is named with its remedy", async (_what, change, expected) => {
    const { told, text } = await installed();
    const changed = change(text);
    expect(changed).not.toBe(text);
    const [first = "", ...others] = await told(changed);
    expect(first).toMatch(expected);
    expect(others).toEqual([]);
    expect(first).not.toContain("sk-1");
  });

  test("the Node of a manager of versions, another service on the port and another config are named", async () => {
    const { told, text, dir, folder, env, port } = await installed();
    const node = join(dir, ".nvm", "versions", "node", "v24.0.0", "bin", "node");
    mkdirSync(dirname(node), { recursive: true });
    writeFileSync(node, "");
    expect(await told(text.replace(/ExecStart="[^"]*"/, `ExecStart="${node}"`))).toEqual([
      expect.stringMatching(/^warn: The service runs the Node of nvm.*--runtime-path/),
    ]);
    writeFileSync(
      join(folder, "openclaw-gateway-old.service"),
      `[Service]\nExecStart=/usr/bin/openclaw gateway --port ${port}\n`,
    );
    expect(await told()).toEqual([
      expect.stringMatching(
        new RegExp(`^warn: openclaw-gateway-old.service .* both have port ${port}.*config set gateway.port`),
      ),
    ]);
    writeFileSync(
      join(folder, "openclaw-gateway-old.service"),
      "[Service]\nExecStart=/usr/bin/openclaw gateway --port 1\n",
    );
    expect(await told()).toEqual([]);
    const other = join(dir, "other.json");
    writeFileSync(other, config(port), { mode: 0o600 });
    expect(await told(text, { ...env, OPENCLAW_CONFIG_PATH: other })).toEqual([
      expect.stringMatching(/^warn: This terminal has OPENCLAW_CONFIG_PATH=.*gateway install/),
    ]);
  });
});

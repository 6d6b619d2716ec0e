import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { acquireStateLock } from "../../../src/store/lock/lock.ts";
import { run } from "../../kit/gateway/cli.ts";
import { unpackEarlierState } from "../../kit/store/earlier-state.ts";

interface Ground {
  readonly stateDir: string;
  readonly to: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A state directory that was used, unless it is to be empty, and a directory that is not there. */
async function ground(config: object = {}, isUsed = false): Promise<Ground> {
  const dir = mkdtempSync(join(tmpdir(), "openclaw-export-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const stateDir = join(dir, "state-of-ours");
  mkdirSync(join(stateDir, "state"), { recursive: true });
  if (isUsed) await unpackEarlierState(stateDir);
  writeFileSync(join(stateDir, "openclaw.json"), JSON.stringify(config));
  return { stateDir, to: join(dir, "back"), env: { OPENCLAW_STATE_DIR: stateDir, HOME: dir } };
}

const json = (...path: readonly string[]) => JSON.parse(readFileSync(join(...path), "utf8"));

async function exported({ to, env }: Ground, ...flags: readonly string[]) {
  const { code, out, err } = await run(["export", "--to", to, "--json", ...flags], env);
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out);
}

/** The config that the export of another one has, and the keys that stayed behind. */
async function configOf(config: object): Promise<{ config: Record<string, unknown>; left: readonly string[] }> {
  const before = await ground(config);
  const place = { ...before, env: { ...before.env, BOT: "1:a" } };
  const { config: told } = await exported(place);
  return { config: json(place.to, "openclaw.json"), left: told.left.map(({ key }: { key: string }) => key) };
}

const LIMITS = { run: { money: 5 } };

test("a used directory becomes one of OpenClaw: conversations, jobs, people, rules, folders", async () => {
  const place = await ground({ agents: { list: [{ id: "main" }, { id: "second" }] } }, true);
  const { stateDir, to } = place;
  const receipt = await exported(place);
  expect(receipt).toMatchObject({
    to,
    counts: {
      sessions: 7,
      transcripts: 7,
      archives: 2,
      jobs: 2,
      people: 1,
      allowedCommands: 1,
      workspaces: 2,
      hooks: 1,
    },
  });
  expect(receipt.left.map(({ what }: { what: string }) => what)).toEqual(
    expect.arrayContaining(["the job tend", "extensions", "2 messages without an answer"]),
  );

  const sessions = join(to, "agents", "main", "sessions");
  const rows = json(sessions, "sessions.json");
  expect(Object.keys(rows)).toEqual(
    expect.arrayContaining(["agent:main:telegram:direct:1001", "agent:main:telegram:direct:1002"]),
  );
  for (const row of Object.values<Record<string, string>>(rows)) {
    expect(row["sessionFile"]).toBe(`${row["sessionId"]}.jsonl`);
    const [header = "", ...lines] = readFileSync(join(sessions, row["sessionFile"] ?? ""), "utf8")
      .trim()
      .split("\n");
    const cwd = join(to, "workspace");
    expect(JSON.parse(header)).toEqual({
      type: "session",
      version: 3,
      id: row["sessionId"],
      timestamp: expect.any(String),
      cwd,
    });
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ id: expect.any(String), type: expect.any(String) });
  }
  expect(rows["agent:main:telegram:direct:1001"]).not.toHaveProperty("heardGuests");
  const child = Object.entries<{ spawnedBy?: string }>(rows).find(([key]) => key.startsWith("agent:main:subagent:"));
  expect(child?.[1].spawnedBy).toBe("agent:main:telegram:direct:1001");

  const { jobs } = json(to, "cron", "jobs.json");
  expect(jobs).toEqual([
    expect.objectContaining({
      name: "daily",
      agentId: "main",
      enabled: true,
      schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
      state: {},
    }),
    expect.objectContaining({ name: "new year", schedule: { kind: "at", at: "2099-01-01T00:00:00.000Z" } }),
  ]);
  for (const { id, ...job } of jobs) {
    for (const own of ["setUpBy", "scheduleRevision", "missed"]) expect(job).not.toHaveProperty(own);
    expect(json(to, "cron", "jobs-state.json").jobs[id]).toMatchObject({ updatedAtMs: expect.any(Number), state: {} });
  }
  expect(json(to, "credentials", "telegram-default-allowFrom.json")).toEqual({ version: 1, allowFrom: ["4001"] });
  expect(json(to, "exec-approvals.json")).toMatchObject({ version: 1, agents: expect.any(Object) });
  for (const path of ["workspace/guest.md", "hooks/watcher/HOOK.md"])
    expect(readFileSync(join(to, path))).toEqual(readFileSync(join(stateDir, path)));
});

test("texts of conversations name the files of the new directory", async () => {
  const place = await ground({}, true);
  await exported(place);
  const dir = join(place.to, "agents", "main", "sessions");
  const texts = readdirSync(dir)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(dir, name), "utf8"));
  const media = texts.flatMap((text) => [...text.matchAll(/\[media attached: (\S+)/g)].map(([, path = ""]) => path));
  expect(media.length).toBeGreaterThan(0);
  for (const path of media) expect(existsSync(path) && path.startsWith(join(place.to, "media"))).toBe(true);
  expect(texts.join("")).not.toContain(place.stateDir);
});

test("nothing of the state directory changes, and only the user may read what is made", async () => {
  const place = await ground({}, true);
  const read = () =>
    readdirSync(place.stateDir, { recursive: true, encoding: "utf8" })
      .filter((name) => !name.startsWith("state/") && statSync(join(place.stateDir, name)).isFile())
      .map((name) => [name, readFileSync(join(place.stateDir, name), "base64")]);
  const before = read();
  await exported(place);
  expect(read()).toEqual(before);
  for (const name of ["", "agents", "credentials", "agents/main/sessions"])
    expect(statSync(join(place.to, name)).mode & 0o077).toBe(0);
  for (const name of ["openclaw.json", "agents/main/sessions/sessions.json"])
    expect(statSync(join(place.to, name)).mode & 0o077).toBe(0);
});

test("the config has what OpenClaw takes; each key that it refuses is named", async () => {
  const { config, left } = await configOf({
    gateway: { port: 4000, adopt: true, auth: { token: "t".repeat(40) } },
    budgets: LIMITS,
    tools: { deny: ["browser"], exec: { mode: "full", timeoutSeconds: 30, askFallback: "deny" }, updatePlan: false },
    messages: { queue: { mode: "steer-backlog", debounceMs: 100 } },
    agents: { defaults: { sandbox: { mode: "auto" }, agentId: "b" }, entries: { a: {}, b: { name: "Bee" } } },
    channels: { telegram: { botToken: "1:a", allowFrom: [7, "8"] } },
    mcp: { servers: { files: { command: "files", transport: "stdio" } } },
  });
  expect(left.toSorted()).toEqual([
    "agents.defaults.sandbox.mode",
    "budgets",
    "tools.exec.askFallback",
    "tools.updatePlan",
  ]);
  expect(config).toMatchObject({
    gateway: { port: 4000, mode: "local", bind: "loopback", auth: { token: "t".repeat(40) } },
    tools: { deny: ["browser"], exec: { security: "full", ask: "off", timeoutSec: 30 } },
    messages: { queue: { mode: "steer", debounceMs: 100 } },
    agents: { list: [{ id: "a" }, { id: "b", name: "Bee", default: true }] },
    channels: { telegram: { botToken: "1:a", allowFrom: ["7", "8"] } },
    session: { dmScope: "per-channel-peer" },
  });
  expect(config).not.toHaveProperty("budgets");
  expect(config).toHaveProperty("mcp.servers.files", { command: "files" });
  expect(config).not.toHaveProperty("gateway.adopt");
});

test("defaults that are narrower here are written out, and references stay references", async () => {
  const { config, left } = await configOf({
    channels: { telegram: { botToken: "${BOT}" } },
    logging: { level: "debug" },
  });
  expect(left).toEqual([]);
  expect(config).toMatchObject({
    gateway: { mode: "local", bind: "loopback", auth: { token: expect.stringMatching(/^[\w-]{43}$/) } },
    session: { dmScope: "per-channel-peer" },
    tools: { exec: { security: "allowlist", ask: "on-miss" } },
    channels: { telegram: { botToken: "${BOT}" } },
  });
});

test("workspaces in the state directory are copied and named by their new path; others stay and are shared", async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), "openclaw-elsewhere-"));
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  const place = await ground({
    agents: {
      list: [
        { id: "main", workspace: "notes" },
        { id: "b", workspace: elsewhere },
      ],
    },
  });
  mkdirSync(join(place.stateDir, "notes"));
  writeFileSync(join(place.stateDir, "notes", "AGENTS.md"), "x");
  const { left, counts } = await exported(place);
  expect(counts.workspaces).toBe(1);
  expect(left).toContainEqual({
    what: `the workspace of b stays in ${elsewhere}`,
    why: expect.stringContaining("both"),
  });
  expect(json(place.to, "openclaw.json").agents).toMatchObject({
    defaults: { workspace: join(place.to, "notes") },
    list: [{ workspace: join(place.to, "notes") }, { workspace: elsewhere }],
  });
  expect(readFileSync(join(place.to, "notes", "AGENTS.md"), "utf8")).toBe("x");
});

/** Rows of sessions.json, and the keys that they get. */
async function keysOf(rows: Readonly<Record<string, object>>, config: object = {}) {
  const place = await ground(config);
  const all = Object.entries(rows).map(([key, row], at) => [
    key,
    { sessionId: `s${at}`, updatedAt: 1000 - at, ...row },
  ]);
  mkdirSync(join(place.stateDir, "sessions"), { recursive: true });
  writeFileSync(join(place.stateDir, "sessions", "sessions.json"), JSON.stringify(Object.fromEntries(all)));
  const { left } = await exported(place);
  const agents = join(place.to, "agents");
  const found = readdirSync(agents).flatMap((agent) =>
    Object.entries<{ sessionId: string }>(json(agents, agent, "sessions", "sessions.json")).map(
      ([key, { sessionId }]) => [sessionId, key],
    ),
  );
  return { keys: Object.fromEntries(found), left, scope: json(place.to, "openclaw.json").session.dmScope };
}

test("each conversation has the key by which OpenClaw finds it again", async () => {
  const cases: readonly (readonly [string, string, object?])[] = [
    ["webchat:default:operator", "agent:main:main"],
    ["telegram:default:1001", "agent:main:telegram:direct:1001"],
    ["telegram:default:1001:thread:7", "agent:main:telegram:direct:1001:thread:1001:7"],
    ["telegram:default:group:-100", "agent:main:telegram:group:-100"],
    ["telegram:default:group:-100:thread:5", "agent:main:telegram:group:-100:topic:5"],
    ["discord:default:group:99", "agent:main:discord:channel:99"],
    ["slack:default:group:C1", "agent:main:slack:channel:c1"],
    ["slack:default:group:C1:thread:17.2", "agent:main:slack:channel:c1:thread:17.2"],
    ["slack:default:group:G1", "agent:main:slack:group:g1"],
    ["signal:default:group:Ab+=", "agent:main:signal:group:Ab+="],
    ["whatsapp:default:group:1%3A2@g.us", "agent:main:whatsapp:group:1:2@g.us"],
    ["peer:ada", "agent:main:telegram:direct:ada", { lastChannel: "telegram" }],
    ["agent:second:telegram:default:1001", "agent:second:telegram:direct:1001"],
    ["webchat:default:8f", "agent:main:webchat:default:8f"],
    ["cron:daily", "agent:main:cron:daily"],
    ["agent:main:telegram:default:1001::second:find", "agent:second:subagent:find"],
  ];
  const { keys, left, scope } = await keysOf(Object.fromEntries(cases.map(([key, , row = {}]) => [key, row])));
  expect(cases.map(([key], at) => [key, keys[`s${at}`]])).toEqual(cases.map(([key, wanted]) => [key, wanted]));
  expect([left, scope]).toEqual([[], "per-channel-peer"]);
});

test("with several accounts of a channel no two conversations get one key", async () => {
  const rows = { "telegram:default:1": {}, "telegram:work:1": {} };
  const several = await keysOf(rows);
  expect(several.scope).toBe("per-account-channel-peer");
  expect(several.keys).toEqual({ s0: "agent:main:telegram:default:direct:1", s1: "agent:main:telegram:work:direct:1" });
  const groups = await keysOf({ "telegram:default:group:-5": {}, "telegram:work:group:-5": {} });
  expect(groups.keys).toEqual({ s0: "agent:main:telegram:group:-5", s1: "agent:main:telegram:group:-5:s1" });
  expect(groups.left).toEqual([
    { what: expect.stringContaining("telegram:work:group:-5"), why: expect.stringContaining("newer") },
  ]);
});

test("people who wait keep their code, and a job whose time has passed is switched off", async () => {
  const place = await ground();
  const journal = await openJournal({ path: join(place.stateDir, "state", "journal.sqlite"), bootId: "test" });
  const asked = await journal.pairing.request({ channel: "telegram", account: "Work:1", senderId: "9", name: "Bo" });
  const common = {
    createdAtMs: 1,
    updatedAtMs: 2,
    scheduleRevision: 1,
    setUpBy: "owner",
    sessionTarget: "main",
    wakeMode: "now",
  } as const;
  const payload = { kind: "systemEvent", text: "look" } as const;
  const over = {
    ...common,
    id: "j",
    name: "over",
    enabled: true,
    schedule: { kind: "at", at: "2020-01-01T00:00:00.000Z" },
    payload,
  } as const;
  const watcher = {
    ...common,
    id: "k",
    name: "watch",
    enabled: true,
    schedule: { kind: "on-exit", command: "x" },
    payload,
  } as const;
  await journal.cron.put(over, { cursorMs: 0 });
  await journal.cron.put(watcher, { cursorMs: 0 });
  await journal.close();
  const { counts, left } = await exported(place);
  expect(counts).toMatchObject({ waiting: 1, jobs: 1 });
  const code = "request" in asked ? asked.request.code : "";
  expect(json(place.to, "credentials", "telegram-pairing.json")).toEqual({
    version: 1,
    requests: [
      {
        id: "9",
        code,
        createdAt: expect.any(String),
        lastSeenAt: expect.any(String),
        meta: { accountId: "Work:1", name: "Bo" },
      },
    ],
  });
  expect(json(place.to, "cron", "jobs.json").jobs).toEqual([expect.objectContaining({ id: "j", enabled: false })]);
  expect(left.map(({ what }: { what: string }) => what)).toEqual(["the job over is switched off", "the job watch"]);
});

test("an allowed command that holds in one folder stays behind", async () => {
  const place = await ground();
  const allowlist = [
    { id: "1", pattern: "/usr/bin/git" },
    { id: "2", pattern: "/usr/bin/make", cwd: "/srv" },
    { id: "3", pattern: "=command:0123456789abcdef", binding: "00" },
  ];
  writeFileSync(
    join(place.stateDir, "exec-approvals.json"),
    JSON.stringify({
      version: 1,
      socket: { token: "secret" },
      defaults: { ask: "always" },
      agents: { main: { allowlist } },
    }),
    { mode: 0o600 },
  );
  const { left, counts } = await exported(place);
  expect(counts.allowedCommands).toBe(1);
  expect(left).toContainEqual({ what: "2 allowed commands", why: expect.stringContaining("one folder") });
  expect(json(place.to, "exec-approvals.json")).toEqual({
    version: 1,
    defaults: { ask: "always" },
    agents: { main: { allowlist: [{ id: "1", pattern: "/usr/bin/git" }] } },
  });
});

test("stored keys come along when asked for, logins never", async () => {
  const place = await ground({ agents: { list: [{ id: "main" }, { id: "b" }] } });
  const login = { type: "oauth", provider: "openai", access: "a1", refresh: "r1", expires: 9 };
  const shared = {
    version: 1,
    profiles: { "x:1": { type: "api_key", provider: "x", key: "k1" }, "openai:me": login },
    order: { x: ["x:1"], openai: ["openai:me"] },
  };
  const own = { version: 1, profiles: { "y:1": { type: "token", provider: "y", token: "t1", expires: 5 } } };
  for (const [dir, content] of [
    ["credentials", shared],
    ["agents/b/agent", own],
  ] as const) {
    mkdirSync(join(place.stateDir, dir), { recursive: true });
    writeFileSync(join(place.stateDir, dir, "auth-profiles.json"), JSON.stringify(content));
  }
  const without = await exported(place);
  expect(without.counts.keys).toBe(0);
  expect(without.left.map(({ what }: { what: string }) => what)).toContain("credentials/auth-profiles.json");
  expect(JSON.stringify(readdirSync(place.to, { recursive: true }))).not.toContain("auth-profiles");

  const again = { ...place, to: `${place.to}-keys` };
  const { counts, left } = await exported(again, "--with-keys");
  expect(counts.keys).toBe(2);
  expect(left).toContainEqual({ what: "the login openai:me", why: expect.stringContaining("log in there") });
  expect(json(again.to, "agents/main/agent/auth-profiles.json")).toEqual({
    version: 1,
    profiles: { "x:1": { type: "api_key", provider: "x", key: "k1" } },
    order: { x: ["x:1"], openai: [] },
  });
  expect(json(again.to, "agents/b/agent/auth-profiles.json").profiles).toEqual(own.profiles);
});

test("a target that is there, or lies in the state directory, is refused, and so is a directory whose gateway runs", async () => {
  const place = await ground();
  const refused = async (to: string, code: string, says: string) => {
    const { code: exit, err, out } = await run(["export", "--to", to], place.env);
    expect([exit === 0, out]).toEqual([false, ""]);
    expect(err).toMatch(new RegExp(`^error ${code}: .*${says}`));
  };
  mkdirSync(place.to);
  writeFileSync(join(place.to, "kept"), "x");
  await refused(place.to, "USAGE", "not empty");
  await refused(join(place.to, "kept"), "USAGE", "is a file");
  await refused(join(place.stateDir, "back"), "USAGE", "lie in each other");
  await refused(dirname(place.stateDir), "USAGE", "lie in each other");
  rmSync(join(place.to, "kept"));
  const lock = await acquireStateLock(place.stateDir);
  await refused(place.to, "STATE_LOCKED", "owns this state directory");
  await lock.release();
  expect(readdirSync(place.to)).toEqual([]);
  await exported(place);
  expect(existsSync(join(place.to, "openclaw.json"))).toBe(true);
});

test("an export that fails leaves nothing", async () => {
  const place = await ground({}, true);
  const sessions = join(place.stateDir, "sessions");
  const [name = ""] = readdirSync(sessions).filter((one) => one.endsWith(".jsonl"));
  rmSync(join(sessions, name));
  mkdirSync(join(sessions, name));
  const { code } = await run(["export", "--to", place.to], place.env);
  expect(code).not.toBe(0);
  expect(readdirSync(dirname(place.to))).toEqual(["state-of-ours"]);
});

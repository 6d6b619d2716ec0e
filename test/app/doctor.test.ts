import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolvePaths, makeStateDirs, type StatePaths } from "../../src/app/config/paths.ts";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { bundledContributions } from "../../src/app/contributions/extensions.ts";
import { appChecks } from "../../src/app/doctor/app-checks.ts";
import { nodeCheck } from "../../src/app/doctor/machine-checks.ts";
import { applyRepairs } from "../../src/app/doctor/repair.ts";
import { formatReport, reportJson } from "../../src/app/doctor/report.ts";
import { runChecks, type CheckReport } from "../../src/app/doctor/run-checks.ts";
import type { Check, CheckResult } from "../../src/types/check.ts";

let home = "";
let paths: StatePaths;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "doctor-"));
  paths = resolvePaths({ HOME: home });
  await makeStateDirs(paths);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const check = (id: string, run: Check["run"]): Check => ({ id, title: id, run });
const examine = (input: unknown = {}) =>
  runChecks(
    appChecks({
      paths,
      load: { path: paths.configPath, env: { HOME: home } },
      loaded: { config: configSchema.parse(input), variables: [] },
      contributions: bundledContributions(),
    }),
  );
const found = (reports: readonly CheckReport[], id: string): readonly CheckResult[] =>
  reports.find((report) => report.id === `app.${id}`)?.results ?? [];

it("a check may have a time of its own", async () => {
  const slow: Check = {
    id: "slow",
    title: "Slow",
    timeoutMs: 5000,
    run: async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return [{ status: "ok", message: "done" }];
    },
  };
  expect((await runChecks([slow], { timeoutMs: 1 }))[0]?.results).toMatchObject([{ status: "ok" }]);
});

it("an agent without a tool is found, with the keys that took them away", async () => {
  const tools = { deny: ["group:fs"], toolsBySender: { "*": { deny: ["*"] } } };
  const list = [{ id: "main" }, { id: "clerk", tools: { allow: ["raed"] } }];
  const [one, ...others] = found(await examine({ tools, agents: { list } }), "tools");
  expect(one).toMatchObject({
    status: "warn",
    message: expect.stringMatching(/"clerk" has none.*agents\.list\[1\]\.tools/),
  });
  expect(others).toEqual([]);
  expect(found(await examine({ tools }), "tools")).toMatchObject([{ status: "ok" }]);
});

it("a folder without a page is found, and its path is the config's", async () => {
  const page = async (controlUi: object) => found(await examine({ gateway: { controlUi } }), "page");
  expect(await page({ basePath: "claw" })).toMatchObject([
    { status: "ok", message: expect.stringContaining("/claw/") },
  ]);
  expect(await page({ enabled: false, root: "ui" })).toMatchObject([{ status: "skip" }]);
  const missing = { status: "fail", message: expect.stringContaining(join(dirname(paths.configPath), "ui")) };
  expect(await page({ root: "ui" })).toMatchObject([missing]);
  mkdirSync(join(dirname(paths.configPath), "ui"), { recursive: true });
  expect(await page({ root: "ui" })).toMatchObject([missing]);
  writeFileSync(join(dirname(paths.configPath), "ui", "index.html"), "<html></html>");
  expect(await page({ root: "ui" })).toMatchObject([{ status: "ok" }]);
  const open = { status: "fail", message: expect.stringContaining("has the gateway's own files in it") };
  expect(await page({ root: "." })).toMatchObject([open]);
  expect(await page({ root: "/" })).toMatchObject([open]);
});

describe("bindings", () => {
  const main = { agentId: "main", match: { channel: "telegram" } };
  const telegram = { accounts: { a: {}, b: {} } };
  const bound = async (...bindings: readonly object[]) =>
    found(await examine({ bindings, channels: { telegram } }), "bindings");

  it("to agents, channels and accounts that are there are fine", async () => {
    expect(found(await examine({ channels: { telegram } }), "bindings")).toEqual([]);
    expect(await bound(main, { agentId: "main", match: { channel: "telegram", accountId: "b" } })).toMatchObject([
      { status: "ok" },
    ]);
  });

  it("to an unknown agent fail; those that no message can fit warn", async () => {
    const to = (match: object, agentId = "main") => ({ agentId, match });
    expect(
      await bound(
        to({ channel: "telegram" }, "nobody"),
        to({ channel: "slack" }),
        to({ channel: "telegram", accountId: "c" }),
      ),
    ).toMatchObject([
      { status: "fail", message: expect.stringContaining('bindings[0]: there is no agent "nobody"') },
      { status: "warn", message: expect.stringContaining('bindings[1]: the config names no channel "slack"') },
      { status: "warn", message: expect.stringContaining('bindings[2]: telegram has no account "c"') },
    ]);
  });

  it("are no condition for a look at the chats that several agents answer", async () => {
    const broadcast = { "telegram:1": ["main", "nobody"] };
    expect(found(await examine({ broadcast, channels: { telegram } }), "bindings")).toMatchObject([
      { status: "fail", message: expect.stringContaining('broadcast["telegram:1"]: there is no agent "nobody"') },
    ]);
    expect(found(await examine({ broadcast: { strategy: "sequential" } }), "bindings")).toEqual([]);
  });

  it("that an earlier one covers are named", async () => {
    const peer = (kind: string, id: string) => ({
      agentId: "main",
      match: { channel: "telegram", peer: { kind, id } },
    });
    expect(await bound(main, { ...main, match: { channel: "telegram", accountId: "a" } })).toMatchObject([
      { status: "warn", message: expect.stringContaining("bindings[1] is never chosen: bindings[0]") },
    ]);
    expect(await bound(peer("group", "-5"), peer("channel", "-5"))).toMatchObject([{ status: "warn" }]);
    expect(await bound(peer("group", "-5"), peer("direct", "-5"))).toMatchObject([{ status: "ok" }]);
    expect(await bound(main, peer("group", "-5"))).toMatchObject([{ status: "ok" }]);
    const roles = (...ids: string[]) => ({ agentId: "main", match: { channel: "telegram", guildId: "1", roles: ids } });
    expect(await bound(roles("x", "y"), roles("x"))).toMatchObject([{ status: "warn" }]);
    expect(await bound(roles("x"), roles("x", "y"))).toMatchObject([{ status: "ok" }]);
  });
});

it("agents that work in one directory, or in one inside another, are found", async () => {
  const place = (path: string) => join(home, path);
  const list = (...paths: string[]) => ({
    agents: { list: paths.map((path, at) => ({ id: `a${at}`, workspace: place(path) })) },
  });
  expect(found(await examine(list("one", "two")), "workspaces")).toMatchObject([{ status: "ok" }]);
  expect(found(await examine(list("one", "one")), "workspaces")).toMatchObject([
    { status: "fail", message: expect.stringContaining('"a0" and "a1" share') },
  ]);
  expect(found(await examine(list("one", "one/two")), "workspaces")).toMatchObject([
    { status: "warn", message: expect.stringContaining('"a1" lies in that of "a0"') },
  ]);
});

describe("running checks", () => {
  it("runs them in parallel; a throw and a long silence are failures", async () => {
    const last = Promise.withResolvers<void>();
    const reports = await runChecks(
      [
        check("good", async () => [{ status: "ok", message: "fine" }]),
        check("throws", () => {
          throw new Error("broken");
        }),
        check("hangs", () => new Promise(() => undefined)),
        check("waits for the last", async () => {
          await last.promise;
          return [{ status: "ok", message: "the last one has started" }];
        }),
        check("last", async () => {
          last.resolve();
          return [{ status: "ok", message: "fine" }];
        }),
      ],
      { timeoutMs: 50 },
    );
    expect(reports.slice(0, 4).map(({ results }) => [results[0]?.status, results[0]?.message])).toEqual([
      ["ok", "fine"],
      ["fail", "broken"],
      ["fail", "No answer within 50 ms."],
      ["ok", "the last one has started"],
    ]);
  });
});

describe("the report", () => {
  const reports: CheckReport[] = [
    { id: "a", title: "First", durationMs: 1, results: [{ status: "ok", message: "fine" }] },
    {
      id: "b",
      title: "Second one",
      durationMs: 1,
      results: [
        { status: "fail", message: "bad", fix: "Mend it.", repair: { describe: "mend", apply: async () => undefined } },
        { status: "warn", message: "odd" },
      ],
    },
  ];

  it("is a table for people", () => {
    expect(formatReport(reports, { color: false })).toBe(
      [
        "ok    First       fine",
        "FAIL  Second one  bad",
        "                  → Mend it.",
        "warn              odd",
        "",
        "1 ok, 1 to look at, 1 failed. 1 can be repaired: openclaw doctor --fix",
        "",
      ].join("\n"),
    );
    expect(formatReport(reports, { color: true })).toContain("\u001b[31mFAIL\u001b[39m");
  });

  it("is JSON for scripts", () => {
    expect(reportJson(reports)).toMatchObject({
      status: "fail",
      checks: [{ status: "ok" }, { status: "fail", results: [{ repair: "mend" }, { status: "warn" }] }],
    });
  });
});

describe("repairs", () => {
  it("are shown, asked for one by one, and only those are done", async () => {
    const done: string[] = [];
    const lines: string[] = [];
    const repair = (name: string) => ({ describe: `do ${name}`, apply: async () => void done.push(name) });
    const results: CheckResult[] = ["a", "b"].map((name) => ({ status: "warn", message: name, repair: repair(name) }));
    const broken: CheckResult = {
      status: "warn",
      message: "c",
      repair: { describe: "do c", apply: () => Promise.reject(new Error("no")) },
    };
    const reports = [{ id: "x", title: "x", durationMs: 0, results: [...results, broken] }];
    const answers = [false, true, true];
    const sum = await applyRepairs(reports, {
      ask: async () => answers.shift() ?? false,
      write: (line) => void lines.push(line),
    });
    expect([done, sum]).toEqual([["b"], { done: 1, declined: 1, failed: 1 }]);
    expect(lines).toEqual(["do a", "do b", "do c", "  failed: no"]);
    await applyRepairs(reports, { write: () => undefined });
    expect(done).toEqual(["b", "a", "b"]);
  });
});

describe("a fresh state directory", () => {
  it("has no problem", async () => {
    const reports = await examine({ gateway: { port: 0 } });
    expect(
      reports.flatMap(({ results }) => results).filter(({ status }) => status === "warn" || status === "fail"),
    ).toEqual([]);
  });
});

describe("what is wrong", () => {
  it("in the config has file and line", async () => {
    writeFileSync(paths.configPath, "{\n gatway: {},\n update: {} }", { mode: 0o600 });
    expect(found(await examine(), "config")).toMatchObject([
      {
        status: "fail",
        message: "openclaw.json:2: gatway: unknown key; did you mean gateway?",
        fix: expect.stringContaining("validate"),
      },
    ]);
  });

  it("in the rights can be repaired", async () => {
    writeFileSync(paths.configPath, '{ gateway: { auth: { token: "x" } } }');
    chmodSync(paths.configPath, 0o644);
    chmodSync(paths.stateDir, 0o777);
    const reports = await examine();
    expect(found(reports, "permissions")).toMatchObject([
      {
        status: "fail",
        message: expect.stringContaining("changed by everybody"),
        repair: { describe: `chmod 700 ${paths.stateDir}` },
      },
      {
        status: "warn",
        message: expect.stringContaining("read by everybody"),
        repair: { describe: `chmod 600 ${paths.configPath}` },
      },
    ]);
    await applyRepairs(reports, { write: () => undefined });
    expect([statSync(paths.stateDir).mode & 0o777, statSync(paths.configPath).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it("with the port names its holder", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const results = found(await examine({ gateway: { port } }), "port");
    server.close();
    expect(results[0]).toMatchObject({ status: "fail", message: expect.stringContaining(`${port} is taken by`) });
  });

  it("a lock of a dead process is reported", async () => {
    const lock = { pid: 2 ** 22 + 1, startedAt: "long ago", command: "openclaw gateway", port: 1 };
    writeFileSync(paths.lockFile, JSON.stringify(lock));
    expect(found(await examine(), "lock")).toMatchObject([
      { status: "warn", message: expect.stringContaining("did not shut down properly") },
    ]);
  });

  it("with the token, the Node and a second state directory is reported", async () => {
    mkdirSync(join(home, ".clawdbot"));
    const hooks = { enabled: true, token: "short" };
    const reports = await examine({ gateway: { bind: "lan", auth: { token: "short" } }, hooks });
    expect(found(reports, "token")).toMatchObject([{ status: "fail" }]);
    expect(found(reports, "hooks")).toMatchObject([
      { status: "fail", fix: expect.stringContaining("another random text") },
    ]);
    expect(JSON.stringify(reports)).not.toContain('"short"');
    expect(found(reports, "statedir")).toMatchObject([
      { status: "ok" },
      { status: "warn", message: expect.stringContaining(".clawdbot") },
    ]);
    expect((await runChecks([nodeCheck("22.18.0")]))[0]?.results).toMatchObject([{ status: "fail" }]);
    expect((await runChecks([nodeCheck("24.0.1")]))[0]?.results).toMatchObject([{ status: "ok" }]);
  });

  it("reports what does not reach the model: long files, skills with missing requirements", async () => {
    mkdirSync(join(paths.stateDir, "skills", "picky"), { recursive: true });
    mkdirSync(paths.workspace, { recursive: true });
    const front = 'name: picky\ndescription: x\nmetadata: {"openclaw":{"requires":{"bins":["nothere-at-all"]}}}';
    writeFileSync(join(paths.stateDir, "skills", "picky", "SKILL.md"), `---\n${front}\n---\n`);
    writeFileSync(join(paths.workspace, "AGENTS.md"), "a".repeat(30_000));
    const [file, skill] = found(await examine(), "prompt");
    expect(file).toMatchObject({ status: "warn", fix: expect.stringContaining("bootstrapMaxChars") });
    expect(file?.message).toContain("of its 30000 characters");
    expect(skill?.message).toContain("it needs the program nothere-at-all in PATH");
  });

  it("without an owner is reported as soon as a channel is configured", async () => {
    const telegram = { enabled: true, botToken: "x" };
    const [gap] = found(await examine({ channels: { telegram } }), "owner");
    expect(gap).toMatchObject({
      status: "warn",
      fix: expect.stringContaining("commands.ownerAllowFrom '[\"telegram:"),
    });
    expect(gap?.message).toContain("MEMORY.md");
    const commands = { ownerAllowFrom: ["telegram:7"] };
    expect(found(await examine({ channels: { telegram }, commands }), "owner")[0]?.status).toBe("ok");
    expect(found(await examine({ channels: { telegram: { ...telegram, enabled: false } } }), "owner")[0]?.status).toBe(
      "ok",
    );
  });

  it("with open access is the more severe the more strangers could do", async () => {
    const telegram = { dmPolicy: "open", allowFrom: ["*"], groupPolicy: "open" };
    const mild = found(await examine({ channels: { telegram } }), "policy");
    expect(mild.map(({ status }) => status)).toEqual(["warn", "warn"]);
    const wild = {
      channels: { telegram },
      tools: { exec: { security: "full", ask: "off" } },
      session: { dmScope: "main" },
    };
    expect(found(await examine(wild), "policy").map(({ status }) => status)).toEqual(["warn", "warn", "fail", "fail"]);
    const global = { channels: { telegram }, session: { scope: "global" } };
    expect(found(await examine(global), "policy")[2]).toMatchObject({
      status: "fail",
      fix: "Run: openclaw config set session.scope per-sender",
    });
    const strangersRun = async (config: object) =>
      found(await examine({ channels: { telegram }, ...config }), "policy").some(({ status }) => status === "fail");
    expect(await strangersRun({ tools: { exec: { security: "full" } } })).toBe(true);
    expect(await strangersRun({ tools: { exec: { security: "full", ask: "always" } } })).toBe(false);
    expect(await strangersRun({ agents: { list: [{ id: "a", tools: { exec: { security: "full" } } }] } })).toBe(true);
    const named = { allowFrom: ["7", "@ada", "carl"], groups: { "-1": { allowFrom: ["telegram:@bob"] } } };
    expect(found(await examine({ channels: { telegram: named } }), "policy")).toMatchObject([
      { status: "ok" },
      { status: "warn", message: expect.stringContaining("@ada, carl, telegram:@bob") },
    ]);
    const discord = { guilds: { "1": { users: ["@eve"], channels: { "2": { users: ["@mallory", "U0ABC"] } } } } };
    expect(found(await examine({ channels: { discord } }), "policy")[1]).toMatchObject({
      message: expect.stringContaining("discord/default: @mallory may"),
    });
    const off = { ...wild, channels: { telegram: { ...telegram, enabled: false } } };
    expect(found(await examine(off), "policy")).toMatchObject([{ status: "ok" }]);
  });

  const WRITE = "everybody who finds the bot may write";
  const USE = "everybody may put the bot into a group";
  const HEARD = "allowFrom is for direct chats alone; everybody may be heard in";
  const STILL = "Strangers are not answered";
  it.each<[object, string[]]>([
    [{ dm: { policy: "open", allowFrom: ["*"] } }, [WRITE]],
    [{ dm: { allowFrom: ["slack:*"] } }, [WRITE]],
    [{ dmPolicy: "open" }, [STILL, 'allowFrom has no "*"']],
    [{ dmPolicy: "open", allowFrom: ["*"], dm: { enabled: false } }, [STILL]],
    [{ groupPolicy: "open" }, [USE]],
    [{ groupPolicy: "open", groupAllowFrom: ["7"] }, [STILL]],
    [{ groups: { "*": {} } }, [USE]],
    [{ groups: { "*": {} }, allowFrom: ["7"] }, [STILL]],
    [{ guilds: { "*": {} }, allowFrom: ["7"] }, [USE, `${HEARD} guild:*.`]],
    [
      { guilds: { "5": {}, "6": { channels: { "61": {}, "62": { enabled: false } } } }, dm: { allowFrom: ["7"] } },
      [STILL, `${HEARD} 61, guild:5.`],
    ],
    [{ channels: { C1: {}, C2: { users: ["8"] }, C3: { roles: ["9"] } }, allowFrom: ["7"] }, [STILL, `${HEARD} C1.`]],
    [{ channels: { C1: {} }, groups: { "-1": {} }, allowFrom: ["7"], groupAllowFrom: ["7"] }, [STILL]],
    [{ channels: { C1: {} }, allowFrom: ["7"], groupPolicy: "disabled" }, [STILL]],
    [{ channels: { C1: {} }, allowFrom: ["*"] }, [WRITE]],
    [{ guilds: { "*": { roles: ["9"] } } }, [STILL]],
    [{ guilds: { "5": {} } }, [STILL]],
  ])("is reported by the rule that messages are checked with: %j", async (slack, messages) => {
    const told = found(await examine({ channels: { slack } }), "policy").map(({ message }) => message);
    expect(told).toEqual(messages.map((message) => expect.stringContaining(message)));
  });
});

describe("mention patterns", () => {
  it("that can take exponential time are reported, the others are not", async () => {
    const endless = ["(a+)+$", "(claw|c?l?a?w?)*bot", "^(\\w+\\s*)+\\.$"];
    const groupChat = { mentionPatterns: ["\\bclaw\\b", "@?bot[\\w-]*", endless[0]] };
    const agents = { list: [{ id: "main", groupChat: { mentionPatterns: endless.slice(1) } }] };
    const told = found(await examine({ messages: { groupChat }, agents }), "mentions");
    expect(told).toMatchObject(
      endless.map((one) => ({ status: "warn", message: expect.stringContaining(JSON.stringify(one)) })),
    );
    expect(found(await examine(), "mentions")).toMatchObject([{ status: "ok" }]);
  });
});

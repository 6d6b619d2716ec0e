import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../../src/store/journal/journal.ts";
import type { CronJob } from "../../../src/types/cron/job.ts";
import { run, stateDir } from "../../kit/gateway/cli.ts";
import { fakeGateway, TOKEN } from "./fake-gateway.ts";

const CONFIG = `{
  // who answers
  channels: { telegram: { enabled: false, accounts: { default: {}, work: {} } }, discord: { enabled: false } },
}
`;

function home(config = CONFIG) {
  const dir = stateDir(config);
  const cli = (...args: readonly string[]) => run(["agents", ...args], { OPENCLAW_STATE_DIR: dir });
  const json = async (...args: readonly string[]) => JSON.parse((await cli(...args, "--json")).out) as unknown;
  return { dir, cli, json, config: () => readFileSync(join(dir, "openclaw.json"), "utf8") };
}

test("agents are added with a workspace and bindings, and listed", async () => {
  const { dir, cli, json, config } = home();
  expect(await json("list")).toEqual([{ id: "main", workspace: join(dir, "workspace"), isDefault: true, bindings: 0 }]);
  const added = await cli("add", "Night Owl", "--model", "fake/m1", "--bind", "telegram:work", "--non-interactive");
  expect(added).toMatchObject({ code: 0, err: "" });
  expect(added.out).toContain("It answers: telegram:work");
  expect(existsSync(join(dir, "workspace-night-owl", "AGENTS.md"))).toBe(true);
  // A copy of the directory has agents of its own.
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).toContain('"workspace-night-owl"');
  expect(readFileSync(join(dir, "openclaw.json"), "utf8")).not.toContain(dir);
  expect(config()).toContain("// who answers");
  expect(await json("list", "--bindings")).toEqual([
    { id: "main", workspace: join(dir, "workspace"), isDefault: true, bindings: 0, bindingDetails: [] },
    {
      id: "night-owl",
      name: "Night Owl",
      workspace: join(dir, "workspace-night-owl"),
      model: "fake/m1",
      isDefault: false,
      bindings: 1,
      bindingDetails: ["telegram:work"],
    },
  ]);
  expect((await cli()).out).toMatch(/^AGENT .*\nmain \(default\) .*\nnight-owl +Night Owl +fake\/m1/);
});

/** A home whose gateway listens on this port, as its lock says. */
function homeWithGateway(port: number, reload: string) {
  const { dir, config } = home(`{ channels: { telegram: { enabled: false } }, gateway: { reload: ${reload} } }`);
  mkdirSync(join(dir, "state"), { recursive: true });
  const lock = { pid: process.pid, startedAt: "unknown", command: "openclaw gateway", port };
  writeFileSync(join(dir, "state", "gateway.lock"), JSON.stringify(lock));
  const env = { OPENCLAW_STATE_DIR: dir, OPENCLAW_GATEWAY_TOKEN: TOKEN };
  return { config, bind: () => run(["agents", "bind", "--bind", "telegram"], env) };
}

test("a binding waits for the running gateway, and says where that follows at its next start", async () => {
  let hash = (): string => "of an earlier file";
  const gateway = await fakeGateway({ "config.get": () => ({ hash: hash() }) });
  const { bind } = homeWithGateway(gateway.port, "{ mode: 'off', debounceMs: 0 }");
  expect(await bind()).toMatchObject({
    code: 0,
    out: "main answers: telegram\n",
    err: "The running gateway follows at its next start: openclaw gateway run --force\n",
  });
  expect(gateway.requests.length).toBeGreaterThan(2);

  // One that was started with another mode.
  const other = homeWithGateway(gateway.port, "{ mode: 'off' }");
  hash = () => createHash("sha256").update(other.config()).digest("hex");
  expect(await other.bind()).toMatchObject({ code: 0, err: "" });
});

test("a binding is made although the running gateway does not answer, which is said", async () => {
  expect(await homeWithGateway(1, "{}").bind()).toMatchObject({
    code: 0,
    out: "main answers: telegram\n",
    err: expect.stringMatching(/^Whether the running gateway follows is not known: .*127\.0\.0\.1:1/),
  });
});

test("no agent is added twice, without a name, as main, or with a model that is none", async () => {
  const { cli, config } = home();
  expect(await cli("add", "--non-interactive")).toMatchObject({ code: 2, err: expect.stringContaining("no name") });
  expect(await cli("add", "main")).toMatchObject({ code: 2 });
  expect(await cli("add", "x", "--model", "nonsense")).toMatchObject({ code: 78 });
  expect(await cli("add", "x", "--bind", "a:b:c")).toMatchObject({ code: 2 });
  expect(config()).toBe(CONFIG);
  await cli("add", "x");
  expect(await cli("add", "y", "--bind", "carrier-pigeon")).toMatchObject({
    code: 0,
    err: expect.stringContaining("so no message fits: openclaw channels add --channel carrier-pigeon\n"),
  });
  expect((await cli("unbind", "--agent", "x", "--all")).out).toBe("x has no bindings.\n");
  expect(await cli("add", "X")).toMatchObject({ code: 2, err: expect.stringContaining("already") });
});

test("bindings are made once: the same one is kept, a wider one gets the account, one of another agent stays", async () => {
  const { cli, json } = home();
  await cli("add", "owl");
  await cli("add", "cat");
  const bind = (agent: string, ...more: readonly string[]) => json("bind", "--agent", agent, ...more);
  expect(await bind("owl", "--bind", "telegram")).toMatchObject({ added: ["telegram"] });
  expect(await bind("owl", "--bind", "telegram")).toMatchObject({ added: [], skipped: ["telegram"] });
  expect(await bind("owl", "--bind", "telegram:work")).toMatchObject({ added: [], updated: ["telegram:work"] });
  expect(await bind("cat", "--bind", "telegram:work", "--bind", "discord")).toMatchObject({
    added: ["discord"],
    conflicts: [{ binding: "telegram:work", agentId: "owl" }],
  });
  expect(await cli("bind", "--agent", "cat", "--bind", "telegram:work")).toMatchObject({ code: 1 });
  expect(await bind("cat", "--bind", "telegram", "--peer", "group:-5")).toMatchObject({ added: ["telegram group=-5"] });
  expect(await bind("cat", "--bind", "discord", "--guild", "1", "--role", "7,8")).toMatchObject({
    added: ["discord guild=1 roles=7,8"],
  });
  expect(await json("bindings", "--agent", "owl")).toEqual([
    { agentId: "owl", match: { channel: "telegram", accountId: "work" }, text: "telegram:work" },
  ]);
  expect(await json("unbind", "--agent", "cat", "--bind", "telegram", "--peer", "group:-5")).toMatchObject({
    removed: ["telegram group=-5"],
    missing: [],
  });
  expect(await cli("unbind", "--agent", "cat", "--bind", "slack")).toMatchObject({ code: 1 });
  expect(await cli("unbind", "--agent", "cat")).toMatchObject({ code: 2 });
  expect(await json("unbind", "--agent", "cat", "--all")).toMatchObject({
    removed: ["discord", "discord guild=1 roles=7,8"],
  });
  expect(await json("bindings")).toHaveLength(1);
  expect(await cli("bind", "--agent", "nobody", "--bind", "telegram")).toMatchObject({ code: 1 });
});

test("bindings says who answers a message, and why not the others", async () => {
  const rows = [
    { agentId: "owl", match: { channel: "telegram" } },
    { agentId: "cat", match: { channel: "telegram", peer: { kind: "group", id: "-5" } } },
    { agentId: "owl", match: { channel: "discord", guildId: "1" } },
    { agentId: "cat", match: { channel: "discord", guildId: "1", roles: ["7"] } },
  ];
  const { cli, json } = home(
    JSON.stringify({
      agents: { list: [{ id: "main" }, { id: "owl" }, { id: "cat" }] },
      bindings: rows,
      channels: { telegram: { enabled: false }, discord: { enabled: false } },
    }),
  );
  const why = (...flags: readonly string[]) => json("bindings", "--channel", ...flags);
  expect(await why("telegram", "--peer", "group:-5")).toMatchObject({
    agentId: "cat",
    bindings: [
      { chosen: false, why: expect.stringContaining("matches by account") },
      { chosen: true, why: "chosen: chat" },
      { why: "match.channel does not hold" },
      { why: "match.channel does not hold" },
    ],
  });
  expect(await why("telegram", "--peer", "group:-5", "--thread", "9")).toMatchObject({ agentId: "cat" });
  expect(await why("telegram", "--peer", "42")).toMatchObject({ agentId: "owl" });
  expect(await why("discord", "--guild", "1", "--role", "7", "--peer", "group:3")).toMatchObject({ agentId: "cat" });
  expect(await why("discord", "--guild", "1", "--role", "9", "--peer", "group:3")).toMatchObject({
    agentId: "owl",
    bindings: [{}, {}, { chosen: true }, { why: "match.roles does not hold" }],
  });
  expect(await why("slack")).toMatchObject({ agentId: "main", isDefault: true });
  expect((await cli("bindings", "--channel", "telegram", "--account", "work")).out).toContain(
    "main answers, because no binding matches",
  );
});

test("an identity is set from flags or a file, and removed by an empty text", async () => {
  const { dir, cli, json, config } = home();
  await cli("add", "owl");
  writeFileSync(join(dir, "workspace-owl", "IDENTITY.md"), "- Name: Strix\n- Emoji: 🦉\n- Vibe: _calm_\n");
  expect(await json("set-identity", "--agent", "owl", "--from-identity", "--emoji", "🪶")).toEqual({
    agentId: "owl",
    identity: { name: "Strix", theme: "calm", emoji: "🪶" },
  });
  expect(await json("set-identity", "--workspace", join(dir, "workspace-owl"), "--theme", "")).toMatchObject({
    agentId: "owl",
  });
  expect(config()).not.toContain("calm");
  expect(await json("list")).toMatchObject([{}, { identityName: "Strix", identityEmoji: "🪶" }]);
  expect(await json("set-identity", "--name", "Ada")).toMatchObject({ agentId: "main" });
  expect(await cli("set-identity", "--agent", "owl")).toMatchObject({ code: 2 });
  expect(await cli("set-identity", "--identity-file", join(dir, "none.md"))).toMatchObject({ code: 1 });
  rmSync(join(dir, "workspace-owl", "IDENTITY.md"));
  mkdirSync(join(dir, "workspace-owl", "IDENTITY.md"));
  expect(await cli("set-identity", "--agent", "owl", "--from-identity")).toMatchObject({
    code: 1,
    err: expect.stringContaining("IDENTITY.md cannot be read"),
  });
});

test("an agent is removed with its bindings, and its workspace can be taken back", async () => {
  const { dir, cli, json, config } = home();
  await cli("add", "owl", "--bind", "telegram");
  await cli("add", "cat", "--workspace", join(dir, "cats"));
  expect(await cli("delete", "owl")).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
  expect(await json("delete", "owl", "--force")).toMatchObject({
    agentId: "owl",
    removedBindings: 1,
    removed: [{ path: join(dir, "workspace-owl"), method: "trash" }],
  });
  expect(config()).not.toContain("owl");
  expect(readdirSync(join(dir, "trash"))).toEqual([expect.stringMatching(/-workspace-owl$/)]);
  mkdirSync(join(dir, "cats"), { recursive: true });
  expect(await cli("delete", "cat", "--force", "--keep-files")).toMatchObject({ code: 0 });
  expect(existsSync(join(dir, "cats"))).toBe(true);
  expect(await cli("delete", "main", "--force")).toMatchObject({ code: 2 });
  expect(await cli("delete", "owl", "--force")).toMatchObject({ code: 1 });
});

test("a file with agents.entries keeps that form", async () => {
  const { cli, json, config } = home(
    "{ agents: { entries: { main: { default: true } } }, broadcast: { '42': ['main', 'owl'] } }\n",
  );
  await cli("add", "Owl", "--bind", "telegram", "--agent-dir", "/tmp/owl-keys");
  await cli("set-identity", "--agent", "owl", "--emoji", "🦉");
  expect(config()).not.toContain("list");
  expect(await json("list")).toMatchObject([
    { id: "main", isDefault: true },
    { id: "owl", identityEmoji: "🦉", bindings: 1 },
  ]);
  expect(config()).toContain("/tmp/owl-keys");
  expect(await json("bindings", "--channel", "telegram", "--peer", "direct:42")).toMatchObject({
    agentId: "main",
    broadcast: ["main", "owl"],
  });
  expect(await cli("delete", "owl", "--force")).toMatchObject({ code: 0 });
  expect(await json("list")).toMatchObject([{ id: "main" }]);
  expect(config()).not.toContain("owl");
});

const reminder = (agentId: string): CronJob => ({
  id: `of-${agentId}`,
  name: "remind",
  agentId,
  enabled: true,
  createdAtMs: 0,
  updatedAtMs: 0,
  scheduleRevision: 1,
  setUpBy: "owner",
  schedule: { kind: "every", everyMs: 3_600_000, anchorMs: 0 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "hi" },
  delivery: { mode: "none" },
});

test("an agent is deleted with its jobs and its keys when no gateway runs", async () => {
  const { dir, cli, json } = home();
  await cli("add", "owl");
  await cli("add", "cat");
  const keys = join(dir, "agents", "owl", "agent");
  mkdirSync(keys, { recursive: true });
  writeFileSync(join(keys, "auth-profiles.json"), "{}");
  const journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "test" });
  for (const agentId of ["owl", "cat"]) await journal.cron.put(reminder(agentId), { cursorMs: 0 });
  await journal.close();
  expect(await json("delete", "owl", "--force")).toMatchObject({
    removedJobs: 1,
    removed: [{ path: join(dir, "workspace-owl") }, { path: join(dir, "agents", "owl") }],
  });
  expect(existsSync(keys)).toBe(false);
  const after = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "test" });
  expect((await after.cron.all()).map(({ job }) => job)).toMatchObject([{ agentId: "cat" }]);
  await after.close();
});

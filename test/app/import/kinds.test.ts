import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { run, stateDir } from "../../kit/gateway/cli.ts";

type Files = Readonly<Record<string, string | object>>;

/** A home with OpenClaw's directory below it, and an empty target beside. */
function homeWith(files: Files) {
  const home = stateDir();
  put(join(home, ".openclaw"), { "openclaw.json": {}, ...files });
  const target = join(home, "target");
  return { source: join(home, ".openclaw"), target, env: { HOME: home, OPENCLAW_STATE_DIR: target } };
}

function put(dir: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), typeof content === "string" ? content : JSON.stringify(content));
  }
}

interface Told {
  readonly items: readonly { id: string; state: string; why?: string; notes: readonly string[] }[];
  readonly left: readonly { name: string; why: string }[];
}

type Place = ReturnType<typeof homeWith>;

/** What the command tells of one kind. */
async function imported({ env }: Place, kind: string, ...flags: readonly string[]): Promise<Told> {
  const { out, err } = await run(["import", "--json", ...flags], env);
  expect(err).toBe("");
  const found = JSON.parse(out).kinds.find((one: { kind: string }) => one.kind === kind);
  return found as Told;
}

const statesOf = ({ items }: Told) => items.map(({ id, state }) => [id, state]);
const leftOf = ({ left }: Told) => Object.fromEntries(left.map(({ name, why }) => [name, why]));

async function inJournal<T>(
  { target }: Place,
  work: (journal: Awaited<ReturnType<typeof openJournal>>) => Promise<T>,
): Promise<T> {
  const journal = await openJournal({ path: join(target, "state", "journal.sqlite"), bootId: "test" });
  try {
    return await work(journal);
  } finally {
    await journal.close();
  }
}

/** Content and times of every file of a directory. */
const snapshot = (dir: string) =>
  readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(dir, name)).isFile())
    .map((name) => [name, statSync(join(dir, name)).mtimeMs, readFileSync(join(dir, name), "base64")]);

/** The database that all agents of later versions share. */
function database(
  { source }: Place,
  tables: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>,
  path = "state/openclaw.sqlite",
) {
  mkdirSync(dirname(join(source, path)), { recursive: true });
  const db = new DatabaseSync(join(source, path));
  for (const [table, rows] of Object.entries(tables)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    db.exec(`CREATE TABLE ${table} (${columns.map((name) => `${name} TEXT`).join(", ")})`);
    for (const row of rows)
      db.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => "?").join(", ")})`).run(
        ...columns.map((name) => row[name] ?? null),
      );
  }
  db.close();
}

test("people who were let in may write here too, with their account; names and everybody are named instead", async () => {
  const place = homeWith({
    "openclaw.json": {
      channels: { telegram: { accounts: { Work: {} } }, slack: { accounts: { "a/b": {}, "a:b": {} } } },
    },
    "credentials/telegram-default-allowFrom.json": { version: 1, allowFrom: ["8001", "telegram:8002", "*", "@ada"] },
    "credentials/telegram-allowFrom.json": ["8003"],
    "credentials/telegram-work-allowFrom.json": { version: 1, allowFrom: ["9001"] },
    "credentials/slack-a_b-allowFrom.json": { version: 1, allowFrom: ["U12345"] },
    "credentials/matrix-allowFrom.json": { version: 1, allowFrom: ["@x:y"] },
    "credentials/whatsapp-allowFrom.json": { version: 1, allowFrom: ["+43123456"] },
    "credentials/discord-allowFrom.json": "{ broken",
    "credentials/telegram-pairing.json": { version: 1, requests: [{ id: "1", code: "ABCD2345" }] },
  });
  const before = snapshot(place.source);
  const plan = await imported(place, "people", "--dry-run");
  expect(statesOf(plan).filter(([, state]) => state !== "new")).toEqual([]);
  expect(existsSync(place.target)).toBe(false);
  const told = await imported(place, "people");
  expect(statesOf(told)).toEqual(
    expect.arrayContaining([
      ["telegram/default", "taken"],
      ["telegram/Work", "taken"],
      ["whatsapp/default", "taken"],
    ]),
  );
  expect(told.items.find(({ id }) => id === "telegram/default")?.notes).toEqual([
    expect.stringContaining("everybody"),
    expect.stringMatching(/@ada.*allowFrom/),
  ]);
  expect(leftOf(told)).toMatchObject({
    "slack/a_b": expect.stringContaining("account"),
    "matrix/default": expect.stringContaining("no such channel"),
    "telegram-pairing.json": expect.stringContaining("new one"),
  });
  await inJournal(place, async ({ pairing }) => {
    const people = (await pairing.admitted()).map(({ account, senderId }) => `${account}/${senderId}`);
    expect(people.toSorted()).toEqual([
      "Work/9001",
      "default/+43123456",
      "default/8001",
      "default/8002",
      "default/8003",
    ]);
  });
  expect(statesOf(await imported(place, "people")).every(([, state]) => state === "there")).toBe(true);
  expect(snapshot(place.source)).toEqual(before);
});

test("people of the databases are found too", async () => {
  const place = homeWith({});
  database(place, {
    channel_pairing_allow_entries: [{ channel_key: "telegram", account_id: "default", entry: "8001" }],
  });
  expect(statesOf(await imported(place, "people"))).toEqual([["telegram/default", "taken"]]);
});

test("the position in the updates of a bot comes along while it counts", async () => {
  const state = { version: 3, lastUpdateId: 41, botId: "7001", tokenFingerprint: "x" };
  const place = homeWith({
    "openclaw.json": { channels: { telegram: { accounts: { Work: {} } } } },
    "telegram/update-offset-default.json": state,
    "telegram/update-offset-work.json": { ...state, botId: "7002" },
    "telegram/update-offset-first.json": { version: 1, lastUpdateId: 4 },
    "telegram/update-offset-old.json": state,
  });
  const old = new Date(Date.now() - 48 * 3_600_000);
  utimesSync(join(place.source, "telegram/update-offset-old.json"), old, old);
  database(place, {
    plugin_state_entries: [
      {
        plugin_id: "telegram",
        namespace: "telegram.update-offsets",
        entry_key: "sales",
        value_json: JSON.stringify({ ...state, botId: "7003", lastUpdateId: 9 }),
        created_at: String(Date.now()),
      },
    ],
  });
  const told = await imported(place, "telegram");
  expect(statesOf(told).toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1))).toEqual([
    ["Work", "taken"],
    ["default", "taken"],
    ["sales", "taken"],
  ]);
  expect(leftOf(told)).toEqual({
    "position of first": expect.stringContaining("bot"),
    "position of old": expect.stringContaining("day"),
  });
  await inJournal(place, async ({ values }) => {
    expect(JSON.parse((await values.get("channel:telegram:Work:position")) ?? "")).toMatchObject({
      botId: "7002",
      lastUpdateId: 41,
    });
    expect(JSON.parse((await values.get("channel:telegram:sales:position")) ?? "")).toMatchObject({ lastUpdateId: 9 });
  });
});

test("a link with WhatsApp is copied, unless there is one; the source keeps its own", async () => {
  const creds = { noiseKey: {}, registrationId: 1 };
  const place = homeWith({
    "credentials/whatsapp/default/creds.json": creds,
    "credentials/whatsapp/default/session-111.0.json": {},
    "credentials/whatsapp/default/notes.txt": "mine",
    "credentials/whatsapp/there/creds.json": creds,
    "credentials/whatsapp/broken/creds.json": "{half",
    "credentials/whatsapp/empty/session-1.0.json": {},
  });
  put(place.target, { "credentials/whatsapp/there/auth.sqlite": "x" });
  const before = snapshot(place.source);
  const told = await imported(place, "whatsapp");
  expect(statesOf(told).toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1))).toEqual([
    ["default", "taken"],
    ["there", "left"],
  ]);
  expect(leftOf(told)).toEqual({ "whatsapp broken": expect.stringContaining("creds.json") });
  expect(readdirSync(join(place.target, "credentials/whatsapp/default")).toSorted()).toEqual([
    "creds.json",
    "session-111.0.json",
  ]);
  expect(snapshot(place.source)).toEqual(before);
});

test("the link of the first versions, whose files are among the other credentials, is the default account's", async () => {
  const place = homeWith({
    "credentials/creds.json": { noiseKey: {} },
    "credentials/pre-key-1.json": {},
    "credentials/oauth.json": { secret: "of a provider" },
  });
  expect(statesOf(await imported(place, "whatsapp"))).toEqual([["default", "taken"]]);
  expect(readdirSync(join(place.target, "credentials/whatsapp/default")).toSorted()).toEqual([
    "creds.json",
    "pre-key-1.json",
  ]);
});

test("devices keep their names and rights, and get new tokens", async () => {
  const device = {
    deviceId: "d1",
    publicKey: "k1",
    displayName: "Phone",
    operatorLabel: "Ada's phone",
    role: "operator",
    roles: ["operator"],
    scopes: ["operator.read", "operator.write", "operator.talk.secrets"],
    tokens: { operator: { token: "the-other-gateway's", scopes: [] } },
    createdAtMs: 5,
    approvedAtMs: 6,
  };
  const place = homeWith({
    "devices/paired.json": { d1: device, n1: { ...device, deviceId: "n1", role: "node", roles: ["node"] }, x: {} },
  });
  database(place, {
    device_pairing_paired: [
      {
        device_id: "d2",
        public_key: "k2",
        display_name: "Laptop",
        roles_json: '["operator"]',
        scopes_json: '["operator.read"]',
        approved_scopes_json: '["operator.read"]',
        created_at_ms: "7",
      },
    ],
  });
  const told = await imported(place, "devices");
  expect(statesOf(told)).toEqual([
    ["d1", "taken"],
    ["d2", "taken"],
  ]);
  expect(leftOf(told)).toEqual({ Phone: expect.stringContaining("machine"), x: expect.stringContaining("key") });
  await inJournal(place, async ({ values }) => {
    const kept = (await values.get("devices")) ?? "";
    expect(kept).not.toContain("the-other-gateway's");
    expect(JSON.parse(kept)).toMatchObject([
      {
        deviceId: "d1",
        label: "Ada's phone",
        createdAtMs: 5,
        approvedAtMs: 6,
        token: { scopes: ["operator.read", "operator.write"] },
      },
      { deviceId: "d2", publicKey: "k2", displayName: "Laptop", token: { scopes: ["operator.read"] } },
    ]);
  });
  expect(statesOf(await imported(place, "devices")).every(([, state]) => state === "there")).toBe(true);
});

test("what cannot be read stays behind alone", async () => {
  const place = homeWith({ "devices/paired.json": "{}", "credentials/telegram-allowFrom.json": ["8001"] });
  rmSync(join(place.source, "devices/paired.json"));
  symlinkSync("/etc/hostname", join(place.source, "devices/paired.json"));
  mkdirSync(join(place.source, "credentials/slack-allowFrom.json"));
  writeFileSync(join(place.source, "telegram"), "a file where a folder should be");
  const people = await imported(place, "people");
  expect(statesOf(people)).toEqual([["telegram/default", "taken"]]);
  expect(leftOf(people)).toMatchObject({ "slack-allowFrom.json": expect.stringContaining("regular file") });
  expect(leftOf(await imported(place, "devices"))).toEqual({
    "devices/paired.json": expect.stringContaining("outside"),
  });
  const [left] = (await imported(place, "telegram")).left;
  expect(left?.why).toContain("cannot be read");
});

const JOB = {
  id: "daily-1",
  agentId: "main",
  name: "daily",
  enabled: true,
  schedule: { kind: "cron", expr: "0 9 * * *", tz: "Europe/Vienna" },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "look at the garden" },
  delivery: { mode: "announce", channel: "telegram", to: "1001" },
  state: { nextRunAtMs: 1, lastRunAtMs: 1 },
};

test("jobs come switched off, run nothing of the past, and stay as somebody changed them here", async () => {
  const old = {
    jobId: "old-1",
    name: "old words",
    schedule: { cron: "*/5 * * * *" },
    payload: { provider: "telegram", message: "x" },
  };
  const script = { ...JOB, id: "script-1", name: "script", payload: { kind: "script", script: "x" } };
  const inChat = {
    ...JOB,
    id: "chat-1",
    sessionTarget: "session:agent:main:telegram:direct:1001:thread:1001:7",
    enabled: false,
  };
  const place = homeWith({ "cron/jobs.json": { version: 1, jobs: [JOB, old, script, inChat] } });
  database(place, {
    cron_jobs: [
      {
        store_key: "s",
        job_id: "db-1",
        job_json: JSON.stringify({ ...JOB, id: "db-1", enabled: false }),
        state_json: "{}",
      },
    ],
  });
  const begun = Date.now();
  const told = await imported(place, "cron");
  expect(statesOf(told)).toEqual([
    ["daily-1", "taken"],
    ["old-1", "taken"],
    ["chat-1", "taken"],
    ["db-1", "taken"],
  ]);
  expect(told.items.map(({ notes }) => notes.length)).toEqual([1, 1, 1, 0]);
  expect(leftOf(told)).toEqual({ script: expect.stringContaining("script") });
  await inJournal(place, async ({ cron }) => {
    const rows = await cron.all();
    expect(rows.map(({ job }) => job)).toEqual([
      expect.objectContaining({
        id: "daily-1",
        name: "daily",
        enabled: false,
        setUpBy: "owner",
        schedule: JOB.schedule,
      }),
      expect.objectContaining({ id: "old-1", enabled: false }),
      expect.objectContaining({ id: "chat-1", sessionTarget: "session:telegram:default:1001:thread:7" }),
      expect.objectContaining({ id: "db-1", enabled: false }),
    ]);
    for (const { state } of rows) expect((state as { cursorMs: number }).cursorMs).toBeGreaterThanOrEqual(begun);
  });
  expect(statesOf(await imported(place, "cron")).map(([, state]) => state)).toEqual([
    "there",
    "there",
    "there",
    "there",
  ]);

  const changed = (message: string) =>
    put(place.source, { "cron/jobs.json": { version: 1, jobs: [{ ...JOB, payload: { ...JOB.payload, message } }] } });
  changed("look again");
  expect(statesOf(await imported(place, "cron"))).toContainEqual(["daily-1", "taken"]);
  await inJournal(place, async ({ cron }) => {
    const row = (await cron.all()).find(({ id }) => id === "daily-1");
    const job = row?.job as typeof JOB & { setUpBy: "owner" };
    expect(job.payload.message).toBe("look again");
    await cron.put({ ...(job as never as Parameters<typeof cron.put>[0]), enabled: true }, { cursorMs: 5 });
  });
  changed("look once more");
  expect(statesOf(await imported(place, "cron"))).toContainEqual(["daily-1", "left"]);
});

test("keys of models are taken, logins and references are not, and a key of this gateway stays", async () => {
  const profiles = {
    "x:1": { type: "api_key", provider: "x", key: "sk-theirs-1" },
    "openai:me": { type: "oauth", provider: "openai", access: "a", refresh: "r", expires: 1 },
    "y:ref": { type: "api_key", provider: "y", keyRef: { source: "env", id: "Y" } },
  };
  const place = homeWith({ "agents/main/agent/auth-profiles.json": { version: 1, profiles } });
  database(
    place,
    {
      auth_profile_store: [
        {
          store_json: JSON.stringify({
            version: 1,
            profiles: { "z:1": { type: "token", provider: "z", token: "tok-z" } },
          }),
        },
      ],
    },
    "agents/second/agent/openclaw-agent.sqlite",
  );
  const told = await imported(place, "keys");
  expect(statesOf(told)).toEqual([
    ["main/x:1", "taken"],
    ["second/z:1", "taken"],
  ]);
  expect(leftOf(told)).toEqual({
    "main: openai:me": expect.stringContaining("one place"),
    "main: y:ref": expect.stringContaining("reference"),
  });
  const keys = () => JSON.parse(readFileSync(join(place.target, "credentials/auth-profiles.json"), "utf8")).profiles;
  expect(keys()).toEqual({ "x:1": { type: "api_key", provider: "x", key: "sk-theirs-1" } });
  const own = readFileSync(join(place.target, "agents/second/agent/auth-profiles.json"), "utf8");
  expect(JSON.parse(own).profiles).toHaveProperty("z:1.token", "tok-z");
  expect((await run(["import"], place.env)).out).not.toMatch(/sk-theirs|tok-z/);
  expect(readFileSync(join(place.target, "state/imports.jsonl"), "utf8")).not.toMatch(/sk-theirs|tok-z/);

  put(place.target, {
    "credentials/auth-profiles.json": { version: 1, profiles: { "x:1": { ...profiles["x:1"], key: "sk-ours" } } },
  });
  put(place.source, {
    "agents/main/agent/auth-profiles.json": {
      version: 1,
      profiles: { "x:1": { ...profiles["x:1"], key: "sk-theirs-2" } },
    },
  });
  expect(statesOf(await imported(place, "keys"))).toContainEqual(["main/x:1", "left"]);
  expect(keys()).toHaveProperty("x:1.key", "sk-ours");
});

test("keys that all agents share, and jobs that OpenClaw made for itself, are found in the database", async () => {
  const place = homeWith({});
  const store = JSON.stringify({ version: 1, profiles: { "x:1": { type: "api_key", provider: "x", key: "k" } } });
  const managed = { ...JOB, description: "[managed-by=memory-core.short-term-promotion] Promote notes" };
  database(place, {
    config_machine_state: [{ state_key: "authProfiles.store", value_json: store }],
    cron_jobs: [{ job_id: "m", job_json: JSON.stringify(managed) }],
  });
  expect(statesOf(await imported(place, "keys", "--dry-run"))).toEqual([["main/x:1", "new"]]);
  expect(leftOf(await imported(place, "cron", "--dry-run"))).toEqual({ daily: expect.stringContaining("for itself") });
});

test("rules for commands are a proposal that allows nothing", async () => {
  const allowlist = [{ id: "1", pattern: "/usr/bin/git" }];
  const rules = {
    version: 1,
    socket: { token: "s3cret" },
    defaults: { security: "full" },
    agents: { main: { allowlist } },
  };
  const place = homeWith({ "exec-approvals.json": rules });
  expect(statesOf(await imported(place, "approvals"))).toEqual([["exec-approvals.json", "taken"]]);
  expect(existsSync(join(place.target, "exec-approvals.json"))).toBe(false);
  const proposed = join(place.target, "exec-approvals.proposed.json");
  expect(readFileSync(proposed, "utf8")).not.toContain("s3cret");
  expect(statSync(proposed).mode & 0o077).toBe(0);
  expect((await run(["approvals", "set", "--file", proposed], place.env)).code).toBe(0);
  expect(JSON.parse(readFileSync(join(place.target, "exec-approvals.json"), "utf8"))).toMatchObject({
    agents: { main: { allowlist } },
  });

  const broken = homeWith({ "exec-approvals.json": "{" });
  expect(leftOf(await imported(broken, "approvals"))).toHaveProperty(["exec-approvals.json"]);
  const later = homeWith({});
  database(later, { exec_approvals_config: [{ raw_json: JSON.stringify(rules) }] });
  expect(statesOf(await imported(later, "approvals"))).toEqual([["exec-approvals.json", "taken"]]);
});

test("workspaces, notes, skills and hooks are copied; what is here stays", async () => {
  const place = homeWith({
    "openclaw.json": {
      agents: {
        defaults: { workspace: "~/.openclaw/notes" },
        list: [{ id: "main" }, { id: "b", workspace: "/srv/elsewhere" }],
      },
    },
    "notes/AGENTS.md": "theirs",
    "notes/memory/2026-01-01.md": "# Day",
    "workspace-c/SOUL.md": "soul",
    "skills/weather/SKILL.md": "---\nname: weather\n---\n",
    "hooks/greet/HOOK.md": "---\nname: greet\n---\n",
    "workspaces.txt": "no workspace",
  });
  put(place.target, { "notes/AGENTS.md": "ours, and longer" });
  const before = snapshot(place.source);
  const told = await imported(place, "folders");
  expect(Object.fromEntries(statesOf(told))).toEqual({
    notes: "taken",
    "workspace-c": "taken",
    "skills/weather": "taken",
    "hooks/greet": "taken",
  });
  expect(told.items.find(({ id }) => id === "notes")?.notes).toEqual([expect.stringContaining("AGENTS.md")]);
  expect(leftOf(told)).toEqual({ "/srv/elsewhere": expect.stringContaining("both programs") });
  const read = (name: string) => readFileSync(join(place.target, name), "utf8");
  expect([read("notes/AGENTS.md"), read("notes/memory/2026-01-01.md"), read("workspace-c/SOUL.md")]).toEqual([
    "ours, and longer",
    "# Day",
    "soul",
  ]);
  expect(snapshot(place.source)).toEqual(before);
  // A copy of the state directory must not be told of its original by them.
  expect(read("state/imports.jsonl")).not.toContain(place.target);
  expect(statesOf(await imported(place, "folders")).every(([, state]) => state === "there")).toBe(true);

  // A folder that nobody touched follows its original; in one that somebody did, files are only added.
  const later = new Date(Date.now() + 60_000);
  put(place.source, {
    "workspace-c/SOUL.md": "another soul",
    "notes/memory/2026-01-01.md": "# A changed day",
    "notes/memory/2026-01-02.md": "# Next",
  });
  for (const name of ["workspace-c/SOUL.md", "notes/memory/2026-01-01.md"])
    utimesSync(join(place.source, name), later, later);
  put(place.target, { "notes/own.md": "mine" });
  await imported(place, "folders");
  expect([read("workspace-c/SOUL.md"), read("notes/memory/2026-01-01.md"), read("notes/memory/2026-01-02.md")]).toEqual(
    ["another soul", "# Day", "# Next"],
  );
});

test("files of a workspace whose names are not UTF-8 come over with the others, in folders of such names too", async () => {
  const place = homeWith({ "workspace/AGENTS.md": "rules" });
  const below = (root: string, name: string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);
  mkdirSync(below(place.source, "workspace/caf\xe9"));
  for (const name of ["workspace/na\xefve.txt", "workspace/caf\xe9/menu.txt"])
    writeFileSync(below(place.source, name), "old");
  expect(statesOf(await imported(place, "folders"))).toEqual([["workspace", "taken"]]);
  for (const name of ["workspace/na\xefve.txt", "workspace/caf\xe9/menu.txt"])
    expect(readFileSync(below(place.target, name), "utf8")).toBe("old");
  expect(readFileSync(join(place.target, "workspace/AGENTS.md"), "utf8")).toBe("rules");
  expect(statesOf(await imported(place, "folders"))).toEqual([["workspace", "there"]]);
});

test("what is never taken is listed with what to do instead", async () => {
  const place = homeWith({
    "delivery-queue/1.json": {},
    "logs/x.log": "x",
    "memory/main.sqlite": "x",
    ".env": "A=1",
    "sandbox/containers.json": {},
    "push/empty": "",
  });
  mkdirSync(join(place.source, "subagents"));
  database(place, {
    delivery_queue_entries: [{ id: "1" }, { id: "2" }],
    channel_ingress_events: [{ event_id: "done", completed_at: "5", failed_at: "5" }, { event_id: "open" }],
  });
  const told = await imported(place, "never");
  expect(told.items).toEqual([]);
  expect(leftOf(told)).toMatchObject({
    "delivery-queue": expect.stringContaining("twice"),
    "2 of delivery_queue_entries": expect.stringContaining("twice"),
    "1 of channel_ingress_events": expect.stringContaining("answers them"),
    ".env": expect.stringContaining("copy"),
  });
  expect(leftOf(told)).not.toHaveProperty("subagents");
  for (const name of ["delivery-queue", "logs", "push"])
    expect(existsSync(join(place.target, name, "1.json"))).toBe(false);
});

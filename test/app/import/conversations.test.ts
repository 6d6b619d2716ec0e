import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { expect, onTestFinished, test } from "vitest";
import { openSessions } from "../../../src/sessions/sessions.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";
import { run, stateDir } from "../../kit/gateway/cli.ts";
import { recordLog } from "../../kit/log.ts";

type Files = Readonly<Record<string, string | Buffer>>;

/** A home with a source in `.openclaw`, and a target that does not exist yet. */
function homeWith(files: Files) {
  const home = stateDir();
  const source = join(home, ".openclaw");
  const target = join(home, "target");
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true });
    writeFileSync(join(source, name), content);
  }
  return { source, target, env: { HOME: home, OPENCLAW_STATE_DIR: target } };
}

/** Content and time of every file below a folder. */
function traceOf(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((path) => {
      const facts = statSync(path, { bigint: true });
      const content = facts.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
      return `${relative(dir, path)} ${facts.mtimeNs} ${content}`;
    });
}

const lines = (...entries: readonly object[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
const header = (id: string, version: number | null = 3) => ({
  type: "session",
  ...(version !== null && { version }),
  id,
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/home/u/clawd",
});

/** Entries of a conversation, each the parent of the next. */
function talk(
  prefix: string,
  ...texts: readonly string[]
): readonly { id: string; parentId: string | null; type: string }[] {
  return texts.map((text, at) => ({
    type: "message",
    id: `${prefix}${at}`,
    parentId: at === 0 ? null : `${prefix}${at - 1}`,
    timestamp: "2026-01-01T00:00:01.000Z",
    message: at % 2 === 0 ? { role: "user", content: text, timestamp: 1 } : answer(text),
  }));
}

const answer = (text: string) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "fake",
  provider: "fake",
  model: "one",
  usage: {
    input: 1,
    output: 1,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 2,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
  stopReason: "stop",
  timestamp: 2,
});

/** What the next turn of a conversation would have in its context. */
async function contextOf(
  target: string,
  key: string,
): Promise<{ summary?: string; texts: readonly string[]; entry: object }> {
  const journal = await openJournal({ path: join(target, "state", "journal.sqlite"), bootId: "test" });
  const sessions = await openSessions({
    dir: join(target, "sessions"),
    cwdFor: () => join(target, "workspace"),
    table: journal.sessions,
    log: recordLog(),
    defaultAgent: agentId("main"),
  });
  const close = async () => {
    await sessions.close();
    await journal.close();
  };
  expect(sessions.peek(sessionKey(key)), key).toBeDefined();
  const session = await sessions.acquire(sessionKey(key));
  const { messages, summary } = await session.window(100_000);
  const { entry } = session;
  session.release();
  await close();
  const texts = messages.map(({ message: { content } }) =>
    typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : part.type)).join(""),
  );
  return { texts, entry, ...(summary !== undefined && { summary }) };
}

interface Report {
  readonly era: string;
  readonly unread: readonly string[];
  readonly kinds: readonly {
    readonly kind: string;
    readonly items: readonly {
      id: string;
      name: string;
      state: string;
      made?: string;
      why?: string;
      notes: readonly string[];
    }[];
    readonly left: readonly { name: string; why: string }[];
  }[];
}

async function imported(env: Readonly<Record<string, string>>, ...flags: readonly string[]) {
  const { code, out, err } = await run(["import", "--json", ...flags], env);
  expect(err).toBe("");
  const report = JSON.parse(out) as Report;
  const conversations = report.kinds.find(({ kind }) => kind === "sessions");
  if (!conversations) throw new Error("no conversations");
  return { code, report, ...conversations };
}

const FILES: Files = {
  "openclaw.json": '{ "session": { "dmScope": "per-channel-peer" } }',
  "agents/main/sessions/sessions.json": JSON.stringify({
    "agent:main:main": { sessionId: "s-main", updatedAt: 50, lastChannel: "webchat" },
    "agent:main:telegram:direct:123": {
      sessionId: "s-direct",
      updatedAt: 100,
      sessionFile: "/elsewhere/agents/main/sessions/s-direct.jsonl",
      chatType: "direct",
      thinkingLevel: "high",
      verboseLevel: "on",
      providerOverride: "fake",
      modelOverride: "two",
      label: "Lamp",
      pinnedAt: 7,
      queueMode: "steer",
      lastAccountId: "work",
      lastTo: "telegram:123",
      skillsSnapshot: { prompt: "x".repeat(1000) },
    },
    "agent:main:telegram:group:-100555:topic:42": {
      sessionId: "s-topic",
      updatedAt: 90,
      groupActivation: "always",
      sendPolicy: "maybe",
    },
    "agent:main:slack:channel:c0abc:thread:17.5": {
      sessionId: "s-slack",
      updatedAt: 80,
      deliveryContext: { channel: "slack", to: "channel:C0ABC" },
    },
    "agent:main:telegram:dm:123": { sessionId: "s-older", updatedAt: 20, lastAccountId: "work" },
    "agent:main:subagent:abc": { sessionId: "s-sub", updatedAt: 5, spawnedBy: "agent:main:main" },
  }),
  "agents/main/sessions/s-main.jsonl": lines(header("s-main"), ...talk("m", "hello", "hi")),
  "agents/main/sessions/s-direct.jsonl": `${lines(header("s-direct"), ...talk("d", "one", "two", "three"))}{"type":"message","id":"d3","parentId":"d2","mess\n${lines({ ...talk("d", "a", "b", "c", "d", "four")[4]!, parentId: "d2" })}`,
  "agents/main/sessions/s-topic.jsonl": lines(
    header("s-topic", null),
    { type: "message", timestamp: 5, message: { role: "user", content: "before", timestamp: 1 } },
    { type: "message", timestamp: 6, message: { role: "user", content: "kept", timestamp: 1 } },
    { type: "compaction", timestamp: 7, summary: "they spoke", firstKeptEntryIndex: 2, tokensBefore: 9 },
    { type: "message", timestamp: 8, message: { role: "user", content: "after", timestamp: 1 } },
  ),
  "agents/main/sessions/s-slack.jsonl": lines(header("s-slack", 2), ...talk("k", "see MEDIA", "ok")).replace(
    "MEDIA",
    "[media attached: SOURCE/media/inbound/a b.png (image/png)] and ~/.openclaw/media/inbound/c.ogg, /old/.openclaw/media/gone.jpg",
  ),
  "agents/main/sessions/s-older.jsonl": lines(header("s-older"), ...talk("o", "long ago")),
  "agents/main/sessions/s-sub.jsonl": lines(header("s-sub"), ...talk("u", "task")),
  "agents/main/sessions/s-orphan.jsonl": lines(header("s-orphan"), ...talk("x", "whose am I")),
  "agents/main/sessions/s-direct.jsonl.reset.2025-12-01T00-00-00.000Z": lines(
    header("s-direct"),
    ...talk("r", "earlier"),
  ),
  "agents/main/sessions/s-gone.jsonl.deleted.2025-12-01T00-00-00.000Z.zst": zstdCompressSync(
    lines(header("s-gone"), ...talk("g", "deleted")),
  ),
  "agents/main/sessions/s-direct.trajectory.jsonl": "{}\n",
  "agents/main/sessions/s-direct.jsonl.lock": "{}",
  "agents/work/sessions/sessions.json": JSON.stringify({ "agent:work:main": { sessionId: "s-work", updatedAt: 3 } }),
  "agents/work/sessions/s-work.jsonl": lines(header("s-work"), ...talk("w", "at work")),
  "media/inbound/a b.png": "png",
  "media/inbound/c.ogg": "ogg",
  "media/inbound/unnamed.ogg": "ogg",
};

const filesFor = (source: string): Files =>
  Object.fromEntries(
    Object.entries(FILES).map(([name, text]) => [
      name,
      typeof text === "string" ? text.replace("SOURCE", source) : text,
    ]),
  );

test("conversations in files go on under the keys of the same chats, and the source stays as it is", async () => {
  const made = homeWith({});
  const { source, target, env } = made;
  for (const [name, text] of Object.entries(filesFor(source))) {
    mkdirSync(dirname(join(source, name)), { recursive: true });
    writeFileSync(join(source, name), text);
  }
  const before = traceOf(source);
  const dry = await imported(env, "--dry-run");
  expect(existsSync(target)).toBe(false);
  expect(dry.items.every(({ state }) => state === "new")).toBe(true);
  const { code, items, left, report } = await imported(env);
  expect([code, report.era]).toEqual([0, "jsonl"]);
  expect(items.map(({ id }) => id)).toEqual(dry.items.map(({ id }) => id));
  expect(items.filter(({ state }) => state !== "taken")).toEqual([]);
  expect(traceOf(source)).toEqual(before);
  expect((await contextOf(target, "webchat:default:operator")).texts).toEqual(["hello", "hi"]);
  const direct = await contextOf(target, "telegram:work:123");
  expect(direct.texts).toEqual(["one", "two", "three", "four"]);
  expect(direct.entry).toMatchObject({
    sessionId: "s-direct",
    updatedAt: 100,
    sessionFile: "s-direct.jsonl",
    thinkingLevel: "high",
    verboseLevel: "on",
    providerOverride: "fake",
    modelOverride: "two",
    label: "Lamp",
    pinnedAt: 7,
    queueMode: "steer",
    lastTo: "telegram:123",
    lastAccountId: "work",
  });
  expect(direct.entry).not.toHaveProperty("skillsSnapshot");
  expect(items.find(({ id }) => id === "main/s-direct")?.notes).toEqual([
    "line 5 cannot be read, and is copied as found",
  ]);
  const topic = await contextOf(target, "telegram:default:group:-100555:thread:42");
  expect(topic).toMatchObject({
    summary: "they spoke",
    texts: ["kept", "after"],
    entry: { groupActivation: "always", heardGuests: true, lastThreadId: "42" },
  });
  expect(items.find(({ id }) => id === "main/s-topic")?.notes).toEqual(['sendPolicy "maybe" has no meaning here']);
  expect((await contextOf(target, "agent:work:main")).texts).toEqual(["at work"]);
  expect((await contextOf(target, "agent:main:subagent:abc")).entry).toMatchObject({
    spawnedBy: "webchat:default:operator",
  });
  const slack = await contextOf(target, "slack:default:group:C0ABC:thread:17.5");
  const here = join(target, "media/imported/inbound");
  expect(slack.texts[0]).toBe(
    `see [media attached: ${here}/a b.png (image/png)] and ${here}/c.ogg, /old/.openclaw/media/gone.jpg`,
  );
  expect(readFileSync(join(here, "a b.png"), "utf8")).toBe("png");
  expect(existsSync(join(here, "unnamed.ogg"))).toBe(false);
  expect(items.find(({ id }) => id === "main/s-slack")?.notes).toEqual([
    "1 media files that it names are not in the source, or cannot be read",
  ]);
  expect(left).toEqual([
    { name: "main/s-direct.jsonl.lock", why: "a lock of the other program" },
    { name: "main/s-direct.trajectory.jsonl", why: "a trace for finding faults, no conversation" },
  ]);
  const archives = readdirSync(join(target, "sessions")).filter((name) => /\.(reset|deleted)\./.test(name));
  expect(archives.map((name) => name.replace(/T.*/, "")).toSorted()).toEqual([
    expect.stringMatching(/^s-direct\.jsonl\.reset\./),
    expect.stringMatching(/^s-gone\.jsonl\.deleted\./),
    expect.stringMatching(/^s-older\.jsonl\.reset\./),
    expect.stringMatching(/^s-orphan\.jsonl\.reset\./),
  ]);
  const older = archives.find((name) => name.startsWith("s-older"))!;
  expect(readFileSync(join(target, "sessions", older), "utf8")).toContain('"sessionKey":"telegram:work:123"');
  for (const name of readdirSync(join(target, "sessions")).filter((one) => one.endsWith(".jsonl")))
    expect(() => SessionManager.open(join(target, "sessions", name))).not.toThrow();
});

test("a second import finds everything there; what went on in the source is taken again, what went on here stays", async () => {
  const { source, target, env } = homeWith(FILES);
  await imported(env);
  const first = traceOf(join(target, "sessions"));
  const again = await imported(env);
  expect(again.items.filter(({ state }) => state !== "there")).toEqual([]);
  expect(traceOf(join(target, "sessions"))).toEqual(first);
  const file = join(source, "agents/main/sessions/s-main.jsonl");
  writeFileSync(file, `${readFileSync(file, "utf8")}${lines({ ...talk("m", "hello", "hi", "and more")[2]! })}`);
  const third = await imported(env);
  expect(third.items.filter(({ state }) => state === "taken").map(({ id }) => id)).toEqual(["main/s-main"]);
  expect((await contextOf(target, "webchat:default:operator")).texts).toEqual(["hello", "hi", "and more"]);
  const ours = join(target, "sessions/s-main.jsonl");
  writeFileSync(ours, `${readFileSync(ours, "utf8")}${lines({ ...talk("m", "", "", "", "said here")[3]! })}`);
  writeFileSync(file, `${readFileSync(file, "utf8")}${lines({ ...talk("m", "", "", "", "said there")[3]! })}`);
  const fourth = await imported(env);
  expect(fourth.items.filter(({ state }) => state === "left")).toMatchObject([
    { id: "main/s-main", why: "the conversation has gone on here since" },
  ]);
  expect(readFileSync(ours, "utf8")).toContain("said here");
});

test("a chat that began anew in the source begins anew here, unless it has gone on here", async () => {
  const { source, target, env } = homeWith(FILES);
  await imported(env);
  const folder = join(source, "agents/main/sessions");
  const rows = JSON.parse(readFileSync(join(folder, "sessions.json"), "utf8")) as Record<string, object>;
  rows["agent:main:main"] = { sessionId: "s-new", updatedAt: 200 };
  writeFileSync(join(folder, "sessions.json"), JSON.stringify(rows));
  writeFileSync(join(folder, "s-new.jsonl"), lines(header("s-new"), ...talk("q", "anew")));
  await imported(env);
  expect((await contextOf(target, "webchat:default:operator")).texts).toEqual(["anew"]);
  expect(readdirSync(join(target, "sessions"))).toContainEqual(expect.stringMatching(/^s-main\.jsonl\.reset\./));
});

test("a chat that has a conversation here keeps it, and the imported one becomes an earlier one of the chat", async () => {
  const { target, env } = homeWith(FILES);
  mkdirSync(join(target, "state"), { recursive: true });
  const journal = await openJournal({ path: join(target, "state", "journal.sqlite"), bootId: "test" });
  await journal.sessions.write([[sessionKey("telegram:work:123"), { sessionId: "ours", updatedAt: 1 }]]);
  await journal.close();
  const { items } = await imported(env);
  const item = items.find(({ id }) => id === "main/s-direct");
  expect(item).toMatchObject({ state: "taken", made: expect.stringContaining("s-direct.jsonl.reset.") });
  expect(item?.notes[0]).toContain("has a conversation here already");
  expect((await contextOf(target, "telegram:work:123")).entry).toMatchObject({ sessionId: "ours" });
});

const SCHEMA = `
  CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER);
  CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT, updated_at INTEGER, label TEXT, brand_new TEXT);
  CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, previous_session_id TEXT, reason TEXT, updated_at INTEGER);
  CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, PRIMARY KEY (session_id, seq));
  CREATE TABLE session_transcript_archives (session_id TEXT, generation TEXT, session_key TEXT, reason TEXT, encoding TEXT, archive_blob BLOB, archive_sha256 TEXT, archive_name TEXT, created_at INTEGER);
  CREATE TABLE session_transcript_cold_archives (session_id TEXT PRIMARY KEY, archive_name TEXT, archive_sha256 TEXT, storage TEXT, archive_blob BLOB);
  CREATE TABLE session_pending_inputs (id INTEGER);
  CREATE TABLE of_the_future (id INTEGER);`;

/** A source of 2026.9 with everything in its write-ahead log. */
function databaseSource() {
  const made = homeWith({ "openclaw.json": "{}" });
  const agent = join(made.source, "agents/main/agent");
  mkdirSync(agent, { recursive: true });
  const db = new DatabaseSync(join(agent, "openclaw-agent.sqlite"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  db.exec(SCHEMA);
  const add = (table: string, row: Readonly<Record<string, string | number | Uint8Array | null>>) =>
    db
      .prepare(
        `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.keys(row)
          .map(() => "?")
          .join(", ")})`,
      )
      .run(...Object.values(row));
  const events = (id: string, ...entries: readonly object[]) =>
    entries.forEach((entry, seq) =>
      add("transcript_events", { session_id: id, seq, event_json: JSON.stringify(entry) }),
    );
  // A copy, as an ended program leaves it after a crash: the log is not in the database yet.
  const leave = () => {
    for (const name of readdirSync(agent)) writeFileSync(join(agent, `${name}.kept`), readFileSync(join(agent, name)));
    db.close();
    for (const name of readdirSync(agent).filter((one) => one.endsWith(".kept") && !one.includes("-shm")))
      writeFileSync(join(agent, name.slice(0, -".kept".length)), readFileSync(join(agent, name)));
  };
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  return { ...made, agent, add, events, leave };
}

test("conversations in databases are taken from a copy: windows, resets, choices of a branch, packed entries and archives", async () => {
  const { source, target, env, agent, add, events, leave } = databaseSource();
  const node = (key: string, id: string, more = {}) =>
    add("session_nodes", {
      session_key: key,
      current_session_id: id,
      entry_json: JSON.stringify({ sessionId: id, updatedAt: 9, ...more }),
      updated_at: 9,
      label: "A label",
    });
  add("schema_meta", { meta_key: "primary", role: "agent", schema_version: 99 });
  node("agent:main:telegram:direct:1", "d1", { thinkingLevel: "low" });
  for (const [id, at] of [
    ["d0", 1],
    ["d1", 9],
  ] as const)
    add("session_windows", { session_id: id, session_key: "agent:main:telegram:direct:1", updated_at: at });
  events("d0", header("d0", 4), ...talk("e", "the window before"));
  events(
    "d1",
    header("d1", 4),
    ...talk("d", "forgotten", "gone"),
    { type: "reset", id: "r", parentId: "d1", timestamp: "2026-01-01T00:00:02.000Z", reason: "new" },
    { ...talk("n", "after the reset")[0]!, parentId: "r" },
  );
  node("agent:main:telegram:direct:2", "k1");
  events(
    "k1",
    header("k1", 4),
    ...talk("k", "old", "kept question", "kept answer"),
    {
      type: "reset",
      id: "kr",
      parentId: "k2",
      timestamp: "2026-01-01T00:00:02.000Z",
      reason: "new",
      firstKeptEntryId: "k1",
    },
    { ...talk("y", "next")[0]!, parentId: "kr" },
  );
  node("agent:main:telegram:direct:3", "b1");
  events(
    "b1",
    header("b1", 4),
    ...talk("b", "question", "first answer"),
    { ...talk("c", "", "second answer")[1]!, parentId: "b0" },
    { type: "leaf", id: "l1", parentId: "c1", targetId: "b1", timestamp: "2026-01-01T00:00:03.000Z" },
    { ...talk("s", "aside")[0]!, parentId: "c1", appendMode: "side" },
  );
  node("agent:main:telegram:direct:4", "z1");
  add("transcript_events", { session_id: "z1", seq: 0, event_json: JSON.stringify(header("z1", 4)) });
  add("transcript_events", {
    session_id: "z1",
    seq: 1,
    event_zstd: zstdCompressSync(JSON.stringify(talk("z", "packed")[0])),
  });
  node("agent:main:telegram:direct:5", "cold");
  const record = (entry: object, seq: number) => ({
    kind: "event",
    row: { seq, event_json: JSON.stringify(entry), created_at: 1 },
  });
  const cold = lines(
    { kind: "header", version: 1, sessionId: "cold", generation: "g" },
    ...[header("cold", 4), ...talk("f", "frozen")].map(record),
  );
  add("session_transcript_cold_archives", {
    session_id: "cold",
    archive_name: `${"0".repeat(64)}.jsonl.zst`,
    archive_sha256: "x",
    storage: "sqlite",
    archive_blob: zstdCompressSync(cold),
  });
  add("session_transcript_archives", {
    session_id: "a1",
    generation: "g",
    session_key: "agent:main:telegram:direct:6",
    reason: "deleted",
    encoding: "identity",
    archive_blob: Buffer.from(lines(header("a1", 4), ...talk("a", "was deleted"))),
    archive_sha256: "s",
    archive_name: "a1",
    created_at: 77,
  });
  add("session_pending_inputs", { id: 1 });
  leave();
  const before = traceOf(source);
  const { code, report, items, left } = await imported(env);
  expect([code, report.era]).toEqual([0, "sqlite"]);
  expect(traceOf(source)).toEqual(before);
  expect(readdirSync(agent).filter((name) => !name.endsWith(".kept"))).toEqual([
    "openclaw-agent.sqlite",
    "openclaw-agent.sqlite-wal",
  ]);
  expect(items.every(({ state }) => state === "taken")).toBe(true);
  const direct = await contextOf(target, "telegram:default:1");
  expect(direct).toMatchObject({ texts: ["after the reset"], entry: { thinkingLevel: "low", label: "A label" } });
  expect(readFileSync(join(target, "sessions/d1.jsonl"), "utf8")).toContain("forgotten");
  expect((await contextOf(target, "telegram:default:2")).texts).toEqual(["kept question", "kept answer", "next"]);
  expect((await contextOf(target, "telegram:default:3")).texts).toEqual(["question", "first answer"]);
  expect((await contextOf(target, "telegram:default:4")).texts).toEqual(["packed"]);
  expect((await contextOf(target, "telegram:default:5")).texts).toEqual(["frozen"]);
  const names = readdirSync(join(target, "sessions"));
  expect(
    names.filter((name) => name.startsWith("d0.jsonl.reset.") || name.startsWith("a1.jsonl.deleted.")),
  ).toHaveLength(2);
  expect(left).toEqual([
    { name: "database of main", why: expect.stringMatching(/version 99.*of_the_future/) },
    { name: "1 messages of main that wait", why: "they are not answered unasked" },
  ]);
  expect((await imported(env)).items.every(({ state }) => state === "there")).toBe(true);
});

test("the conversations of Clawdbot, whose keys name no agent, are those of the main agent; direct chats share one", async () => {
  const home = stateDir();
  const old = join(home, ".clawdbot");
  mkdirSync(join(old, "sessions"), { recursive: true });
  writeFileSync(join(old, "clawdbot.json"), "{}");
  const rows = {
    main: { sessionId: "m", updatedAt: 2, lastChannel: "whatsapp", lastTo: "+4917" },
    "group:120@g.us": { sessionId: "g", updatedAt: 1 },
  };
  writeFileSync(join(old, "sessions/sessions.json"), JSON.stringify(rows));
  writeFileSync(join(old, "sessions/m.jsonl"), lines(header("m", 2), ...talk("m", "from the phone")));
  writeFileSync(join(old, "sessions/g.jsonl"), lines(...talk("g", "no header")));
  const target = join(home, "target");
  const { report } = await imported({ HOME: home, OPENCLAW_STATE_DIR: target });
  expect(report.era).toBe("clawdbot");
  expect(await contextOf(target, "main")).toMatchObject({
    texts: ["from the phone"],
    entry: { lastTo: "whatsapp:+4917" },
  });
  expect((await contextOf(target, "whatsapp:default:group:120@g.us")).texts).toEqual(["no header"]);
});

test("a database that cannot be read is named, and everything else is taken", async () => {
  const damaged = "agents/work/agent/openclaw-agent.sqlite";
  const { source, env } = homeWith({ ...FILES, [damaged]: "no database at all ".repeat(100) });
  const { code, items, report } = await imported(env);
  expect(code).toBe(1);
  expect(items.map(({ id }) => id)).toContain("work/s-work");
  expect(report.unread).toEqual([`${join(source, damaged)} cannot be read: file is not a database`]);
});

test("an export of what was imported is imported under the same keys", async () => {
  const { target, env } = homeWith(FILES);
  await imported(env);
  const way = join(env.HOME, "way-back");
  expect((await run(["export", "--to", way], env)).code).toBe(0);
  const other = { ...env, OPENCLAW_STATE_DIR: join(env.HOME, "other") };
  const { code, out } = await run(["import", way, "--json"], other);
  expect(code, out).toBe(0);
  expect(await rowsIn(other.OPENCLAW_STATE_DIR)).toEqual(await rowsIn(target));
});

/** The sessions of a state directory with the fields that name their chats. */
async function rowsIn(dir: string) {
  const journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "test" });
  const rows = (await journal.sessions.all()).map(({ key, row }) => [
    key,
    row?.sessionId,
    row?.lastTo,
    row?.lastAccountId,
    row?.lastThreadId,
    row?.thinkingLevel,
    row?.label,
  ]);
  await journal.close();
  return rows.toSorted(([one], [another]) => String(one).localeCompare(String(another)));
}

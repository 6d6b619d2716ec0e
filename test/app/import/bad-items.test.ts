import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createZstdCompress, zstdCompressSync } from "node:zlib";
import { pipeline } from "node:stream/promises";
import { createWriteStream } from "node:fs";
import { expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";

const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n';
const GOOD = `${HEADER}{"type":"message","id":"m1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello","timestamp":1}}\n`;
const MIB = 1024 * 1024;

interface Place {
  readonly home: string;
  readonly source: string;
  /** The folder of transcripts. */
  readonly sessions: string;
}

/** A home with one good conversation in `.openclaw`, and a target that does not exist yet. */
function place(rows: object = {}) {
  const home = stateDir();
  const source = join(home, ".openclaw");
  const sessions = join(source, "agents", "main", "sessions");
  mkdirSync(sessions, { recursive: true });
  const row = { sessionId: "good", updatedAt: 50, lastChannel: "webchat" };
  writeFileSync(join(sessions, "sessions.json"), JSON.stringify({ "agent:main:main": row, ...rows }));
  writeFileSync(join(sessions, "good.jsonl"), GOOD);
  const target = join(home, "target");
  return { home, source, sessions, target, env: { HOME: home, OPENCLAW_STATE_DIR: target } };
}

interface Report {
  readonly kinds: readonly {
    readonly kind: string;
    readonly items: readonly { id: string; state: string; made?: string; why?: string; notes: readonly string[] }[];
    readonly left: readonly { name: string; why: string }[];
  }[];
}

async function imported(env: Readonly<Record<string, string>>) {
  const { out, err } = await run(["import", "--json"], env);
  expect(err).toBe("");
  const { kinds, unread } = JSON.parse(out) as Report & { unread: readonly string[] };
  const found = kinds.find(({ kind }) => kind === "sessions");
  if (!found) throw new Error("no conversations");
  const stays = found.items.filter(({ state }) => state === "left").map(({ id, why }) => `${id}: ${why}`);
  return { ...found, stays: [...stays, ...found.left.map(({ name, why }) => `${name}: ${why}`), ...unread] };
}

const receiptsOf = (target: string): string => readFileSync(join(target, "state", "imports.jsonl"), "utf8");

const withRow = (sessionId: string, updatedAt = 40) => ({ "agent:main:telegram:direct:7": { sessionId, updatedAt } });

const BAD: readonly {
  readonly what: string;
  readonly rows?: object;
  /** What the receipt or the list of what stays behind says. */
  readonly says: RegExp;
  /** Whether the item has a receipt. */
  readonly receipt?: boolean;
  make?(at: Place): unknown;
}[] = [
  {
    what: "a pipe named like a transcript",
    make: ({ sessions }) => execFileSync("mkfifo", [join(sessions, "pipe.jsonl")]),
    says: /pipe\.jsonl: it is no regular file/,
    receipt: true,
  },
  {
    what: "a directory named like a transcript",
    make: ({ sessions }) => mkdirSync(join(sessions, "adir.jsonl")),
    says: /adir\.jsonl: it is no regular file/,
    receipt: true,
  },
  {
    what: "a link to a file outside",
    make: ({ home, sessions }) => {
      writeFileSync(join(home, "secret"), "secret words\n");
      symlinkSync(join(home, "secret"), join(sessions, "zleak.jsonl"));
    },
    says: /zleak\.jsonl: it is a link to a place outside/,
    receipt: true,
  },
  {
    what: "a link to a device",
    make: ({ sessions }) => symlinkSync("/dev/zero", join(sessions, "zero.jsonl")),
    says: /zero\.jsonl: it is a link to a place outside/,
    receipt: true,
  },
  {
    what: "a link in a circle",
    make: ({ sessions }) => symlinkSync("loop.jsonl", join(sessions, "loop.jsonl")),
    says: /loop\.jsonl: it cannot be read: ELOOP/,
    receipt: true,
  },
  {
    what: "a damaged archive",
    make: ({ sessions }) =>
      writeFileSync(join(sessions, "z.jsonl.reset.2026-01-01T00-00-00.000Z.zst"), "no zstd at all"),
    says: /\.zst: it cannot be read/,
    receipt: true,
  },
  {
    what: "an archive that expands to more than a gibibyte",
    make: async ({ sessions }) => {
      const block = Buffer.alloc(16 * MIB, "x");
      const blocks = Array.from({ length: 65 }, () => block);
      const file = join(sessions, "z.jsonl.reset.2026-01-01T00-00-00.000Z.zst");
      await pipeline(blocks, createZstdCompress(), createWriteStream(file));
    },
    says: /\.zst: it expands to more than/,
    receipt: true,
  },
  {
    what: "a database that is none",
    make: ({ source }) => {
      mkdirSync(join(source, "agents", "main", "agent"));
      writeFileSync(join(source, "agents", "main", "agent", "openclaw-agent.sqlite"), "garbage ".repeat(1000));
    },
    says: /openclaw-agent\.sqlite cannot be read/,
  },
  {
    what: "an id with a NUL",
    rows: withRow("a\0b"),
    says: /it cannot be read|control characters/,
    receipt: true,
  },
  {
    what: "an id of 300 characters",
    rows: withRow("x".repeat(300)),
    says: /it cannot be read|too long/,
    receipt: true,
  },
];

test.each(BAD)("$what stays behind, and the rest is imported", async ({ make, rows, says, receipt }) => {
  const at = place(rows);
  await make?.(at);
  const { items, stays } = await imported(at.env);
  expect(items.find(({ id }) => id === "main/good")?.state).toBe("taken");
  expect(readFileSync(join(at.target, "sessions", "good.jsonl"), "utf8")).toContain("hello");
  expect(stays.join("\n")).toMatch(says);
  if (receipt === true) expect(receiptsOf(at.target)).toContain('"left":"it');
  expect(readdirSync(join(at.target, "sessions")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  expect(readdirSync(join(at.target, "sessions")).join(" ")).not.toMatch(/zleak|zero|pipe/);
});

test("a pipe in the place of the rows leaves their chats behind, and the transcripts are taken", async () => {
  const { sessions, env } = place();
  execFileSync("rm", [join(sessions, "sessions.json")]);
  execFileSync("mkfifo", [join(sessions, "sessions.json")]);
  const { items, stays } = await imported(env);
  expect(items.map(({ id, state }) => [id, state])).toEqual([["main/good.jsonl", "taken"]]);
  expect(stays.join()).toMatch(/sessions\.json of main: it cannot be read \(it is no regular file\)/);
});

test("a link to a transcript inside of the source is followed", async () => {
  const { sessions, env } = place(withRow("link"));
  mkdirSync(join(sessions, "..", "older"));
  writeFileSync(join(sessions, "..", "older", "one.jsonl"), GOOD);
  symlinkSync("../older/one.jsonl", join(sessions, "link.jsonl"));
  const { items } = await imported(env);
  expect(items.find(({ id }) => id === "main/link")?.state).toBe("taken");
});

test("a line of more than 64 MiB is left out and named, and the next entry follows the one before it", async () => {
  const { sessions, target, env } = place();
  const message = (id: string, parentId: string) =>
    `{"type":"message","id":"${id}","parentId":"${parentId}","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"${id}","timestamp":1}}\n`;
  const long = Buffer.alloc(65 * MIB, "x");
  const packed = zstdCompressSync(Buffer.concat([Buffer.from(GOOD), long, Buffer.from(`\n${message("m3", "m2")}`)]));
  writeFileSync(join(sessions, "z.jsonl.reset.2026-01-01T00-00-00.000Z.zst"), packed);
  const { items } = await imported(env);
  const item = items.find(({ id }) => id.endsWith(".zst"));
  expect(item?.notes).toEqual([expect.stringMatching(/^line 3 .* 64 MiB, and is left out$/)]);
  const lines = readFileSync(join(target, item?.made ?? ""), "utf8")
    .trimEnd()
    .split("\n");
  expect(lines).toHaveLength(3);
  expect(JSON.parse(lines[2] ?? "")).toMatchObject({ id: "m3", parentId: "m1" });
});

test.each([9e15, -1, 1e300])("a chat with the time %d is taken with the time of its transcript", async (updatedAt) => {
  const { sessions, env } = place(withRow("odd", updatedAt));
  writeFileSync(join(sessions, "odd.jsonl"), GOOD);
  const { items } = await imported(env);
  expect(
    items.map(({ id, state }) => [id, state]).toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  ).toEqual([
    ["main/good", "taken"],
    ["main/odd", "taken"],
  ]);
});

test("a time of a database that no number holds exactly does not end the reading of its rows", async () => {
  const { source, env } = place();
  const own = join(source, "agents", "main", "agent");
  mkdirSync(own);
  const db = new DatabaseSync(join(own, "openclaw-agent.sqlite"));
  db.exec(`CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, entry_json TEXT, updated_at INTEGER);
    CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER);
    INSERT INTO session_nodes VALUES ('agent:main:telegram:direct:9', 'far', '{}', 9223372036854775807);`);
  for (const [at, line] of GOOD.trimEnd().split("\n").entries())
    db.prepare("INSERT INTO transcript_events VALUES ('far', ?, ?, 1)").run(at, line);
  db.close();
  const { items } = await imported(env);
  expect(
    items.map(({ id, state }) => [id, state]).toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  ).toEqual([
    ["main/far", "taken"],
    ["main/good", "taken"],
  ]);
});

test("names with terminal controls and line breaks are printed without them", async () => {
  const { sessions, env } = place();
  mkdirSync(join(sessions, "\u001b[2Ja\u001b]0;title\u0007\nb.jsonl"));
  const { out } = await run(["import"], env);
  expect(out).toContain("b.jsonl: left behind: it is no regular file");
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
  expect(out).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  expect(out).not.toMatch(/^b\.jsonl/m);
});

test("the next import removes what a killed one has left of the instance's facts", async () => {
  const { target, env } = place();
  const unfinished = join(target, "state", "instance.json.0123456789ab.tmp");
  mkdirSync(dirname(unfinished), { recursive: true, mode: 0o700 });
  writeFileSync(unfinished, "{");
  await imported(env);
  expect(existsSync(unfinished)).toBe(false);
});

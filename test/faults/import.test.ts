import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openJournal } from "../../src/store/journal/journal.ts";
import { ended, start, stateDir } from "../kit/gateway/cli.ts";
import { until } from "../kit/until.ts";
import { random } from "./random.ts";

const CHATS = 60;
const ENTRIES = 20;

const entries = (chat: string): readonly string[] =>
  Array.from({ length: ENTRIES }, (_, at) => {
    const text =
      at % 5 === 0 ? `[media attached: ~/.openclaw/media/inbound/${chat}-${at}.bin (x/y)]` : `words ${at} of ${chat}`;
    const parentId = at === 0 ? null : `${chat}-${at - 1}`;
    const message = { role: "user", content: text, timestamp: at };
    return JSON.stringify({
      type: "message",
      id: `${chat}-${at}`,
      parentId,
      timestamp: "2026-01-01T00:00:00.000Z",
      message,
    });
  });

const header = (id: string) =>
  JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/x" });

/** A source with an agent whose conversations are in files, and one whose are in a database. */
function makeSource(home: string): string {
  const source = join(home, ".openclaw");
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(source, name)), { recursive: true });
    writeFileSync(join(source, name), text);
  };
  put("openclaw.json", '{ "agents": { "list": [{ "id": "main", "default": true }, { "id": "work" }] } }');
  const rows: Record<string, object> = {};
  for (let chat = 0; chat < CHATS; chat += 1) {
    rows[`agent:main:telegram:direct:${chat}`] = {
      sessionId: `f${chat}`,
      updatedAt: 1000 + chat,
      thinkingLevel: "high",
    };
    put(`agents/main/sessions/f${chat}.jsonl`, `${[header(`f${chat}`), ...entries(`f${chat}`)].join("\n")}\n`);
    for (let at = 0; at < ENTRIES; at += 5) put(`media/inbound/f${chat}-${at}.bin`, "x".repeat(1000));
  }
  put("agents/main/sessions/sessions.json", JSON.stringify(rows));
  put("agents/work/agent/note", "");
  const db = new DatabaseSync(join(source, "agents/work/agent/openclaw-agent.sqlite"));
  db.exec(`CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, entry_json TEXT, updated_at INTEGER);
    CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT)`);
  for (let chat = 0; chat < CHATS; chat += 1) {
    const id = `d${chat}`;
    db.prepare("INSERT INTO session_nodes VALUES (?, ?, ?, ?)").run(
      `agent:work:telegram:direct:${chat}`,
      id,
      "{}",
      1000 + chat,
    );
    for (const [seq, text] of [header(id), ...entries(id)].entries())
      db.prepare("INSERT INTO transcript_events VALUES (?, ?, ?)").run(id, seq, text);
  }
  db.close();
  return source;
}

/** Everything that an import makes, without times. */
async function resultOf(target: string): Promise<unknown> {
  const files = readdirSync(target, { recursive: true })
    .map((name) => join(target, String(name)))
    .filter((path) => statSync(path).isFile() && !relative(target, path).startsWith("state"))
    .map((path) => [relative(target, path), createHash("sha256").update(readFileSync(path)).digest("hex")]);
  const journal = await openJournal({ path: join(target, "state/journal.sqlite"), bootId: "test" });
  const rows = (await journal.sessions.all()).map(({ key, row }) => [key, row]);
  await journal.close();
  const receipts = readFileSync(join(target, "state/imports.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => ({ ...(JSON.parse(line) as object), at: "" }));
  return [...files, ...rows, ...receipts].map((one) => JSON.stringify(one)).toSorted();
}

const doneIn = (target: string): number => {
  const path = join(target, "state/imports.jsonl");
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0;
};

test.each([1, 2, 3])(
  "an import that is killed at random points has the same result after the next one (seed %i)",
  async (seed) => {
    const home = stateDir();
    const source = makeSource(home);
    const run = (target: string) => start(["import", source, "--json"], { HOME: home, OPENCLAW_STATE_DIR: target });
    const target = join(home, "target");
    // The same path for both, since it is written into transcripts.
    expect((await ended(run(target))).code).toBe(0);
    const whole = await resultOf(target);
    renameSync(target, join(home, "other"));
    const below = random(seed);
    const items = CHATS * 2 + 1;
    for (let kills = 0; kills < 4; kills += 1) {
      const enough = doneIn(target) + below(items / 3);
      const child = run(target);
      await until(() => child.exitCode !== null || doneIn(target) >= enough, "the import to go on");
      child.kill("SIGKILL");
      await ended(child);
    }
    const last = await ended(run(target));
    expect([last.code, last.err]).toEqual([0, ""]);
    expect(await resultOf(target)).toEqual(whole);
    expect(readdirSync(join(target, "state")).filter((name) => name.startsWith("import-"))).toEqual([]);
  },
);

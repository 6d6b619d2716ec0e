import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { checks } from "../../src/sessions/checks.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { openJournal } from "../../src/store/journal/journal.ts";
import { notePlace } from "../../src/store/places.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { SessionEntry, Sessions } from "../../src/types/session.ts";
import { recordLog } from "../kit/log.ts";
import { ALL, say, texts } from "../kit/store/transcript-file.ts";
import { answered } from "../kit/transcript-messages.ts";

const KEY = sessionKey("telegram:default:8001");

async function ground(): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "openclaw-copies-")));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const journalIn = (dir: string): string => join(dir, "state", "journal.sqlite");

/** Works with the sessions of a state directory, as a gateway does from its start to its end. */
async function within<T>(dir: string, work: (sessions: Sessions) => Promise<T>): Promise<T> {
  await notePlace(dir);
  const journal = await openJournal({ path: journalIn(dir), bootId: dir });
  const sessions = await openSessions({
    dir: join(dir, "sessions"),
    table: journal.sessions,
    cwdFor: () => join(dir, "workspace"),
    log: recordLog(),
    defaultAgent: agentId("main"),
  });
  try {
    return await work(sessions);
  } finally {
    await sessions.close();
    await journal.close();
  }
}

const tell = (dir: string, ...words: readonly string[]): Promise<void> =>
  within(dir, async (sessions) => {
    const session = await sessions.acquire(KEY);
    for (const text of words) await session.append(say(text), { durable: true });
    session.release();
  });

const read = (dir: string): Promise<readonly string[]> =>
  within(dir, async (sessions) => {
    const session = await sessions.acquire(KEY);
    const found = texts(await session.window(ALL));
    session.release();
    return found;
  });

/** A hash of each file below a directory. */
async function hashes(dir: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const each = files.map(
    async (path) =>
      [
        path,
        createHash("sha256")
          .update(await readFile(path))
          .digest("hex"),
      ] as const,
  );
  return Object.fromEntries((await Promise.all(each)).toSorted(([a], [b]) => a.localeCompare(b)));
}

const rowIn = (dir: string): Promise<SessionEntry | undefined> =>
  within(dir, async (sessions) => ({ ...sessions.peek(KEY), updatedAt: 0, sessionId: "" }));

/** What earlier versions kept: the absolute path, in the journal and in the file. */
async function nameAbsolutely(dir: string, path: string): Promise<void> {
  const db = new DatabaseSync(journalIn(dir));
  db.prepare(
    "UPDATE sessions SET row = json_set(row, '$.sessionFile', ?1), exported = json_set(row, '$.sessionFile', ?1)",
  ).run(path);
  const row: unknown = JSON.parse(String(db.prepare("SELECT row FROM sessions").get()?.["row"]));
  db.close();
  await writeFile(join(dir, "sessions", "sessions.json"), JSON.stringify({ [KEY]: row }));
}

describe("a copy of a state directory", () => {
  test.each<readonly [string, (sessions: Sessions) => Promise<unknown>]>([
    [
      "appends",
      async (sessions) => {
        const session = await sessions.acquire(KEY);
        await session.append(say("said to the copy"), { durable: true });
        session.release();
      },
    ],
    [
      "begins anew",
      async (sessions) => {
        const session = await sessions.acquire(KEY);
        await session.reset("new");
        session.release();
      },
    ],
    ["removes", (sessions) => sessions.remove(KEY)],
    ["reads", (sessions) => sessions.history(KEY, 10)],
  ])("%s in its own files, and the original is as it was", async (_how, work) => {
    const dir = await ground();
    await tell(join(dir, "a"), "one", "two");
    await cp(join(dir, "a"), join(dir, "b"), { recursive: true });
    const before = await hashes(join(dir, "a"));
    await within(join(dir, "b"), work);
    expect(await hashes(join(dir, "a"))).toEqual(before);
    expect(await read(join(dir, "a"))).toEqual(["one", "two"]);
  });

  test("has no path of the original, also in what it exports", async () => {
    const dir = await ground();
    await tell(join(dir, "a"), "one");
    const { sessionFile } = (await rowIn(join(dir, "a")))!;
    expect(sessionFile).toMatch(/^[\w-]+\.jsonl$/);
    for (const path of Object.keys(await hashes(join(dir, "a"))).filter((name) => !name.endsWith("places.json")))
      expect((await readFile(path)).includes(dir), path).toBe(false);
  });

  test("moves with everything that was said", async () => {
    const dir = await ground();
    await tell(join(dir, "a"), "one");
    await rename(join(dir, "a"), join(dir, "b"));
    await tell(join(dir, "b"), "two");
    await symlink(join(dir, "b"), join(dir, "link"));
    expect(await read(join(dir, "link"))).toEqual(["one", "two"]);
    expect(await readdir(dir)).toEqual(["b", "link"]);
  });
});

describe("rows with absolute paths, as earlier versions kept them", () => {
  /** State directories `a` and `b` with the same conversation; `b` is the one that is opened. */
  async function copied(): Promise<{ readonly a: string; readonly b: string; readonly name: string }> {
    const dir = await ground();
    const [a, b] = [join(dir, "a"), join(dir, "b")];
    await tell(a, "one");
    const { sessionFile: name = "" } = (await rowIn(a))!;
    await nameAbsolutely(a, join(a, "sessions", name));
    await rm(join(a, "state", "places.json"));
    await cp(a, b, { recursive: true });
    return { a, b, name };
  }

  test("lead to the own file, and become names", async () => {
    const { a, name } = await copied();
    expect(await read(a)).toEqual(["one"]);
    expect(await rowIn(a)).toMatchObject({ sessionFile: name });
    expect(await readFile(join(a, "sessions", "sessions.json"), "utf8")).not.toContain(a);
  });

  test("lead to the copy's own file and not to the original's", async () => {
    const { a, b, name } = await copied();
    const before = await hashes(a);
    await tell(b, "two");
    expect(await read(b)).toEqual(["one", "two"]);
    expect(await rowIn(b)).toMatchObject({ sessionFile: name });
    expect(await hashes(a)).toEqual(before);
    expect(await read(a)).toEqual(["one"]);
  });

  test("lead to the moved file", async () => {
    const { a, b } = await copied();
    await rm(a, { recursive: true });
    expect(await read(b)).toEqual(["one"]);
  });

  test("lead to no file of the original when the copy lacks its own", async () => {
    const { a, b, name } = await copied();
    await writeFile(join(b, "sessions", "other.jsonl"), "");
    await notePlace(b);
    await rm(join(b, "sessions", name));
    const before = await hashes(a);
    const [transcripts] = await checks({ dir: join(b, "sessions"), journal: journalIn(b) })
      .find(({ id }) => id === "sessions.transcripts")!
      .run(AbortSignal.timeout(5000));
    expect(transcripts?.message).toContain(`${join(b, "sessions", name)} is missing`);
    expect(await read(b)).toEqual([]);
    await tell(b, "anew");
    expect(await hashes(a)).toEqual(before);
  });

  test("of another program lead to its file, as long as this directory has none of that name", async () => {
    const dir = await ground();
    const [a, foreign] = [join(dir, "a"), join(dir, "foreign")];
    await tell(a, "here");
    const { sessionFile: name = "" } = (await rowIn(a))!;
    await mkdir(foreign);
    await rename(join(a, "sessions", name), join(foreign, name));
    await nameAbsolutely(a, join(foreign, name));
    await tell(a, "two");
    expect(await readFile(join(foreign, name), "utf8")).toContain("two");
    expect(await rowIn(a)).toMatchObject({ sessionFile: join(foreign, name) });
    await within(a, async (sessions) => {
      expect(sessions.fileOf(KEY)).toBe(join(foreign, name));
      await cp(join(foreign, name), join(a, "sessions", name));
      expect(sessions.fileOf(KEY)).toBe(join(a, "sessions", name));
    });
    await tell(a, "three");
    expect(await readFile(join(foreign, name), "utf8")).not.toContain("three");
    expect(await read(a)).toEqual(["here", "two", "three"]);
    expect(await rowIn(a)).toMatchObject({ sessionFile: name });
  });

  test("of a folder of another program in the same state directory stay there, in a copy too", async () => {
    const dir = await ground();
    const [a, b] = [join(dir, "a"), join(dir, "b")];
    await tell(a, "here");
    const { sessionFile: name = "" } = (await rowIn(a))!;
    await mkdir(join(a, "agents", "main", "sessions"), { recursive: true });
    await rename(join(a, "sessions", name), join(a, "agents", "main", "sessions", name));
    await nameAbsolutely(a, join(a, "agents", "main", "sessions", name));
    await notePlace(a);
    await cp(a, b, { recursive: true });
    const before = await hashes(a);
    await tell(b, "two");
    expect(await read(b)).toEqual(["here", "two"]);
    expect(await rowIn(b)).toMatchObject({ sessionFile: `../agents/main/sessions/${name}` });
    expect(await hashes(a)).toEqual(before);
  });
});

describe("a conversation of a directory that was copied", () => {
  test("names its files where they are now, and the file keeps what was said", async () => {
    const dir = await ground();
    const [a, b] = [join(dir, "a"), join(dir, "b")];
    const note = `[media attached: ${a}/media/x.png (image/png)]`;
    await within(a, async (sessions) => {
      const session = await sessions.acquire(KEY);
      await session.append(say(note), { durable: true });
      const call = { type: "toolCall" as const, id: "c1", name: "read", arguments: { path: `${a}/workspace/n.md` } };
      const thought = { type: "thinking" as const, thinking: `look into ${a}`, thinkingSignature: "s" };
      await session.append({ type: "message", message: answered([thought, call]) }, { durable: true });
      session.release();
    });
    const [file] = (await readdir(join(a, "sessions"))).filter((name) => name.endsWith(".jsonl"));
    await cp(a, b, { recursive: true });
    await within(b, async (sessions) => {
      const session = await sessions.acquire(KEY);
      await session.append(say(`later: compare it with ${a}/media/x.png`), { durable: true });
      session.release();
    });
    await within(b, async (sessions) => {
      const session = await sessions.acquire(KEY);
      const shown = JSON.stringify((await session.window(ALL)).messages);
      session.release();
      expect(shown).toContain(`[media attached: ${b}/media/x.png (image/png)]`);
      expect(shown).toContain(`{"path":"${b}/workspace/n.md"}`);
      expect(shown).toContain(`look into ${a}`);
      expect(shown).toContain(`later: compare it with ${a}/media/x.png`);
      expect(JSON.stringify(await sessions.history(KEY, 9))).toContain(`${b}/media/x.png (image/png)`);
    });
    expect(await readFile(join(b, "sessions", file!), "utf8")).toContain(note);
  });
});

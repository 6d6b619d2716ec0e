import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";

const KEY = "telegram:default:8001";
const DAY = 86_400_000;
const header = {
  type: "session",
  version: 3,
  id: "theirs",
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/their/place",
};
const said = (id: string, parentId: string | null, content: string) => ({
  type: "message",
  id,
  parentId,
  timestamp: "2026-01-01T00:00:00.000Z",
  message: { role: "user", content, timestamp: 1 },
});
const linesOf = (...entries: readonly object[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");

let dir: string;
beforeEach(() => {
  dir = stateDir("{}");
});

const cli = (...args: readonly string[]) => run(["sessions", ...args], { OPENCLAW_STATE_DIR: dir, HOME: dir });
const json = async (...args: readonly string[]) => JSON.parse((await cli(...args, "--json")).out);
const files = (): readonly string[] => readdirSync(join(dir, "sessions")).filter((name) => name.includes(".jsonl"));
const keysOf = async (): Promise<readonly string[]> =>
  (await json("list")).sessions.map(({ key }: { key: string }) => key);

/** A file of another program. */
function fileWith(text: string): string {
  const path = join(dir, "theirs.jsonl");
  writeFileSync(path, text);
  return path;
}

/** Sessions as another program left them, and when each was used last, in days. */
function putSessions(sessions: Readonly<Record<string, number>>): void {
  mkdirSync(join(dir, "sessions"), { recursive: true });
  const rows = Object.entries(sessions).map(([key, days], at) => {
    writeFileSync(join(dir, "sessions", `s${at}.jsonl`), linesOf({ ...header, id: `s${at}` }, said("a", null, key)));
    return [key, { sessionId: `s${at}`, updatedAt: Date.now() - days * DAY, sessionFile: `s${at}.jsonl` }];
  });
  writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify(Object.fromEntries(rows)));
}

describe("sessions import", () => {
  it("makes a transcript that of a session, its entries byte for byte, with a header of the session's own", async () => {
    const entries = `${linesOf(said("a", null, "hello"))}{torn\n${linesOf(said("b", "a", "again"), { type: "later" })}`;
    const path = fileWith(linesOf(header) + entries);
    const done = await json("import", path, "--key", KEY);
    expect(done).toMatchObject({ ok: true, key: `agent:main:${KEY}`, messages: 2, damaged: 1 });
    const [file = ""] = files();
    const [first = "", ...rest] = readFileSync(join(dir, "sessions", file), "utf8").split("\n");
    expect(JSON.parse(first)).toMatchObject({ version: 3, id: done.sessionId, sessionKey: KEY, cwd: "../workspace" });
    expect(rest.join("\n")).toBe(entries);
    expect((await cli("show", KEY)).out).toMatch(/hello[^]*again/);
    expect(readFileSync(path, "utf8")).toBe(linesOf(header) + entries);
  });

  it.each([
    ["without a header", linesOf(said("a", null, "hello"))],
    [
      "with a mark of its byte order and the line ends of Windows",
      `\uFEFF${linesOf(header, said("a", null, "hello")).replaceAll("\n", "\r\n")}`,
    ],
    [
      "of the first version",
      linesOf(
        { ...header, version: undefined },
        { type: "message", message: { role: "user", content: "hello", timestamp: 1 } },
      ),
    ],
  ])("reads a file %s, as a new chat of the page", async (_, text) => {
    const { key, messages, damaged } = await json("import", fileWith(text));
    expect([key, messages, damaged]).toEqual([expect.stringMatching(/^agent:main:webchat:default:/), 1, 0]);
    expect((await cli("show", key)).out).toContain("hello");
    expect(await keysOf()).toEqual([key]);
  });

  it("leaves a session with messages alone, or puts them aside when it is told to", async () => {
    const path = fileWith(linesOf(header, said("a", null, "hello")));
    await json("import", path, "--key", KEY);
    const before = files();
    const refused = await cli("import", path, "--key", KEY);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("The session has messages.")]);
    expect(files()).toEqual(before);
    await json("import", path, "--key", KEY, "--replace");
    expect(files().toSorted((a, b) => b.length - a.length)).toEqual([
      expect.stringContaining(".jsonl.reset."),
      expect.stringMatching(/\.jsonl$/),
    ]);
    expect(await keysOf()).toHaveLength(1);
  });

  it.each([
    ["a missing file", undefined, /is missing/],
    ["a file without entries", "hello\nyou\n", /no entry/],
    ["a later version", linesOf({ ...header, version: 9 }, said("a", null, "x")), /TRANSCRIPT_NEWER/],
  ])("refuses %s and leaves nothing behind", async (_, text, why) => {
    const path = text === undefined ? join(dir, "nowhere.jsonl") : fileWith(text);
    const { code, err } = await cli("import", path);
    expect([code > 0, err]).toEqual([true, expect.stringMatching(why)]);
    expect(await keysOf()).toEqual([]);
  });

  it("refuses an agent that is not there, and the session of another one", async () => {
    const path = fileWith(linesOf(header, said("a", null, "hello")));
    expect((await cli("import", path, "--agent", "nobody")).err).toContain("There is no agent nobody.");
    expect((await cli("import", path, "--agent", "main", "--key", "agent:x:y")).err).toContain("There is no agent x.");
  });
});

describe("sessions delete, archive and rename", () => {
  it("change each session that is there, and name the others", async () => {
    putSessions({ [KEY]: 1, "telegram:default:8002": 2, "agent:main:main": 3 });
    expect(await json("delete", KEY, "a:b:c", "--dry-run")).toMatchObject({
      ok: false,
      operation: "delete",
      dryRun: true,
      results: [
        { key: KEY, ok: true, status: "would_delete" },
        { key: "a:b:c", ok: false, status: "not_found" },
      ],
    });
    expect(await keysOf()).toHaveLength(3);
    const { results } = await json("delete", KEY, "main", "--yes");
    expect(results).toMatchObject([
      { key: KEY, ok: true, status: "deleted", archived: [expect.stringContaining(".jsonl.deleted.")] },
      { ok: false, status: "failed", error: expect.stringContaining("the main session") },
    ]);
    expect(await json("archive", "telegram:default:8002", "--agent", "work")).toMatchObject({
      results: [{ status: "failed", error: "it belongs to the agent main" }],
    });
    for (let time = 0; time < 2; time += 1)
      expect(await json("archive", "telegram:default:8002")).toMatchObject({
        ok: true,
        results: [{ status: "archived" }],
      });
    expect(await json("rename", "telegram:default:8002", " My chat ")).toMatchObject({ ok: true });
    const list = () => json("list").then(({ sessions }) => sessions);
    expect(await list()).toContainEqual(expect.objectContaining({ label: "My chat" }));
    await json("rename", "telegram:default:8002", "");
    expect(await list()).not.toContainEqual(expect.objectContaining({ label: "My chat" }));
  });

  it("delete nothing that nobody confirmed", async () => {
    putSessions({ [KEY]: 1 });
    for (const args of [[KEY], [KEY, "--json"]]) {
      const { code, err } = await cli("delete", ...args);
      expect([code, err]).toEqual([2, expect.stringContaining("Add --yes.")]);
    }
    expect(await keysOf()).toHaveLength(1);
  });
});

describe("sessions cleanup", () => {
  const OLD = { [KEY]: 40, "cron:j:run:1": 40, "telegram:default:8002": 1 };

  it("says what is due, and does it with --enforce", async () => {
    putSessions(OLD);
    const due = { mode: "warn", dryRun: true, beforeCount: 3, archived: 1, pruned: 1, wouldMutate: true };
    expect(await json("cleanup", "--dry-run")).toMatchObject(due);
    expect(await json("cleanup", "--all-agents")).toMatchObject({ allAgents: true, mode: "warn", stores: [due] });
    const { out } = await cli("cleanup");
    expect(out).toMatch(/Due .* 1 session put into the archive, 1 session deleted\n/);
    expect(out).toMatch(/archive-age +agent:main:telegram:default:8001 +40 d/);
    expect(out).toContain("Do it: openclaw sessions cleanup --enforce");
    expect(await keysOf()).toHaveLength(3);
    const kept = await json("cleanup", "--enforce", "--active-key", `agent:main:${KEY}`, "--agent", "main");
    expect(kept).toMatchObject({
      dryRun: false,
      applied: true,
      appliedCount: 2,
      agentId: "main",
      pruned: 1,
      archived: 0,
    });
    expect(await json("cleanup", "--enforce")).toMatchObject({ applied: true, archived: 1, pruned: 0, skipped: 0 });
    expect(files().filter((name) => name.includes(".deleted."))).toHaveLength(1);
    const [day = ""] = readdirSync(join(dir, "logs"));
    expect(readFileSync(join(dir, "logs", day), "utf8")).toMatch(/"session":"cron:j:run:1".*"session deleted"/);
  });

  it("does it without a flag where the config says so, and never against the config's problems", async () => {
    dir = stateDir(JSON.stringify({ session: { maintenance: { mode: "enforce", pruneAfter: 30 } } }));
    putSessions(OLD);
    expect(await json("cleanup", "--dry-run")).toMatchObject({ mode: "enforce", dryRun: true });
    expect(await json("cleanup")).toMatchObject({ mode: "enforce", dryRun: false, archived: 1 });
    writeFileSync(join(dir, "openclaw.json"), JSON.stringify({ session: { maintenance: { pruneAfter: "soon" } } }));
    const { code, err } = await cli("cleanup");
    expect([code > 0, err]).toEqual([true, expect.stringContaining("write it as 12h or 30d")]);
  });

  it("deletes rows without a transcript, and the sessions of single people that dmScope main does not use", async () => {
    dir = stateDir(JSON.stringify({ session: { dmScope: "main" } }));
    putSessions({ [KEY]: 1, "a:b:group:c": 1, "x:y:z": 1 });
    writeFileSync(
      join(dir, "sessions", "sessions.json"),
      readFileSync(join(dir, "sessions", "sessions.json"), "utf8").replaceAll("s2", "lost"),
    );
    expect(await json("cleanup", "--fix-missing", "--dry-run")).toMatchObject({ missing: 1, dmScopeRetired: 0 });
    expect(await json("cleanup", "--fix-dm-scope", "--enforce")).toMatchObject({ missing: 0, dmScopeRetired: 2 });
    expect(await keysOf()).toEqual(["agent:main:a:b:group:c"]);
  });
});

import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errText, REWRITE, terminalText } from "../../../src/app/cli/terminal-text.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { outputMatching, run, start, stateDir } from "../../kit/gateway/cli.ts";

const line = (msg: string, more: object = {}) =>
  `${JSON.stringify({ level: "info", time: "2026-03-01T10:00:00.000Z", msg, ...more })}\n`;

function withLogs(files: Readonly<Record<string, string>>): { dir: string; env: { OPENCLAW_STATE_DIR: string } } {
  const dir = stateDir();
  mkdirSync(join(dir, "logs"));
  for (const [day, text] of Object.entries(files)) writeFileSync(join(dir, "logs", `openclaw-${day}.log`), text);
  return { dir, env: { OPENCLAW_STATE_DIR: dir } };
}

test("logs shows the last lines, over more than one day, for people and as they are", async () => {
  const { env } = withLogs({
    "2026-03-01": line("one") + line("two", { run: "r 1" }),
    "2026-03-02": `${line("three")}no json \u001b[31m\n{"level":"info","msg":"half`,
  });
  const shown = await run(["logs", "--limit", "3"], env);
  expect(shown.code).toBe(0);
  const lines = shown.out.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^2026-03-01 \d\d:00:00 info {2}two run="r 1"$/);
  expect(lines[1]).toMatch(/three$/);
  expect(lines[2]).toBe("no json [31m");
  expect((await run(["logs", "--json", "--limit", "1"], env)).out).toBe("no json \u001b[31m\n");
  expect((await run(["logs", "--limit", "0"], env)).out).toBe("");
});

test("many long lines are read from the end", async () => {
  const text = Array.from({ length: 3000 }, (_, index) => line(`n${index}`, { pad: "ü".repeat(60) })).join("");
  const { env } = withLogs({ "2026-03-01": text });
  const lines = (await run(["logs", "--json", "--limit", "1500"], env)).out.trimEnd().split("\n");
  expect(lines).toHaveLength(1500);
  expect(JSON.parse(lines[0]!)).toMatchObject({ msg: "n1500", pad: "ü".repeat(60) });
});

test("says that there is no log", async () => {
  const { code, err } = await run(["logs"], { OPENCLAW_STATE_DIR: stateDir() });
  expect([code, err]).toEqual([0, expect.stringContaining("No log yet")]);
});

test("logs --follow shows what is appended, whole lines only, and continues in the next day's file", async () => {
  const { dir, env } = withLogs({ "2026-03-01": line("old") });
  const file = (day: string) => join(dir, "logs", `openclaw-${day}.log`);
  const child = start(["logs", "--follow", "--json", "--interval", "20"], env);
  onTestFinished(() => void child.kill("SIGKILL"));
  await outputMatching(child, /"old"/);
  const [head, tail] = [line("late").slice(0, 20), line("late").slice(20)];
  const first = outputMatching(child, /late/);
  appendFileSync(file("2026-03-01"), head);
  appendFileSync(file("2026-03-01"), tail);
  expect(await first).toBe(line("late"));
  const next = outputMatching(child, /new day/);
  appendFileSync(file("2026-03-01"), line("last of the day"));
  writeFileSync(file("2026-03-02"), line("new day"));
  expect(await next).toBe(line("last of the day") + line("new day"));
});

test("pairing works on the journal when no gateway runs", async () => {
  const dir = stateDir();
  const env = { OPENCLAW_STATE_DIR: dir };
  expect(await run(["pairing", "list"], env)).toMatchObject({ code: 0, out: "Nobody waits with a code.\n" });
  const path = join(dir, "state", "journal.sqlite");
  const journal = await openJournal({ path, bootId: "test" });
  const asked = await journal.pairing.request({
    channel: "telegram",
    account: "default",
    senderId: "77",
    name: "Eve \u001b[2J",
  });
  await journal.close();
  const code = asked.kind === "new" ? asked.request.code : "";
  const list = await run(["pairing", "list"], env);
  expect(list.out).toMatch(new RegExp(`CODE +CHANNEL.*\\n${code} +telegram +default +77 +Eve \\[2J +in 5\\d min`));
  expect(JSON.parse((await run(["pairing", "list", "--json"], env)).out)).toMatchObject({ requests: [{ code }] });
  expect(JSON.parse((await run(["pairing", "list", "slack", "--json"], env)).out)).toEqual({
    requests: [],
    turnedAway: [],
    admitted: [],
  });
  const wrong = await run(["pairing", "approve", "telegram", "AAAAAAAA"], env);
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("error NOT_FOUND")]);
  const right = await run(["pairing", "approve", "telegram", code.toLowerCase()], env);
  expect(right).toMatchObject({ code: 0, out: "Eve [2J (77) may write on telegram now.\n" });
  expect(right.err).toContain(`openclaw config set commands.ownerAllowFrom '["telegram:77"]'`);
  expect((await run(["pairing", "list"], env)).out).toMatch(/telegram +default +77 +Eve \[2J +\d{4}-\d\d-\d\d/);
  writeFileSync(join(dir, "openclaw.json"), `{ commands: { ownerAllowFrom: ["telegram:77"] } }`);
  const put = await run(["pairing", "revoke", "telegram", "77"], env);
  expect(put).toMatchObject({ code: 0, out: "Eve [2J (77) may not write on telegram any more (default).\n" });
  expect(put.err).toContain('77 is still an owner, who may approve commands: take "telegram:77" out');
  expect(await run(["pairing", "revoke", "telegram", "77"], env)).toMatchObject({ code: 1 });
  expect(await run(["pairing", "reject", "telegram", "77"], env)).toMatchObject({ code: 1 });
  const reopened = await openJournal({ path, bootId: "test" });
  expect(await reopened.pairing.isPaired("telegram", "default", "77")).toBe(false);
  await reopened.close();
});

function withSession(): { dir: string; env: { OPENCLAW_STATE_DIR: string } } {
  const dir = stateDir();
  mkdirSync(join(dir, "sessions"));
  const updatedAt = Date.now();
  const rows = {
    "webchat:default:operator": { sessionId: "abc", updatedAt, totalTokens: 42 },
    "telegram:default:77": { sessionId: "old", updatedAt: updatedAt - 3 * 3_600_000 },
  };
  writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify(rows));
  const timestamp = "2026-03-01T10:00:00.000Z";
  const message = (id: string, parentId: string | null, role: string, text: string) => ({
    type: "message",
    id,
    parentId,
    timestamp,
    message: { role, content: [{ type: "text", text }], timestamp: Date.parse(timestamp), stopReason: "stop" },
  });
  const transcript = [
    { type: "session", version: 3, id: "abc", timestamp, cwd: "/" },
    message("1", null, "user", "hello"),
    message("2", "1", "assistant", "good \u001b[31mday"),
  ];
  writeFileSync(join(dir, "sessions", "abc.jsonl"), transcript.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  return { dir, env: { OPENCLAW_STATE_DIR: dir } };
}

test("sessions are read from the files when no gateway runs", async () => {
  const { dir, env } = withSession();
  const list = await run(["sessions"], env);
  expect(list.out).toMatch(/^KEY .*\nagent:main:main +\d+ s ago +42\nagent:main:telegram:default:77 +3 h ago\n$/);
  const json = JSON.parse((await run(["sessions", "list", "--active", "60", "--json"], env)).out);
  expect(json).toMatchObject({ count: 1, sessions: [{ key: "agent:main:main", sessionId: "abc" }] });
  const show = await run(["sessions", "show", "main"], env);
  expect(show.out).toMatch(/^user 2026-03-01 .*\nhello\n\nassistant .*\ngood \[31mday\n$/);
  const unknown = await run(["sessions", "show", "nobody"], env);
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining("There is no session nobody.")]);
  const raw = await run(["sessions", "export", "main"], env);
  expect(raw.out).toBe(readFileSync(join(dir, "sessions", "abc.jsonl"), "utf8"));
});

test("sessions of a gateway that was killed are read from its journal, with what was edited in the file since", async () => {
  const { dir, env } = withSession();
  const path = join(dir, "state", "journal.sqlite");
  const journal = await openJournal({ path, bootId: "test" });
  const key = sessionKey("telegram:default:77");
  const old = { sessionId: "old", updatedAt: 5 };
  const web = sessionKey("webchat:default:operator");
  await journal.sessions.write([
    [key, { sessionId: "newer", updatedAt: 9 }],
    [web, { sessionId: "abc", updatedAt: 9 }],
    [sessionKey("telegram:default:78"), { sessionId: "third", updatedAt: 7 }],
  ]);
  await journal.sessions.noteExport(
    [
      [key, old],
      [web, { sessionId: "abc", updatedAt: 9 }],
    ],
    { version: "1", others: {} },
  );
  await journal.close();
  const file = { [key]: old, [web]: { sessionId: "abc", updatedAt: 9, totalTokens: 42 } };
  writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify(file));
  const { sessions } = JSON.parse((await run(["sessions", "--json"], env)).out);
  expect(sessions.map((row: { sessionId: string; totalTokens?: number }) => [row.sessionId, row.totalTokens])).toEqual(
    expect.arrayContaining([
      ["newer", undefined],
      ["abc", 42],
      ["third", undefined],
    ]),
  );
  writeFileSync(join(dir, "sessions", "sessions.json"), "{ half");
  expect(JSON.parse((await run(["sessions", "--json"], env)).out)).toMatchObject({ count: 3 });
});

test("an export on a terminal obeys nothing of what was said; a pipe gets it as it is", async () => {
  const { env } = withSession();
  const args = ["sessions", "export", "main", "--format", "markdown"];
  expect((await run(args, env, true)).out).toContain("good [31mday");
  expect((await run(args, env, false)).out).toContain("good \u001b[31mday");
});

test.each([
  ["the clipboard", "a\u001b]52;c;ZXZpbA==\u0007b", "a]52;c;ZXZpbA==b"],
  ["the screen", "a\u001b[2Jb\u001bcc\r", "a[2Jbcc"],
  ["an 8-bit control", "a\u009b2Jb", "a2Jb"],
  ["hidden text", "a\u001b[8mb\u001b[1;08mc", "a[8mb[1;08mc"],
  ["the direction of words", "a\u202eb", "ab"],
  ["the program's own colours", "\u001b[2mdim\u001b[22m and \u001b[38;5;9mred\u001b[0m", undefined],
])("nothing that is printed on a terminal can change %s", (_, printed, seen) => {
  expect(terminalText(printed)).toBe(seen ?? printed);
});

test("nor can the error output, except for the progress line", () => {
  expect(errText("not found: a\u001b]52;c;ZXZpbA==\u0007\u202eb\n")).toBe("not found: a]52;c;ZXZpbA==b\n");
  expect(errText(`${REWRITE}waiting\u001b[2J\r`)).toBe(`${REWRITE}waiting[2J`);
});

/** Asked anew twice, from the first message and from the answer to it; a place where somebody went on says nothing. */
const REWOUND = [
  { type: "session", version: 3, id: "abc", timestamp: "2026-03-01T10:00:00.000Z", cwd: "/" },
  ...(
    [
      ["1", null, "user", "tea?"],
      ["2", "1", "assistant", "gladly"],
      ["3", "2", "user", "green"],
      ["4", "3", "assistant", "green it is"],
      ["5", null, "user", "coffee?"],
      ["6", "5", "assistant", "better"],
      ["7", "2", "user", "black"],
      ["8", "7", "assistant", "black it is"],
    ] as const
  ).map(([id, parentId, role, text]) => ({ type: "message", id, parentId, message: { role, content: text } })),
  { type: "custom", customType: "openclaw.branch", id: "9", parentId: "4" },
  { type: "custom", customType: "openclaw.branch", id: "10", parentId: "8" },
];

test("export writes the branch that is continued, and says how many it leaves out; others when it is asked", async () => {
  const { dir, env } = withSession();
  const file = join(dir, "sessions", "abc.jsonl");
  writeFileSync(file, REWOUND.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const args = ["sessions", "export", "main", "--format", "markdown"];
  const active = "## user\n\ntea?\n\n## assistant\n\ngladly\n\n## user\n\nblack\n\n## assistant\n\nblack it is\n\n";
  const left = "2 other branches are left out, with 4 messages: --all-branches writes them too.\n";
  expect(await run(args, env)).toMatchObject({ code: 0, out: active, err: left });
  const coffee = "# Another branch (2 of 2)\n\n## user\n\ncoffee?\n\n## assistant\n\nbetter\n\n";
  const green = "# Another branch (1 of 2)\n\n## user\n\ngreen\n\n## assistant\n\ngreen it is\n\n";
  expect(await run([...args, "--all-branches"], env)).toMatchObject({ out: active + green + coffee, err: "" });
  expect((await run(["sessions", "export", "main"], env)).out).toBe(readFileSync(file, "utf8"));
  const output = join(dir, "branch.md");
  expect((await run([...args, "-o", output], env)).err).toBe(`Wrote ${output}.\n${left}`);
});

test("export writes a transcript of an older version whole, whose lines name no parent", async () => {
  const { dir, env } = withSession();
  const lines = REWOUND.slice(0, 5).map(({ id: _id, ...entry }) => ({ ...entry, parentId: undefined }));
  writeFileSync(join(dir, "sessions", "abc.jsonl"), lines.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const { out, err } = await run(["sessions", "export", "main", "--format", "markdown"], env);
  expect([out.match(/^## /gm)?.length, err]).toEqual([4, ""]);
});

test("a restored backup says whether it has a state, or the config alone", async () => {
  const { dir, env } = withSession();
  writeFileSync(join(dir, "openclaw.json"), "{}");
  const restored = async (name: string, ...flags: string[]) => {
    const [file, target] = [join(dir, "..", `${name}.tar.gz`), join(dir, "..", name)];
    expect(await run(["backup", "create", "--output", file, ...flags], env)).toMatchObject({ code: 0 });
    return (await run(["backup", "restore", file, "--target", target], env)).out;
  };
  const NONE = "The backup has no state: conversations, jobs, people and stored keys begin anew.";
  const whole = await restored(`whole-${basename(dir)}`);
  expect(whole).toMatch(/^Restored into .*: the state of /);
  expect(whole).not.toContain(NONE);
  const alone = await restored(`alone-${basename(dir)}`, "--only-config");
  expect(alone).toMatch(/^Restored into .*: the config of /);
  expect(alone).toContain(NONE);
});

test("export writes Markdown into a new file and never over another", async () => {
  const { dir, env } = withSession();
  const output = join(dir, "out.md");
  const args = ["sessions", "export", "main", "--format", "markdown", "-o", output];
  expect((await run(args, env)).code).toBe(0);
  expect(readFileSync(output, "utf8")).toContain("## user\n\nhello\n");
  expect(await run(args, env)).toMatchObject({ code: 2, err: expect.stringContaining("is there already") });
});

test("an unreadable sessions.json is reported and not changed", async () => {
  const { dir, env } = withSession();
  writeFileSync(join(dir, "sessions", "sessions.json"), "{ half");
  const { code, err } = await run(["sessions"], env);
  expect([code, err]).toEqual([1, expect.stringContaining("error SESSIONS_UNREADABLE")]);
  expect(readFileSync(join(dir, "sessions", "sessions.json"), "utf8")).toBe("{ half");
});

test("dashboard prints the page's address with the token in the fragment", async () => {
  const dir = stateDir("{ gateway: { port: 4711 } }");
  const env = { OPENCLAW_STATE_DIR: dir };
  expect(await run(["dashboard"], env)).toMatchObject({ code: 75, out: "" });
  mkdirSync(join(dir, "credentials"));
  writeFileSync(join(dir, "credentials", "gateway-token"), "a+b\n");
  const { code, out, err } = await run(["dashboard"], env);
  expect([code, out]).toEqual([0, "http://127.0.0.1:4711/#token=a%2Bb\n"]);
  expect(err).toContain("does not run");
});

test("doctor --json reports every check, --only some; a failure is exit code 1", async () => {
  const env = { OPENCLAW_STATE_DIR: stateDir("{ gateway: { port: 0 } }") };
  const all = JSON.parse((await run(["doctor", "--json", "--skip", "model"], env)).out);
  expect(all.checks.map((check: { id: string }) => check.id)).toEqual(
    expect.arrayContaining(["app.config", "app.lock"]),
  );
  const some = await run(["doctor", "--json", "--only", "app.config,app.node"], env);
  expect(some.code).toBe(0);
  expect(JSON.parse(some.out)).toMatchObject({ checks: [{ id: "app.node" }, { id: "app.config", status: "ok" }] });
  const broken = { OPENCLAW_STATE_DIR: stateDir("{ gateway: { prt: 0 } }") };
  expect(await run(["doctor", "--only", "app.config"], broken)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/FAIL {2}Config .*gateway\.prt/),
  });
  const unknown = await run(["doctor", "--only", "app.confg"], env);
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining("Did you mean app.config?") });
});

test("doctor --fix says what it changes, and changes nothing when nobody can be asked", async () => {
  const dir = stateDir("{}");
  const file = join(dir, "openclaw.json");
  chmodSync(file, 0o644);
  const args = ["doctor", "--fix", "--only", "app.permissions"];
  const asked = await run(args, { OPENCLAW_STATE_DIR: dir });
  expect(asked.err).toContain(`chmod 600 ${file}`);
  expect(asked.err).toContain("--yes");
  expect(statSync(file).mode & 0o777).toBe(0o644);
  const done = await run([...args, "--yes"], { OPENCLAW_STATE_DIR: dir });
  expect(done).toMatchObject({ code: 0, err: `chmod 600 ${file}\n`, out: expect.stringContaining("is private") });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

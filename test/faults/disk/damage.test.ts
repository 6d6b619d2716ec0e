import { mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { walkConfig } from "../../kit/gateway/process.ts";
import { linesOf, openclaw, readTranscript, textOf, useFaultFixture, type FaultFixture } from "../fixture.ts";

const fixture = useFaultFixture();

/** A state directory with one answered message in it. */
async function withHistory(at: FaultFixture): Promise<{ transcript: string }> {
  const gateway = await at.start();
  await at.goesOn("first of all");
  await gateway.logged("delivered");
  await gateway.kill("SIGKILL");
  const [transcript = ""] = await at.transcripts();
  return { transcript };
}

test.each([1, 7, 60])(
  "a last line torn %i bytes before its end is cut off, kept and told; the talk continues",
  async (bytes) => {
    const { transcript } = await withHistory(fixture());
    const whole = await readFile(transcript, "utf8");
    await truncate(transcript, Buffer.byteLength(whole) - bytes);
    const torn = whole.slice(whole.lastIndexOf("\n", whole.length - 2) + 1, whole.length - bytes);

    const gateway = await fixture().start();
    await fixture().goesOn();
    const messages = await readTranscript(transcript);
    const said = messages.map(textOf).join("\n");
    expect(said).toContain("first of all");
    expect(said).toContain("and now?");
    if (bytes === 1) return;
    const asides = (await readdir(fixture().sessionsDir)).filter((name) =>
      name.startsWith(`${basename(transcript)}.torn.`),
    );
    expect(asides).toHaveLength(1);
    expect(await readFile(join(fixture().sessionsDir, asides[0] ?? ""), "utf8")).toBe(torn);
    expect(linesOf(gateway, "transcript ended in a torn line; cut off and kept")).toHaveLength(1);
  },
);

test("an unreadable sessions.json is set aside and reported; the conversations continue", async () => {
  const { transcript } = await withHistory(fixture());
  const path = join(fixture().sessionsDir, "sessions.json");
  await writeFile(path, '{"agent:main:main": {"sessionId": "');

  const gateway = await fixture().start();
  await fixture().goesOn();
  const [line] = linesOf(gateway, "sessions.json could not be read; set aside and made anew from the journal");
  expect(line).toMatchObject({ code: "SESSIONS_UNREADABLE" });
  expect(await readFile(String(line?.["aside"]), "utf8")).toBe('{"agent:main:main": {"sessionId": "');
  expect(await fixture().transcripts()).toEqual([transcript]);
  expect((await readTranscript(transcript)).map(textOf).join("\n")).toContain("first of all");

  await gateway.kill();
  await fixture().home.writeConfig(walkConfig(fixture().telegram, { url: "http://127.0.0.1:9/v1" }));
  const doctor = await openclaw(fixture(), "doctor", "--json", "--non-interactive");
  expect(doctor.stdout).toContain(basename(String(line?.["aside"])));

  await fixture().config({});
  await writeFile(path, "again garbage");
  const second = await fixture().start();
  await fixture().goesOn("once more");
  await second.kill();
  const asides = (await readdir(fixture().sessionsDir)).filter((name) => name.startsWith("sessions.json.broken."));
  expect(asides).toHaveLength(2);
});

test("a journal that is no database stops the start with code 78 and stays as it is", async () => {
  await mkdir(join(fixture().home.stateDir, "state"), { recursive: true });
  const path = join(fixture().home.stateDir, "state", "journal.sqlite");
  const garbage = "this was a database once ".repeat(400);
  await writeFile(path, garbage);
  const { code, stdout, stderr } = await openclaw(fixture(), "gateway", "run");
  expect(code).toBe(78);
  expect(stdout + stderr).toContain(path);
  expect(stdout + stderr).toContain("JOURNAL_BROKEN");
  expect(await readFile(path, "utf8")).toBe(garbage);
});

test.each([
  ["newer", 99, "JOURNAL_NEWER"],
  ["development", 17, "JOURNAL_OLDER"],
])(
  "a journal of a %s version is refused, and it and the sessions stay as they are",
  async (_name, version, problem) => {
    await withHistory(fixture());
    const path = join(fixture().home.stateDir, "state", "journal.sqlite");
    const db = new DatabaseSync(path);
    const isChanged = "DELETE FROM kept WHERE key = 'schema:opens-from'";
    db.exec(`${isChanged}; PRAGMA user_version = ${version}; PRAGMA wal_checkpoint(TRUNCATE)`);
    db.close();
    const names = (await readdir(fixture().sessionsDir)).toSorted();
    const contents = () =>
      Promise.all(
        [path, ...names.map((name) => join(fixture().sessionsDir, name))].map((file) => readFile(file, "hex")),
      );
    const before = await contents();
    const { code, stdout, stderr } = await openclaw(fixture(), "gateway", "run");
    expect(code).toBe(78);
    expect(stdout + stderr).toContain(problem);
    expect(stdout + stderr).toContain(`has schema ${version}`);
    expect(stdout + stderr).toContain("OPENCLAW_STATE_DIR");
    expect((await openclaw(fixture(), "doctor")).stdout).toContain(`has schema ${version}`);
    expect(await contents()).toEqual(before);
    expect((await readdir(fixture().sessionsDir)).toSorted()).toEqual(names);
  },
);

test.each([
  ["a dead process", { pid: 2 ** 22 - 1, startedAt: "12345" }],
  ["another process that has its id now", { pid: process.pid, startedAt: "1" }],
])("the lock of %s is taken over", async (_name, held) => {
  const path = join(fixture().home.stateDir, "state", "gateway.lock");
  await mkdir(join(fixture().home.stateDir, "state"), { recursive: true });
  await writeFile(path, JSON.stringify({ ...held, command: "openclaw gateway run" }));
  const gateway = await fixture().start();
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ pid: gateway.pid });
  await fixture().goesOn();
});

test("a second daemon names the first and how to stop it", async () => {
  const first = await fixture().start();
  const { code, stdout, stderr } = await openclaw(fixture(), "gateway", "run");
  expect(code).toBe(78);
  expect(stdout + stderr).toContain(String(first.pid));
  expect(stdout + stderr).toContain("gateway stop");
  await fixture().goesOn();
});

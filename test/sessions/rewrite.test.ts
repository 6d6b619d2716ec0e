import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import { afterEach, beforeEach, expect, it } from "vitest";
import { rewriteEntries } from "../../src/sessions/transcript/rewrite.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Session, Sessions } from "../../src/types/session.ts";
import { tableOf } from "../kit/store/session-table.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, assistant, say, texts, user } from "../kit/store/transcript-file.ts";
import { recordLog } from "../kit/log.ts";

let place: StateDir;
let sessions: Sessions;
let session: Session;
let ids: string[];

beforeEach(async () => {
  place = await openStateDir();
  const dir = join(place.dir, "sessions");
  const options = {
    dir,
    table: await tableOf(dir),
    cwdFor: () => dir,
    log: recordLog(),
    defaultAgent: agentId("main"),
  };
  sessions = await openSessions(options);
  session = await sessions.acquire(sessionKey("agent:main:main"));
  ids = [];
  for (const said of [say("one"), answer("a long first answer"), say("two"), answer("second")])
    ids.push(await session.append(said, { durable: true }));
});
afterEach(async () => {
  session.release();
  await sessions.close();
  await place.remove();
});

const idAt = (at: number): string => ids[at] ?? "none";
const shown = async () => texts(await session.window(ALL));

it("replaces a message for the models to come, and leaves what was written in the file", async () => {
  const before = await readFile(session.file, "utf8");
  const done = await rewriteEntries(session, { replacements: [{ entryId: idAt(1), message: assistant("short") }] });
  expect(done).toMatchObject({ changed: true, rewrittenEntries: 1 });
  expect(done.bytesFreed).toBe("a long first answer".length - "short".length);
  expect(await shown()).toEqual(["one", "short", "two", "second"]);
  expect((await readFile(session.file, "utf8")).startsWith(before)).toBe(true);
  const theirs = SessionManager.open(session.file, place.dir).buildSessionContext().messages;
  expect(JSON.stringify(theirs)).not.toContain("a long first answer");
  expect(theirs).toHaveLength(4);
});

it("replaces several at once, and counts those that it found", async () => {
  const replacements = [
    { entryId: idAt(3), message: assistant("2nd") },
    { entryId: idAt(0), message: user("1") },
    { entryId: "nobody", message: user("x") },
  ];
  expect(await rewriteEntries(session, { replacements })).toMatchObject({ changed: true, rewrittenEntries: 2 });
  expect(await shown()).toEqual(["1", "a long first answer", "two", "2nd"]);
});

it("changes nothing when something came in between, or nothing is found", async () => {
  const before = await readFile(session.file, "utf8");
  const replacements = [{ entryId: idAt(1), message: assistant("short") }];
  const late = await rewriteEntries(session, { replacements, allowedRewriteSuffixEntryIds: [idAt(2)] });
  expect(late).toMatchObject({ changed: false, reason: expect.stringContaining(idAt(3)) });
  const lost = await rewriteEntries(session, { replacements: [{ entryId: "nobody", message: user("x") }] });
  expect(lost).toMatchObject({ changed: false, rewrittenEntries: 0 });
  expect(await readFile(session.file, "utf8")).toBe(before);
});

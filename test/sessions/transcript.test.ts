import { appendFile, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Transcript } from "../../src/sessions/transcript/transcript.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, assistant, openFile, say, texts, user } from "../kit/store/transcript-file.ts";
import { recordLog } from "../kit/log.ts";
import { countSyncs } from "../kit/store/synced-files.ts";

let dir: string;
let path: string;
let remove: StateDir["remove"];
const opened: Transcript[] = [];

async function open(log = recordLog(), at = path): Promise<Transcript> {
  const transcript = await openFile(at, log);
  opened.push(transcript);
  return transcript;
}
const piContext = (file: string) => SessionManager.open(file, dir).buildSessionContext();

beforeEach(async () => {
  ({ dir, remove } = await openStateDir());
  path = join(dir, "s1.jsonl");
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((transcript) => transcript.close()));
  await remove();
});

describe("a transcript", () => {
  it("begins with its header and has the user's turn on disk at once", async () => {
    const transcript = await open();
    expect(transcript.hasMessage).toBe(false);
    expect(await readdir(dir)).toEqual([]);
    const id = await transcript.append(say("hello"), { durable: true });
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    const [header, line] = (await readFile(path, "utf8")).split("\n");
    expect(JSON.parse(header ?? "")).toMatchObject({ type: "session", version: 3, id: "s1", cwd: "/tmp" });
    expect(JSON.parse(line ?? "")).toMatchObject({ type: "message", id, parentId: null, message: user("hello") });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(transcript.hasMessage).toBe(true);
  });

  it.runIf(process.platform === "linux")("is synced when it is asked to be, and only if something is not", async () => {
    const syncs = await countSyncs();
    const transcript = await open();
    await transcript.sync();
    await transcript.append(say("a"));
    expect(syncs?.of(path)).toBe(0);
    await Promise.all([transcript.sync(), transcript.sync()]);
    expect(syncs?.of(path)).toBe(1);
    await transcript.append(say("b"));
    await transcript.append(answer("c"), { durable: true });
    await transcript.sync();
    expect(syncs?.of(path)).toBe(2);
    syncs?.stop();
  });

  it("keeps the order of calls that nobody waited for", async () => {
    const transcript = await open();
    await Promise.all([
      transcript.append(say("a")),
      transcript.append(answer("b"), { durable: true }),
      transcript.append(say("c")),
    ]);
    expect(texts(await transcript.window(ALL))).toEqual(["a", "b", "c"]);
    expect(texts(await (await open()).window(ALL))).toEqual(["a", "b", "c"]);
    expect(piContext(path).messages).toEqual([user("a"), assistant("b"), user("c")]);
  });

  it("returns what came after an entry", async () => {
    const transcript = await open();
    const first = await transcript.append(say("a"), { id: "turn-1" });
    await transcript.append(answer("b"));
    expect(first).toBe("turn-1");
    const reopened = await open();
    expect((await reopened.after("turn-1"))?.map((entry) => entry.type)).toEqual(["message"]);
    expect(await reopened.after("nowhere")).toBeUndefined();
    expect(await reopened.after(reopened.leafId ?? "")).toEqual([]);
  });

  it("keeps the newest turns that fit, cut at a user turn", async () => {
    const transcript = await open();
    for (let turn = 0; turn < 10; turn += 1) {
      await transcript.append(say(`q${turn}`.padEnd(400, ".")));
      await transcript.append(answer(`a${turn}`.padEnd(400, ".")));
    }
    for (const [max, first, count] of [
      [ALL, "q0", 20],
      [750, "q7", 6],
      [6 * 112, "q7", 6],
      [6 * 112 - 1, "q8", 4],
      [10, "q9", 2],
      [12 * 112, "q4", 12],
    ] as const) {
      for (const one of [transcript, await open()]) {
        const window = await one.window(max);
        expect(window.messages).toHaveLength(count);
        expect(texts(window)[0]).toContain(first);
        expect(window).toMatchObject({ estimatedTokens: count * 112, older: count < 20 });
      }
    }
  });

  it("keeps the window's start for many turns once it is full", async () => {
    const transcript = await open();
    const starts = new Set<string | undefined>();
    for (let turn = 0; turn < 60; turn += 1) {
      await transcript.append(say(`q${turn}`.padEnd(400, ".")));
      await transcript.append(answer(`a${turn}`.padEnd(400, ".")));
      const window = await transcript.window(4000);
      expect(window.estimatedTokens).toBeLessThanOrEqual(4000);
      if (turn > 20) expect(window.estimatedTokens).toBeGreaterThanOrEqual(2800);
      starts.add(texts(window)[0]);
    }
    expect(starts.size).toBeLessThan(12);
  });

  it("begins at the last compaction's first kept entry, with its summary", async () => {
    const transcript = await open();
    await transcript.append(say("old"));
    const kept = await transcript.append(say("kept"));
    await transcript.append(answer("kept too"));
    await transcript.append({ type: "compaction", summary: "what was", firstKeptEntryId: kept, tokensBefore: 9 });
    expect(await transcript.window(ALL)).toMatchObject({ summary: "what was", older: false });
    await transcript.append(say("new"));
    for (const one of [transcript, await open()]) {
      const window = await one.window(ALL);
      expect(texts(window)).toEqual(["kept", "kept too", "new"]);
      expect(window.summary).toBe("what was");
    }
    expect(piContext(path).messages.slice(1)).toEqual([user("kept"), assistant("kept too"), user("new")]);
  });

  it("is opened again by its owner when another program wrote to it", async () => {
    const transcript = await open();
    await transcript.append(say("a"));
    expect(await transcript.isCurrent()).toBe(true);
    await appendFile(path, "\n");
    expect(await transcript.isCurrent()).toBe(false);
  });

  it("removes what a full disk cut short, and continues when there is space", async () => {
    const full = await open(recordLog(), "/dev/full");
    await expect(full.append(say("a"), { durable: true })).rejects.toMatchObject({ code: "DISK_FULL" });
    expect(full.leafId).toBeNull();
    await expect(full.append(say("b"))).rejects.toMatchObject({ code: expect.stringMatching(/^DISK_/) });
  });
});

describe("the pi session manager", () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("say" as const), text: fc.string({ unit: "grapheme" }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("answer" as const), text: fc.string() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("branch" as const), at: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), at: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("note" as const), text: fc.string() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("reopen" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("look" as const), max: fc.nat(60) }) },
  );

  it(
    "reads the same branch after any sequence of appends, branches, compactions and reopenings",
    { timeout: 120_000 },
    async () => {
      let number = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          number += 1;
          const file = join(dir, `p${number}.jsonl`);
          let transcript = await openFile(file);
          const ids: string[] = [await transcript.append(say("first"))];
          for (const one of steps) {
            const at = "at" in one ? (ids[one.at % ids.length] ?? "") : "";
            if (one.do === "say") ids.push(await transcript.append(say(one.text)));
            if (one.do === "answer") ids.push(await transcript.append(answer(one.text), { durable: true }));
            if (one.do === "note")
              ids.push(await transcript.append({ type: "custom", customType: "x", data: one.text }));
            if (one.do === "compact") {
              ids.push(
                await transcript.append({ type: "compaction", summary: "sum", firstKeptEntryId: at, tokensBefore: 1 }),
              );
            }
            if (one.do === "branch") {
              transcript.branch(at);
              ids.push(await transcript.append(say("from a branch")));
            }
            if (one.do === "look") await transcript.window(one.max);
            if (one.do !== "reopen") continue;
            await transcript.close();
            transcript = await openFile(file);
          }
          const ours = await transcript.window(ALL);
          const again = await openFile(file);
          const reread = await again.window(ALL);
          await Promise.all([transcript.close(), again.close()]);
          const theirs = piContext(file).messages.filter((message) => message.role !== "compactionSummary");
          expect(ours.messages.map(({ message }) => message)).toEqual(theirs);
          expect(reread).toEqual(ours);
          expect(SessionManager.open(file, dir).getLeafId()).toBe(transcript.leafId);
        }),
        { numRuns: 60 },
      );
    },
  );

  it("continues where we stopped, and we where it stopped", async () => {
    const transcript = await open();
    await transcript.append(say("ours"), { durable: true });
    await transcript.append(answer("yes"));
    const manager = SessionManager.open(path, dir);
    manager.appendMessage({ role: "user", content: "theirs", timestamp: 3 });
    expect(texts(await (await open()).window(ALL))).toEqual(["ours", "yes", "theirs"]);
    manager.appendCustomMessageEntry("hook", "told", true);
    expect(texts(await (await open()).window(ALL)).at(-1)).toBe("told");
  });
});

describe("a damaged transcript", () => {
  async function sample(): Promise<{ whole: string; lines: string[] }> {
    const transcript = await open();
    for (const text of ["one", "zwei ä 你好", "three"]) await transcript.append(say(text), { durable: true });
    const whole = await readFile(path, "utf8");
    return { whole, lines: whole.trimEnd().split("\n") };
  }

  it("loses nothing but the incomplete line, wherever it was cut", async () => {
    const { whole, lines } = await sample();
    const bytes = Buffer.from(whole);
    const lineEnds = [...bytes.entries()].flatMap(([at, byte]) => (byte === 10 ? [at] : []));
    const from = lineEnds[lines.length - 3] ?? 0;
    for (let length = from + 1; length < bytes.length; length += 1) {
      const file = join(dir, `cut${length}.jsonl`);
      await writeFile(file, bytes.subarray(0, length));
      const log = recordLog();
      const transcript = await openFile(file, log);
      // A line is whole when all of it but the newline is there.
      const expected = ["one", "zwei ä 你好", "three"].slice(0, lineEnds.filter((at) => at <= length).length - 1);
      expect(texts(await transcript.window(ALL))).toEqual(expected);
      await transcript.append(say("next"), { durable: true });
      await transcript.close();
      expect(piContext(file).messages).toEqual([...expected, "next"].map(user));
      const atBoundary = lineEnds.includes(length) || lineEnds.includes(length - 1);
      expect(log.lines).toHaveLength(atBoundary ? 0 : 1);
    }
    const torn = (await readdir(dir)).filter((name) => name.includes(".torn."));
    expect(torn.length).toBeGreaterThan(100);
  });

  it("passes over a bad line in the middle and says so", async () => {
    const { lines } = await sample();
    await writeFile(path, `${[...lines.slice(0, 3), "{broken", ...lines.slice(3)].join("\n")}\n`);
    const log = recordLog();
    expect(texts(await (await open(log)).window(ALL))).toEqual(["one", "zwei ä 你好", "three"]);
    expect(log.lines).toEqual([expect.stringContaining("warn part of a transcript cannot be read")]);
  });

  it("cuts off zeros that a power cut left", async () => {
    const { whole } = await sample();
    await writeFile(path, Buffer.concat([Buffer.from(whole), Buffer.alloc(5000)]));
    expect(texts(await (await open()).window(ALL))).toHaveLength(3);
    expect(await readFile(path, "utf8")).toBe(whole);
  });

  it("without a header continues with its entries, and is left as it is", async () => {
    const { whole } = await sample();
    await writeFile(path, `###${whole}`);
    const log = recordLog();
    const transcript = await open(log);
    expect(texts(await transcript.window(ALL))).toEqual(["one", "zwei ä 你好", "three"]);
    await transcript.append(say("next"), { durable: true });
    expect((await readFile(path, "utf8")).startsWith(`###${whole}`)).toBe(true);
    expect(await readdir(dir)).toEqual(["s1.jsonl"]);
    expect(log.lines).toEqual([expect.stringContaining("warn transcript has no readable header")]);
  });

  it("in which nothing can be read is set aside, never overwritten", async () => {
    const damaged = "### nothing of this can be read\n{torn\n";
    await writeFile(path, damaged);
    const log = recordLog();
    const transcript = await open(log);
    await transcript.append(say("fresh"), { durable: true });
    const aside = (await readdir(dir)).find((name) => name.startsWith("s1.jsonl.broken."));
    expect(await readFile(join(dir, aside ?? ""), "utf8")).toBe(damaged);
    expect(piContext(path).messages).toEqual([user("fresh")]);
    expect(log.lines).toEqual([expect.stringContaining("error transcript has no readable header")]);
  });

  it("of a newer version is refused and left alone", async () => {
    const { whole } = await sample();
    await writeFile(path, whole.replace('"version":3', '"version":4'));
    await expect(open()).rejects.toMatchObject({ code: "TRANSCRIPT_NEWER" });
    expect(await readdir(dir)).toEqual(["s1.jsonl"]);
  });
});

describe("an older transcript", () => {
  const line = (fields: object) => JSON.stringify(fields);
  const header = { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/tmp" };
  const at = { timestamp: "2025-01-01T00:00:00.000Z" };

  it.each([
    [
      1,
      [
        line(header),
        line({ type: "message", ...at, message: user("gone") }),
        line({ type: "message", ...at, message: user("kept") }),
        line({ type: "compaction", ...at, summary: "sum", firstKeptEntryIndex: 2, tokensBefore: 5 }),
        line({ type: "message", ...at, message: assistant("end") }),
      ],
    ],
    [
      2,
      [
        line({ ...header, version: 2 }),
        line({ type: "message", id: "a", parentId: null, ...at, message: user("kept") }),
        line({ type: "message", id: "b", parentId: "a", ...at, message: assistant("end") }),
      ],
    ],
  ])("of version %i is migrated, the old file kept", async (version, lines) => {
    const old = `${lines.join("\n")}\n`;
    await writeFile(path, old);
    const transcript = await open();
    expect(texts(await transcript.window(ALL))).toEqual(["kept", "end"]);
    expect(await readFile(`${path}.v${version}.bak`, "utf8")).toBe(old);
    const ours = piContext(path).messages;
    await rename(`${path}.v${version}.bak`, join(dir, "theirs.jsonl"));
    expect(ours).toEqual(piContext(join(dir, "theirs.jsonl")).messages);
  });

  it("shows a hook's message of version 2 to the model", async () => {
    const message = { role: "hookMessage", customType: "x", content: "from a hook", display: true, timestamp: 1 };
    await writeFile(
      path,
      `${line({ ...header, version: 2 })}\n${line({ type: "message", id: "a", parentId: null, ...at, message })}\n`,
    );
    expect(texts(await (await open()).window(ALL))).toEqual(["from a hook"]);
  });
});

describe("a long transcript", () => {
  async function long(messages: number): Promise<void> {
    const lines = [
      JSON.stringify({ type: "session", version: 3, id: "s1", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/tmp" }),
    ];
    for (let at = 0; at < messages; at += 1) {
      const message = at % 2 === 0 ? user(`line ${at} `.padEnd(400, "x")) : assistant(`line ${at} `.padEnd(400, "x"));
      lines.push(
        JSON.stringify({
          type: "message",
          id: `e${at}`,
          parentId: at === 0 ? null : `e${at - 1}`,
          timestamp: "2025-01-01T00:00:00.000Z",
          message,
        }),
      );
    }
    await writeFile(path, `${lines.join("\n")}\n`);
  }

  it("is read no further back than its window", async () => {
    await long(50_000);
    const { size } = await stat(path);
    const transcript = await open();
    expect(transcript.bytesRead).toBeLessThan(200_000);
    const window = await transcript.window(200_000);
    expect(window.older).toBe(true);
    expect(window.messages).toHaveLength(1784);
    expect(transcript.bytesRead).toBeLessThan(size / 15);
    const before = transcript.bytesRead;
    for (let turn = 0; turn < 20; turn += 1) {
      await transcript.append(say(`turn ${turn}`));
      await transcript.append(answer("ok"));
      await transcript.window(200_000);
    }
    expect(transcript.bytesRead).toBe(before);
  });

  it("keeps only its window in memory, and reads back what it forgot", async () => {
    const transcript = await open();
    const all: string[] = [];
    for (let at = 0; at < 12_000; at += 1) {
      all.push(`m${at}`);
      const written = transcript.append(at % 2 === 0 ? say(`m${at}`) : answer(`m${at}`));
      if (at % 500 === 499) {
        await written;
        await transcript.window(100);
      }
    }
    expect(texts(await transcript.window(100)).at(-1)).toBe("m11999");
    const before = transcript.bytesRead;
    expect(texts(await transcript.window(ALL))).toEqual(all);
    expect(transcript.bytesRead).toBeGreaterThan(before);
  });
});

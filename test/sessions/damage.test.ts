import { appendFileSync, truncateSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checks } from "../../src/sessions/checks.ts";
import { readHistory } from "../../src/sessions/transcript/history.ts";
import { readBackTo } from "../../src/sessions/transcript/read-back.ts";
import type { Transcript } from "../../src/sessions/transcript/transcript.ts";
import { applyPasses } from "../../src/history/passes.ts";
import { policyFor } from "../../src/providers/quirks.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import type { TranscriptEntry } from "../../src/types/session.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, openFile, say, texts } from "../kit/store/transcript-file.ts";
import { recordLog } from "../kit/log.ts";

let dir: string;
let remove: StateDir["remove"];
let path: string;
beforeEach(async () => {
  ({ dir, remove } = await openStateDir());
  path = join(dir, "s1.jsonl");
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((transcript) => transcript.close()));
  await remove();
});

const opened: Transcript[] = [];
async function open(log = recordLog()): Promise<Transcript> {
  const transcript = await openFile(path, log);
  opened.push(transcript);
  return transcript;
}

/** Eight turns, of which two were taken back and stay beside the branch. */
async function sample() {
  const transcript = await open();
  for (let turn = 0; turn < 8; turn += 1) {
    const before = transcript.leafId;
    await transcript.append(say(`q${turn}`));
    if (turn === 2 || turn === 5) {
      transcript.branch(before);
      await transcript.append({ type: "custom", customType: "openclaw.left_turn", data: {} });
      continue;
    }
    await transcript.append(answer(`a${turn}`), { durable: true });
  }
  await transcript.close();
  const whole = await readFile(path);
  const branch = [0, 1, 3, 4, 6, 7].flatMap((turn) => [`q${turn}`, `a${turn}`]);
  return { whole, branch, lines: whole.toString().trimEnd().split("\n") };
}

/** What doctor says of the transcript. */
async function doctor(): Promise<readonly string[] | undefined> {
  await writeFile(
    join(dir, "sessions.json"),
    JSON.stringify({ "web:main": { sessionId: "s1", updatedAt: 1, sessionFile: path } }),
  );
  const check = checks({ dir, journal: join(dir, "none.sqlite") }).find(({ id }) => id === "sessions.transcripts");
  return (await check?.run(new AbortController().signal))?.map(({ status, message }) => `${status} ${message}`);
}

const isSubsequence = (some: readonly string[], all: readonly string[]): boolean => {
  let at = 0;
  for (const one of all) if (one === some[at]) at += 1;
  return at === some.length;
};

const textsOf = (entries: readonly TranscriptEntry[]): readonly string[] =>
  entries.flatMap((entry) => {
    if (entry.type !== "message") return [];
    const { content } = entry.message;
    if (typeof content === "string") return [content];
    return [content.map((part) => (part.type === "text" ? part.text : "")).join("")];
  });

/** What may become of one line. `where` is a part of its length. */
const HARMS = {
  "cut short": (line: Buffer, where: number) => line.subarray(0, Math.floor(line.length * where)),
  "with a flipped bit": (line: Buffer, where: number) => {
    const harmed = Buffer.from(line);
    const at = Math.floor((line.length - 1) * where);
    harmed[at] = (harmed[at] ?? 0) ^ 2;
    return harmed;
  },
  blanked: (line: Buffer) => Buffer.alloc(line.length, " "),
  "full of zeros": (line: Buffer) => Buffer.alloc(line.length),
  gone: () => Buffer.alloc(0),
} as const;

describe("a transcript with one damaged line", () => {
  it("shows every other message of its branch, to the model and to people", async () => {
    const { branch, lines } = await sample();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: lines.length - 1 }),
        fc.constantFrom(...(Object.keys(HARMS) as (keyof typeof HARMS)[])),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        async (at, harm, where) => {
          const harmed = lines.map((line, one) =>
            one === at ? HARMS[harm](Buffer.from(line), where) : Buffer.from(line),
          );
          const bytes = Buffer.concat(harmed.flatMap((line) => [line, Buffer.from("\n")]));
          await writeFile(path, bytes);
          const [own = ""] = branch.filter((words) => lines[at]?.includes(`"${words}"`));
          const others = branch.filter((words) => words !== own);
          const page = await readHistory(path, 1000);
          expect(isSubsequence(others, textsOf(page.entries))).toBe(true);
          const transcript = await open();
          expect(isSubsequence(others, texts(await transcript.window(ALL)))).toBe(true);
          await transcript.append(say("next"), { durable: true });
          await transcript.close();
          const again = await open();
          expect(isSubsequence([...others, "next"], texts(await again.window(ALL)))).toBe(true);
          await again.close();
          // A torn end is kept beside the file; what is in the middle is never touched.
          if (at < lines.length - 1) expect((await readFile(path)).subarray(0, bytes.length)).toEqual(bytes);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("shows both entries of a line whose newline is gone", async () => {
    const { branch, lines } = await sample();
    for (const joint of ["", "x"])
      for (let at = 1; at < lines.length - 1; at += 1) {
        const joined = [...lines.slice(0, at), `${lines[at]}${joint}${lines[at + 1]}`, ...lines.slice(at + 2)];
        await writeFile(path, `${joined.join("\n")}\n`);
        const transcript = await open();
        // A window of its own for each size: the file is read on from every place.
        for (const tokens of [1, 5, ALL]) await transcript.window(tokens);
        expect(texts(await transcript.window(ALL))).toEqual(branch);
        await transcript.close();
      }
  });

  it("keeps what a summary left, when the line that it is kept from is the damaged one", async () => {
    const transcript = await open();
    for (const words of ["old", "kept 1"]) await transcript.append(say(words));
    const kept = await transcript.append(say("kept from here"));
    await transcript.append(answer("kept 2"));
    await transcript.append({ type: "compaction", summary: "sum", firstKeptEntryId: kept, tokensBefore: 9 });
    await transcript.append(say("new"), { durable: true });
    const lines = (await readFile(path, "utf8")).split("\n");
    await writeFile(path, lines.map((line) => (line.includes('kept from here"') ? "" : line)).join("\n"));
    const window = await (await open()).window(ALL);
    expect(texts(window)).toEqual(["kept 2", "new"]);
    expect(window.summary).toBe("sum");
  });

  it("says so in the log and in doctor, and a whole one does not", async () => {
    const { lines } = await sample();
    expect(await doctor()).toEqual(["ok 1 of 1 transcripts looked at, all readable."]);
    await writeFile(path, `${lines.map((line, at) => (at === 6 ? "{torn" : line)).join("\n")}\n`);
    expect(await doctor()).toEqual([expect.stringMatching(/^warn .*: line 7 cannot be read; .*the rest is used/)]);
    const log = recordLog();
    const transcript = await open(log);
    await transcript.window(ALL);
    await transcript.window(ALL);
    expect(transcript.damagedPlaces).toBeGreaterThan(0);
    expect(log.lines).toEqual([expect.stringContaining("warn part of a transcript cannot be read")]);
  });

  it("is found again as a run saw it", async () => {
    const { branch, lines } = await sample();
    const ids = lines.map((line): string => JSON.parse(line).id);
    await writeFile(path, `${lines.map((line, at) => (at === 6 ? "" : line)).join("\n")}\n`);
    const stretch = { firstId: ids[1] ?? "", lastId: ids.at(-1) ?? "", hasSummary: false };
    const found = await readBackTo(path, stretch);
    const [own] = branch.filter((words) => lines[6]?.includes(`"${words}"`));
    expect(
      isSubsequence(
        branch.filter((words) => words !== own),
        textsOf(found ?? []),
      ),
    ).toBe(true);
    const known = new Set(found?.map(({ id }) => id));
    expect(found?.slice(1).every(({ parentId }) => parentId !== null && known.has(parentId))).toBe(true);
  });
});

/** What an editor or a person may do to a file without taking anything out of it. */
const EDITS: Readonly<Record<string, (lines: readonly string[]) => string>> = {
  "formatted by a program": (lines) => lines.map((line) => `${formatted(line, 2)}\n`).join(""),
  "formatted with tabs and the line ends of Windows": (lines) =>
    `\uFEFF${lines.map((line) => `${formatted(line, "\t")}\n`).join("")}`.replaceAll("\n", "\r\n"),
  "made a list": (lines) => `[${lines.join(",\n")}]`,
  "made a list and formatted": (lines) => formatted(`[${lines.join(",")}]`, 2),
  "with a comma after each line": (lines) => lines.map((line) => `${line},\n`).join(""),
  "with a comma after each last value": (lines) =>
    lines.map((line) => `${line.replaceAll(/(?=[}\]])/g, " , ").replaceAll(/(?<=[{[]) , (?=[}\]])/g, "")}\n`).join(""),
  "with its lines in the wrong order": ([header = "", ...lines]) =>
    `${[header, ...lines.slice(0, -1).toReversed(), ...lines.slice(-1)].join("\n")}\n`,
};

const formatted = (line: string, indent: number | string): string => JSON.stringify(JSON.parse(line), null, indent);

describe("a transcript that a person edited", () => {
  /** What of the branch is missing after the edit, at any size of the window, or of the file. */
  async function lostBy(text: string): Promise<readonly string[]> {
    const { branch } = await sample();
    await writeFile(path, text);
    const page = textsOf((await readHistory(path, 1000)).entries);
    const transcript = await open();
    for (const tokens of [1, 5, 10, ALL]) await transcript.window(tokens);
    const window = texts(await transcript.window(ALL));
    await transcript.append(say("next"), { durable: true });
    await transcript.close();
    const again = await open();
    const later = texts(await again.window(ALL));
    await again.close();
    const isKept = (await readFile(path, "utf8")).includes(text.trim().replace(/\s*\]$/, ""));
    return [
      ...(page.join() === branch.join() ? [] : [`the page shows ${page.join()}`]),
      ...(window.join() === branch.join() ? [] : [`the model sees ${window.join()}`]),
      ...(later.join() === [...branch, "next"].join() ? [] : [`the model sees later ${later.join()}`]),
      ...(isKept ? [] : ["the file is another one"]),
    ];
  }

  it.each(Object.entries(EDITS))("%s shows all of it", async (_, edit) => {
    const { lines } = await sample();
    expect(await lostBy(edit(lines))).toEqual([]);
    expect(await lostBy(edit(lines).trimEnd())).toEqual([]);
  });

  it("in one entry shows all of it", async () => {
    const { lines } = await sample();
    for (const at of lines.keys()) {
      const text = lines.map((line, one) => `${one === at ? formatted(line, 4) : line}\n`).join("");
      expect(await lostBy(text), `line ${at}`).toEqual([]);
    }
  });

  it("with two lines exchanged, or one moved up, shows all of it", async () => {
    const { lines } = await sample();
    for (let at = 2; at < lines.length; at += 1)
      for (const to of [1, at - 1]) {
        const moved = [...lines.slice(0, to), lines[at] ?? "", ...lines.slice(to, at), ...lines.slice(at + 1)];
        // The last one that is moved far away leaves nothing that says that it was the last.
        if (at === lines.length - 1 && to === 1) continue;
        expect(await lostBy(`${moved.join("\n")}\n`), `line ${at} to ${to}`).toEqual([]);
      }
  });

  it("so that entries hang under each other is read to its end", async () => {
    const { lines } = await sample();
    const entries: Record<string, unknown>[] = lines.map((line) => JSON.parse(line));
    for (const [at, entry] of entries.entries()) {
      if (at === 0) continue;
      const ring = entries.map((one) =>
        JSON.stringify(one === entry ? { ...one, parentId: entries.at(-1)?.["id"] } : one),
      );
      await writeFile(path, `${ring.join("\n")}\n`);
      await readHistory(path, 1000);
      const transcript = await open();
      for (const tokens of [1, 5, 10, ALL]) await transcript.window(tokens);
      await transcript.append(say("next"), { durable: true });
      expect(texts(await transcript.window(ALL)).at(-1)).toBe("next");
      await transcript.close();
    }
  });
});

describe("a transcript that another program wrote", () => {
  const header = { type: "session", version: 3, id: "s1", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/tmp" };
  const write = (...lines: readonly object[]) =>
    writeFile(path, [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));

  it("without ids is read in the order of its lines", async () => {
    await write(
      { type: "message", message: { role: "user", content: "hello", timestamp: 1 } },
      { type: "message", message: { role: "assistant", content: [{ type: "text", text: "hi" }], timestamp: 2 } },
      { type: "message", message: { role: "user", content: "how are you?", timestamp: 3 } },
    );
    const transcript = await open();
    expect(texts(await transcript.window(ALL))).toEqual(["hello", "hi", "how are you?"]);
    await transcript.append(answer("fine"), { durable: true });
    const again = await open();
    expect(texts(await again.window(ALL))).toEqual(["hello", "hi", "how are you?", "fine"]);
    expect(again.damagedPlaces).toBe(0);
    expect(textsOf((await readHistory(path, 10)).entries)).toHaveLength(4);
  });

  it("with answers and results in one string is read, and what cannot be is named", async () => {
    const entry = (id: string, parentId: string | null, message: object) => ({
      type: "message",
      id,
      parentId,
      message,
    });
    await write(
      entry("a", null, { role: "user", content: "look", timestamp: 1 }),
      entry("b", "a", { role: "assistant", content: "I looked.", timestamp: 2 }),
      entry("c", "b", { role: "toolResult", toolCallId: "1", toolName: "x", content: "found", timestamp: 3 }),
      entry("d", "c", { role: "tool", toolCallId: "2", toolName: "x", content: "more", timestamp: 4 }),
      entry("e", "d", { role: "user", content: [{ type: "text" }, { type: "text", text: "and now?" }], timestamp: 5 }),
      entry("f", "e", { role: "critic", content: "no such role", timestamp: 6 }),
      entry("g", "f", { role: "user", content: "the end", timestamp: 7 }),
    );
    const log = recordLog();
    const transcript = await open(log);
    expect(texts(await transcript.window(ALL))).toEqual(["look", "I looked.", "found", "more", "and now?", "the end"]);
    expect(transcript.damagedPlaces).toBe(2);
    expect(log.lines).toHaveLength(1);
  });
});

describe("a transcript with values of another type", () => {
  const entry = (id: string, parentId: string | null, message: object) => ({ type: "message", id, parentId, message });
  const result = (id: string, parentId: string, more: object) =>
    entry(id, parentId, { role: "toolResult", toolName: "read", content: [], isError: false, timestamp: 3, ...more });
  const call = (more: object) => ({ type: "toolCall", name: "read", arguments: {}, ...more });
  const open3 = async (...entries: readonly object[]) => {
    const header = { type: "session", version: 3, id: "s1", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/tmp" };
    await writeFile(path, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
    return (await (await open()).window(ALL)).messages.map(({ message }) => message);
  };

  it("is read with the right ones, and doctor names its lines without calling it broken", async () => {
    const messages = await open3(
      entry("a", null, {
        role: "user",
        content: [
          { type: "text", text: 5 },
          { type: "image", data: null },
        ],
        timestamp: 1,
      }),
      entry("b", "a", {
        role: "assistant",
        content: [call({ id: 7, arguments: null })],
        usage: 3,
        timestamp: "no time",
      }),
      result("c", "b", { toolCallId: 7, isError: null }),
      entry("d", "c", { role: "assistant", content: [{ type: "text", text: "fine" }], timestamp: 2 }),
    );
    expect(messages).toMatchObject([
      {
        content: [
          { type: "text", text: "5" },
          { type: "text", text: "[image: its data is missing]" },
        ],
      },
      { usage: emptyUsage(), stopReason: "toolUse", timestamp: 0 },
      { toolCallId: "7", isError: false },
      { content: [{ type: "text", text: "fine" }] },
    ]);
    expect(messages[1]?.content).toEqual([call({ id: "7" })]);
    expect(await doctor()).toEqual([
      `warn web:main: ${path} is in order, but values of a wrong type are in lines 2, 3, 4.`,
    ]);
  });

  it("says both where a line is torn too", async () => {
    await open3(entry("a", null, { role: "user", content: [{ type: "text", text: 5 }], timestamp: 1 }));
    appendFileSync(path, '{torn\n{"type":"label","id":"z","parentId":"a","targetId":"a"}\n');
    expect(await doctor()).toEqual([
      expect.stringMatching(/line 3 cannot be read; the rest is used. Also values of a wrong type are in line 2.$/),
    ]);
  });

  const policy = policyFor({ api: "anthropic-messages", provider: "anthropic", id: "claude", input: ["text"] });
  it.each([
    ["both", undefined, undefined],
    ["the call", undefined, "call_9"],
    ["the result", "call_9", undefined],
    ["the call, which has an object,", {}, null],
  ])("keeps a call and its result together where %s has no id", async (_, id, toolCallId) => {
    const messages = await open3(
      entry("a", null, { role: "user", content: "look", timestamp: 1 }),
      entry("b", "a", {
        role: "assistant",
        content: [call({ id: "other", name: "exec" }), call({ id })],
        timestamp: 2,
      }),
      result("c", "b", { toolCallId: "other", toolName: "exec", content: [{ type: "text", text: "1" }] }),
      result("d", "c", { toolCallId, content: [{ type: "text", text: "2" }] }),
    );
    const [, answered, ...results] = applyPasses(messages, policy);
    const ids = answered?.role === "assistant" ? answered.content.map((part) => "id" in part && part.id) : [];
    expect(new Set(ids).size).toBe(2);
    expect(results).toMatchObject([
      { toolCallId: ids[0], content: [{ text: "1" }] },
      { toolCallId: ids[1], content: [{ text: "2" }] },
    ]);
  });

  it("is appended as it will be read", async () => {
    const transcript = await open();
    const odd: object = { role: "assistant", content: [call({ id: null, arguments: "{}" }), null], timestamp: 2 };
    const message: ChatMessage = JSON.parse(JSON.stringify(odd));
    await transcript.append({ type: "message", message }, { durable: true });
    const inMemory = (await transcript.window(ALL)).messages;
    await transcript.close();
    expect((await (await open()).window(ALL)).messages).toEqual(inMemory);
  });
});

describe("a page of a conversation", () => {
  it("is whole while a torn last line is set aside", async () => {
    const transcript = await open();
    await transcript.append(say("hello"));
    await transcript.append(answer("hi"), { durable: true });
    const { length } = await readFile(path);
    for (let moment = 0; moment < 40; moment += 1) {
      appendFileSync(path, `{"torn": "${"x".repeat(500_000)}`);
      const reading = readHistory(path, 10);
      for (let turn = 0; turn < moment % 20; turn += 1) await eventLoopTurn();
      truncateSync(path, length);
      expect(textsOf((await reading).entries)).toEqual(["hello", "hi"]);
    }
  });

  it("does not read a whole long tool turn", async () => {
    const transcript = await open();
    await transcript.append(say("begin"));
    for (let step = 0; step < 5000; step += 1) void transcript.append(answer(`step ${step} ${"x".repeat(200)}`));
    await transcript.append(answer("done"), { durable: true });
    const size = (await readFile(path)).length;
    const page = await readHistory(path, 20);
    expect(textsOf(page.entries).at(-1)).toBe("done");
    expect(page.entries).toHaveLength(20);
    expect(page.hasMore).toBe(true);
    expect(page.bytesRead).toBeLessThan(size / 5);
  });
});

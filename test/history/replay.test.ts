import { NOWHERE_ELSE } from "../kit/store/transcript-file.ts";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { assemble } from "../../src/history/assemble.ts";
import { prune, PRUNE_DEFAULTS } from "../../src/history/prune.ts";
import { replay } from "../../src/history/replay.ts";
import { policyFor } from "../../src/providers/quirks.ts";
import { earlierFiles, readBackTo } from "../../src/sessions/transcript/read-back.ts";
import { Transcript } from "../../src/sessions/transcript/transcript.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import type { PromptRecord } from "../../src/types/run/run.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { ALL, answer, say } from "../kit/store/transcript-file.ts";
import { recordLog } from "../kit/log.ts";
import { ending, transcript } from "./transcripts.ts";
import { WIRES } from "./wire.ts";

let place: StateDir;
beforeEach(async () => {
  place = await openStateDir();
});
afterEach(() => place.remove());

let files = 0;
const newFile = () => {
  files += 1;
  return join(place.dir, `t${files}.jsonl`);
};
const open = (path: string) =>
  Transcript.open({
    path,
    sessionId: path,
    sessionKey: "k",
    cwd: "/",
    earlier: NOWHERE_ELSE,
    log: recordLog(),
    now: () => files,
  });

/** What a run is shown and what it writes down about that. */
interface Asked {
  readonly model: (typeof WIRES)[number]["model"];
  readonly budget: number;
  readonly images: boolean;
  readonly strict: boolean;
  readonly earlierTurns: number | undefined;
  readonly prunes: boolean;
}

async function ask(
  file: Transcript,
  asked: Asked,
): Promise<{ record: PromptRecord; messages: readonly ChatMessage[] }> {
  const { model, images, strict, earlierTurns } = asked;
  const window = await file.window(asked.budget);
  const made = assemble(window, { ...policyFor(model), images, strict, earlierTurns });
  const rules = { ...PRUNE_DEFAULTS, softTrimRatio: 0, keepLastAssistants: 0, minPrunableToolChars: 1 };
  const past = { touchedAt: -1_000_000, cuts: {} };
  const pruned =
    asked.prunes && policyFor(model).promptCache
      ? prune({ messages: made.messages, contextWindow: 10, past, now: 0 }, rules)
      : { messages: made.messages, pruned: past };
  const first = window.messages[0]?.entryId;
  const last = window.messages.at(-1)?.entryId;
  const record: PromptRecord = {
    system: "",
    systemParts: [],
    bodyParts: [],
    ...(first !== undefined && { firstEntryId: first }),
    ...(last !== undefined && { lastEntryId: last }),
    hasSummary: window.summary !== undefined,
    api: model.api,
    input: model.input,
    images,
    strict,
    ...(earlierTurns !== undefined && { earlierTurns }),
    cuts: pruned.pruned.cuts,
    tools: ["read"],
    messages: made.messages.length,
    estimatedTokens: made.estimatedTokens,
  };
  return { record, messages: pruned.messages };
}

async function replayed(path: string, record: PromptRecord, model: { provider: string; id: string }) {
  const { firstEntryId: firstId = "", lastEntryId: lastId = "", hasSummary } = record;
  const entries = await readBackTo(path, { firstId, lastId, hasSummary });
  return replay(record, entries ?? [], model);
}

type Step =
  | { readonly kind: "say"; readonly messages: readonly ChatMessage[] }
  | { readonly kind: "compact" | "branch"; readonly at: number }
  | { readonly kind: "note" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: transcript.map((messages) => ({ kind: "say" as const, messages })) },
  fc.record({ kind: fc.constantFrom("compact" as const, "branch" as const), at: fc.nat(30) }),
  fc.constant({ kind: "note" as const }),
);
const steps = fc.array(step, { maxLength: 5 });
const asking: fc.Arbitrary<Asked> = fc.record({
  model: fc.constantFrom(...WIRES.map((wire) => wire.model)),
  budget: fc.constantFrom(ALL, 5000, 200, 20),
  images: fc.boolean(),
  strict: fc.boolean(),
  earlierTurns: fc.constantFrom(undefined, 1, 3),
  prunes: fc.boolean(),
});

const story = fc.record({ before: steps, turn: ending, asked: asking, overflows: fc.boolean(), after: steps });

class Writer {
  readonly file: Transcript;
  readonly ids: string[] = [];
  #compactions = 0;

  constructor(file: Transcript) {
    this.file = file;
  }

  async take(all: readonly Step[]): Promise<void> {
    for (const one of all) await this.#take(one);
  }

  async #take(one: Step): Promise<void> {
    if (one.kind === "say") for (const message of one.messages) await this.say(message);
    else if (one.kind === "note") await this.file.append({ type: "custom", customType: "x" });
    else await this.#turn(one.kind, this.ids[one.at % Math.max(1, this.ids.length)]);
  }

  async say(message: ChatMessage): Promise<void> {
    const written = JSON.parse(JSON.stringify(message));
    this.ids.push(await this.file.append({ type: "message", message: written }));
  }

  async #turn(kind: "compact" | "branch", id: string | undefined): Promise<void> {
    if (id === undefined) return;
    if (kind === "branch") return this.file.branch(id);
    this.#compactions += 1;
    const summary = `summary ${"so it went ".repeat(this.#compactions)}`;
    await this.file.append({ type: "compaction", summary, firstKeptEntryId: id, tokensBefore: 1 });
  }
}

describe("what a model was shown", () => {
  it("is made again out of the file, whatever came after it", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ before, turn, asked, overflows, after }) => {
        const path = newFile();
        const writer = new Writer(await open(path));
        await writer.take([...before, { kind: "say", messages: turn }]);
        // After an overflow the summary comes behind the turn that it stands in front of.
        if (overflows) await writer.take([{ kind: "compact", at: writer.ids.length - 1 }]);
        const { record, messages } = await ask(writer.file, asked);
        await writer.take(after);
        await writer.file.close();
        const again = await replayed(path, record, asked.model);
        expect(again.why).toBeUndefined();
        expect(again.messages).toEqual(messages);
        expect(again.entryIds).toHaveLength(messages.length);
      }),
      { numRuns: 300 },
    );
  });

  const asked = {
    model: WIRES[0]!.model,
    budget: ALL,
    images: true,
    strict: false,
    earlierTurns: undefined,
    prunes: false,
  };

  it("names the entry that each message was made of", async () => {
    const path = newFile();
    const file = await open(path);
    const ids = [await file.append(say("one")), await file.append(answer("two")), await file.append(say("three"))];
    const { record } = await ask(file, asked);
    await file.close();
    expect((await replayed(path, record, asked.model)).entryIds).toEqual(ids);
  });

  it("is found in the file that a reset put aside", async () => {
    const path = newFile();
    const file = await open(path);
    await file.append(say("before the reset"));
    const { record, messages } = await ask(file, asked);
    await file.close();
    await rename(path, `${path}.reset.2026-01-01T00-00-00.000Z`);
    const fresh = await open(path);
    await fresh.append(say("after it"));
    await fresh.close();
    expect(await replayed(path, record, asked.model)).toMatchObject({
      messages: [],
      faithful: false,
      why: expect.stringContaining("no entries"),
    });
    const found = await earlierFiles(place.dir, "k");
    expect(found.toSorted()).toEqual([path, `${path}.reset.2026-01-01T00-00-00.000Z`]);
    const again = await Promise.all(found.map((one) => replayed(one, record, asked.model)));
    expect(again.find((one) => one.faithful)?.messages).toEqual(messages);
    expect(await earlierFiles(place.dir, "other")).toEqual([]);
  });

  it("says when the file was changed since", async () => {
    const path = newFile();
    const file = await open(path);
    await file.append(say("one"));
    const { record } = await ask(file, asked);
    await file.close();
    const wrong = [
      [{ ...record, messages: 2 }, "2 messages"],
      [{ ...record, estimatedTokens: 999 }, "999 tokens"],
      [{ ...record, hasSummary: true }, "summary"],
    ] as const;
    for (const [given, why] of wrong)
      expect(await replayed(path, given, asked.model)).toMatchObject({
        faithful: false,
        why: expect.stringContaining(why),
      });
  });
});

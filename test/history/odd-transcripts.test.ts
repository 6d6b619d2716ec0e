import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { assemble } from "../../src/history/assemble.ts";
import { canThink } from "../../src/history/can-think.ts";
import { listConversation } from "../../src/history/compaction/fallback.ts";
import { chunk, cutAt } from "../../src/history/compaction/plan.ts";
import { readFilesIn } from "../../src/history/compaction/reads.ts";
import { renderMessage, shortenResult } from "../../src/history/compaction/render.ts";
import { fitFor, requestTokens, WHOLE } from "../../src/history/fit.ts";
import { applyPasses } from "../../src/history/passes.ts";
import { endsAnswered, orphanPlan } from "../../src/history/orphans.ts";
import { replay } from "../../src/history/replay.ts";
import { policyFor } from "../../src/providers/quirks.ts";
import { joinAnswers } from "../../src/sessions/shown/joined-answers.ts";
import { noticeIn } from "../../src/sessions/shown/notice.ts";
import { readHistory } from "../../src/sessions/transcript/history.ts";
import { readBackTo } from "../../src/sessions/transcript/read-back.ts";
import { openStateDir, type StateDir } from "../kit/store/state-dir.ts";
import { oddTranscripts, richTranscript } from "../kit/store/odd-transcript.ts";
import { ALL, openFile } from "../kit/store/transcript-file.ts";
import type { PromptRecord } from "../../src/types/run/run.ts";
import type { SessionWindow } from "../../src/types/session.ts";
import { requestOf, WIRES } from "./wire.ts";

/** For each model, other ones: together, each field has had two other types or more. The suite of faults has all of them for each API. */
const COUNT = 90;

let place: StateDir;
beforeEach(async () => {
  place = await openStateDir();
});
afterEach(() => place.remove());

const write = async (text: string): Promise<string> => {
  const path = join(place.dir, "odd.jsonl");
  await writeFile(path, text);
  return path;
};

/** The record of a run that is shown this window. */
function recordOf({ messages, summary, estimatedTokens }: SessionWindow, model: (typeof WIRES)[number]["model"]) {
  const record: PromptRecord = {
    system: "",
    systemParts: [],
    bodyParts: [],
    firstEntryId: messages[0]?.entryId ?? "",
    lastEntryId: messages.at(-1)?.entryId ?? "",
    hasSummary: summary !== undefined,
    api: model.api,
    input: model.input,
    images: true,
    strict: false,
    cuts: {},
    tools: ["read"],
    messages: messages.length,
    estimatedTokens,
  };
  return record;
}

describe.each(WIRES)("a transcript with values of other types, for $model.provider $model.id", ({ model, faults }) => {
  const from = COUNT * WIRES.findIndex((wire) => wire.model === model);
  const policy = policyFor(model);

  it("is what it was where nothing is odd", async () => {
    const lines = richTranscript("s1", model);
    const path = await write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const transcript = await openFile(path);
    const { messages } = await transcript.window(ALL);
    const said = lines.flatMap((line) => (line["type"] === "message" ? [line["message"]] : []));
    expect(messages.map(({ message }) => message)).toEqual(expect.arrayContaining(said.slice(2)));
    await transcript.close();
  });

  /** What is wrong with it. Rejects where a reader fails. */
  async function useOf(file: string): Promise<readonly string[]> {
    const path = await write(file);
    const transcript = await openFile(path);
    const window = await transcript.window(ALL);
    const said = window.messages.map((row) => row.message);
    const shown = assemble(window, policy).messages;
    const next = { role: "user" as const, content: "next", timestamp: 9 };
    const reasoning = canThink(shown, policy) ? "low" : undefined;
    const request = await requestOf(model, applyPasses([...shown, next], policy), { reasoning });
    fitFor(said, { mostTokens: 50, window: 100, asked: "first", before: WHOLE });
    cutAt(window.messages, { keepTokens: 10, mostTurn: 5 });
    const rendered = chunk(said, 2000).flatMap((part) => part.map(shortenResult).map(renderMessage));
    const page = await readHistory(path, 100);
    joinAnswers(page.entries).map(noticeIn);
    endsAnswered(page.entries);
    orphanPlan(page.entries, "failed");
    const record = recordOf(window, model);
    const { firstEntryId: firstId = "", lastEntryId: lastId = "", hasSummary } = record;
    replay(record, (await readBackTo(path, { firstId, lastId, hasSummary })) ?? [], model);
    await transcript.close();
    const texts = [...readFilesIn(said), listConversation(said, { mostTokens: 100 }), ...rendered];
    const kept = await readFile(path, "utf8");
    return [
      ...faults(request),
      ...(Number.isFinite(window.estimatedTokens + requestTokens(shown)) ? [] : ["the estimate is no number"]),
      ...(texts.every((text) => typeof text === "string") ? [] : ["a text of the compaction is none"]),
      ...(kept.startsWith(file) ? [] : ["the file is another one"]),
    ];
  }

  it("becomes a valid request, is compacted, shown and replayed", async () => {
    const failed: string[] = [];
    for (const { name, file } of oddTranscripts({ from, count: COUNT }, "s1", model)) {
      const wrong = await useOf(file).catch((error: unknown) => [String(error instanceof Error ? error.stack : error)]);
      failed.push(...wrong.map((one) => `${name}: ${one}`));
    }
    expect(failed).toEqual([]);
  });
});

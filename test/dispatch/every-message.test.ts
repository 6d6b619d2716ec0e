import { glob } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { QueueMode } from "../../src/types/queue.ts";
import type { InboxRow } from "../../src/types/journal.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import type { ModelReply } from "../fakes/model.ts";
import { openedByPi } from "../kit/run.ts";
import { until } from "../kit/until.ts";
import { type Boot, openDispatchFixture } from "../kit/dispatch.ts";

const mode = fc.constantFrom<QueueMode>("steer", "steer-backlog", "followup", "collect", "interrupt");
const answer = fc.constantFrom("words", "silence", "failure", "tool", "slow words");
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("say" as const), from: fc.constantFrom("1", "2") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("command" as const),
      text: fc.constantFrom(
        "/stop",
        "/new",
        "/new words",
        "/think low",
        "/think low words",
        "/queue steer",
        "/queue followup words",
        "/queue interrupt cap:1",
        "/status",
        "/unheard-of",
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const), turns: fc.integer({ min: 1, max: 40 }) }) },
);
const walk = fc.record({
  mode,
  drop: fc.constantFrom("old" as const, "new" as const, "summarize" as const),
  cap: fc.integer({ min: 1, max: 3 }),
  answers: fc.array(answer, { minLength: 1, maxLength: 6 }),
  actions: fc.array(action, { minLength: 1, maxLength: 10 }),
});
type Walk = typeof walk extends fc.Arbitrary<infer T> ? T : never;

/** The numbers of the messages that a text names. */
const numbersIn = (text: string, before = ""): readonly number[] =>
  [...text.matchAll(new RegExp(`${before}message (\\d+)`, "g"))].map(([, number]) => Number(number));

/** Each text names the messages that it answers. */
function replyTo(said: string, wanted: Walk["answers"][number]): ModelReply {
  const text = numbersIn(said)
    .map((number) => `answer to message ${number}`)
    .join(", ");
  const replies = {
    words: { text: `some words, ${text}.` },
    silence: { text: "NO_REPLY" },
    failure: { status: 401, message: "Incorrect API key provided" },
    tool: { tool: "look", args: {} },
    "slow words": { text: `one two three four, ${text}.`, everyMs: 3 },
  };
  return replies[wanted];
}

async function takeWalk({ actions, answers, mode: queueMode, cap, drop }: Walk): Promise<void> {
  const fixture = await openDispatchFixture();
  try {
    fixture.rules = { queueMode: () => queueMode, queue: { cap, drop, debounceMs: 2 } };
    fixture.tools.push(makeTool("look", async () => textResult("seen")));
    fixture.model.answer((call, number) => {
      const wanted = answers[number % answers.length] ?? "words";
      return replyTo(call.said, call.isAfterTool && wanted === "tool" ? "words" : wanted);
    });
    let boot: Boot = await fixture.boot();
    const rows: InboxRow[] = [];
    for (const [at, step] of actions.entries()) {
      if (step.kind === "say") rows.push(await boot.tell(`message ${at}`, step.from));
      else if (step.kind === "command") rows.push(await boot.tell(step.text));
      else if (step.kind === "pause") await pause(step.turns);
      else {
        await boot.stop();
        boot = await fixture.boot();
        await boot.recover();
      }
    }
    for (const row of rows) await check(row, boot);
    expectAnsweredOnce(fixture.platform.texts);
    if (keepsOrder({ mode: queueMode, actions })) expectInOrder(fixture.model.calls, actions);
    expect(await boot.journal.stats()).toMatchObject({ openInbox: 0, openOutbox: 0, unknownOutbox: 0 });
    expect(fixture.platform.texts.filter((text) => text.includes("possible repeat"))).toEqual([]);
    for await (const file of glob(join(fixture.dir, "sessions", "*.jsonl"))) openedByPi(file);
  } finally {
    await fixture.close();
  }
}

function expectAnsweredOnce(texts: readonly string[]): void {
  const answered = texts.flatMap((text) => [...new Set(numbersIn(text, "answer to "))]);
  expect(answered).toEqual([...new Set(answered)]);
}

/** A steered message comes before those that wait. */
const keepsOrder = ({ mode: queueMode, actions }: Pick<Walk, "mode" | "actions">): boolean =>
  !queueMode.startsWith("steer") && !actions.some((step) => step.kind === "command" && step.text.includes("steer"));

/** The model is shown the messages of each session in the order in which they came. */
function expectInOrder(calls: readonly { readonly said: string }[], actions: Walk["actions"]): void {
  const shown = [...new Set(calls.flatMap(({ said }) => numbersIn(said)))];
  for (const from of ["1", "2"]) {
    const own = shown.filter((number) => {
      const step = actions[number];
      return step?.kind === "say" && step.from === from;
    });
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }
}

async function pause(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The outcome, and what the chat saw of it. */
async function check(row: InboxRow, boot: Boot): Promise<void> {
  const { kind } = await boot.outcome(row);
  const replies = await boot.journal.outbox.of(row.id);
  if (kind === "replied" || kind === "command" || kind === "failed")
    expect(replies.length, `${row.message.text}: ${kind}`).toBeGreaterThan(0);
  if (kind === "silent" || kind === "steered" || kind === "merged") expect(replies).toEqual([]);
  expect(replies.every(({ state }) => state === "sent")).toBe(true);
  await until(() => !boot.dispatch.lanes.isBusy(boot.keyOf(row.message.from.chat.id)));
}

it(
  "ends every message in exactly one outcome that the chat can see, whatever comes when",
  { timeout: 60_000 },
  async () => {
    await fc.assert(fc.asyncProperty(walk, takeWalk), {
      numRuns: Number(process.env["WALKS"] ?? 25),
      seed: Number(process.env["SEED"] ?? 7),
    });
  },
);

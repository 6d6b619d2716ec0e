import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { untilIdle } from "../../kit/idle.ts";
import { peer } from "../../kit/inbound.ts";
import { makeTool } from "../../kit/tools.ts";
import { textResult } from "../../../src/tools/define.ts";
import { until } from "../../kit/until.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const LONG = "A first sentence, which is long enough to be shown. ";

/** Says it and waits for its outcome; gives back the key of its event. */
async function ask(text: string): Promise<string> {
  const row = await boot.tell(text, "1", { event: "command" });
  await boot.outcome(row);
  await untilIdle();
  return row.message.eventKey;
}

describe("what is sent to a chat names the message that it answers", () => {
  it("when a command is answered", async () => {
    const key = await ask("/status");
    expect(fixture.platform.answered).toEqual([[expect.stringContaining("Agent: main"), key]]);
  });

  it.each(["off", "partial", "block"] as const)("when the model answers (%s)", async (streaming) => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming }) };
    fixture.model.answer(() => ({ text: LONG.repeat(3) }));
    const key = await ask("a question");
    expect(fixture.platform.answered.length).toBeGreaterThan(0);
    for (const [, answers] of fixture.platform.answered) expect(answers).toBe(key);
  });

  it("when a preview shows it", async () => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming: "partial" }) };
    const shown = until(() => fixture.platform.answered.length === 1, "the preview");
    fixture.model.answer(() => ({ text: LONG.repeat(3), until: shown }));
    const key = await ask("a question");
    expect(fixture.platform.calls.map(({ call }) => call)).toEqual(["send", "edit"]);
    expect(fixture.platform.answered).toEqual([[expect.stringContaining("A first sentence"), key]]);
  });

  it("when no model can answer", async () => {
    fixture.model.answer(() => ({ status: 401, message: "no" }));
    const key = await ask("a question");
    expect(fixture.platform.answered).toEqual([[expect.stringContaining("key was not accepted"), key]]);
  });

  it("when it was planned before a restart", async () => {
    fixture.platform.script.push({ result: { kind: "retry", reason: "not now", afterMs: 3_600_000 } });
    const row = await boot.tell("a question");
    await until(() => fixture.platform.answered.length === 1, "the first try");
    await boot.stop();
    fixture.platform.answered.length = 0;
    boot = await fixture.boot();
    await boot.recover();
    await until(() => fixture.platform.answered.length === 1, "the answer");
    expect(fixture.platform.answered).toEqual([["echo: a question", row.message.eventKey]]);
  });

  it("and nothing else does: what the gateway and tools send, and the question about a command", async () => {
    const post = makeTool("post", async () => {
      const blocks = [{ kind: "text", markdown: "by a tool" }] as const;
      await boot.outbox.deliver({ replyKey: "in:1:tool:1:0", inboxId: 1, to: peer("1"), blocks });
      return textResult("sent");
    });
    fixture.tools.push(post);
    fixture.model.answer((_, number) => (number === 1 ? { tool: "post", args: {} } : { text: "ok" }));
    const key = await ask("a question");
    const blocks = [{ kind: "text", markdown: "a reminder" }] as const;
    await boot.outbox.deliver({ replyKey: "cron", to: peer("1"), blocks });
    await untilIdle();
    expect(fixture.platform.answered).toEqual([
      ["by a tool", undefined],
      ["ok", key],
      ["a reminder", undefined],
    ]);
  });
});

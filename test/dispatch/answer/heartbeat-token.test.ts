import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";
import { makeTool } from "../../kit/tools.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

/** What a client of the gateway reads of the next run, delta by delta. */
async function readByClient(): Promise<string> {
  let text = "";
  for await (const stream of boot.chat.runs(new AbortController().signal)) {
    for await (const event of stream.watch()) if (event.type === "text_delta") text += event.delta;
    break;
  }
  return text;
}

describe.each(["off", "partial", "block"] as const)("a heartbeat token in an answer to a person (%s)", (streaming) => {
  beforeEach(() => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming }) };
  });

  it.each(["HEARTBEAT_OK", "**HEARTBEAT_OK**", "<b>HEARTBEAT_OK</b>.", "[[reply_to_current]] HEARTBEAT_OK"])(
    "is silence when nothing else is said: %j",
    async (text) => {
      fixture.model.answer(() => ({ text }));
      const read = readByClient();
      expect(await boot.ask("hello")).toEqual({ kind: "silent" });
      expect(fixture.platform.calls).toEqual([]);
      expect(await read).toBe("");
    },
  );

  it("is not shown before or after the text, at no time", async () => {
    fixture.model.answer(() => ({ text: "HEARTBEAT_OK The disk is nearly full. _HEARTBEAT_OK_", everyMs: 40 }));
    const read = readByClient();
    expect(await boot.ask("hello")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["The disk is nearly full."]);
    expect(JSON.stringify(fixture.platform.calls)).not.toContain("HEART");
    expect(await read).toBe("The disk is nearly full.");
  });

  it("is not shown before a tool call either", async () => {
    fixture.tools.push(makeTool("look", () => Promise.resolve(textResult("seen"))));
    fixture.model.answer(({ isAfterTool }) =>
      isAfterTool
        ? { text: "All done.", everyMs: 5 }
        : { text: "I look. HEARTBEAT_OK", tool: "look", args: { text: "x" } },
    );
    expect(await boot.ask("hello")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.join("\n\n")).toBe("I look.\n\nAll done.");
    expect(JSON.stringify(fixture.platform.calls)).not.toContain("HEART");
  });

  it("stays where a sentence mentions it", async () => {
    const text = "A quiet heartbeat says HEARTBEAT_OK and nothing else.";
    fixture.model.answer(() => ({ text }));
    await boot.ask("hello");
    expect(fixture.platform.texts).toEqual([text]);
  });
});

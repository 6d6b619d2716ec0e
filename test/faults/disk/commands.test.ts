import { describe, expect, test } from "vitest";
import { walkConfig } from "../../kit/gateway/process.ts";
import { merge } from "../../kit/gateway/world.ts";
import { ADA, journalRows, useFaultFixture } from "../fixture.ts";
import { mountRefusal, needsSmallDisk, useSmallDisk } from "./small-disk.ts";

needsSmallDisk();

const NOTICE = "disk of this gateway is full";

/** The command, what its answer says, and what shows that it was obeyed. */
const COMMANDS = [
  ["/queue followup", "Queue: followup", "/queue", "Queue: followup"],
  ["/tts always", "Speech: always", "/tts", "always"],
  ["/verbose full", "Verbose", "/verbose", "full"],
  ["/undo", "left out of the conversation", "/history", "tulip"],
] as const;

describe.skipIf(mountRefusal !== undefined)("a command on a full disk", () => {
  const fixture = useFaultFixture();
  const { fill, free } = useSmallDisk(fixture, { commands: { ownerAllowFrom: ["1001"] } });

  const told = (words: string) => fixture().telegram.waitFor((call) => call.ok && call.text.includes(words), 60_000);

  /** Says it on a full disk, until the chat is told so; then there is space again. */
  async function onFullDisk(text: string): Promise<void> {
    await fill();
    fixture().telegram.say(text);
    await told(NOTICE);
    for (let polls = 0; polls < 3; polls += 1) await fixture().moment(({ method }) => method === "getUpdates");
    await free();
  }

  const openRows = () => journalRows(fixture().home, "SELECT id FROM inbox WHERE state <> 'done'");

  test.each(COMMANDS)("%s waits, is told so once, and is done once", async (text, answer, look, shows) => {
    const gateway = await fixture().start();
    await fixture().goesOn("say rose");
    await fixture().goesOn("say tulip");
    await onFullDisk(text);
    await told(answer);
    expect(fixture().shown(answer)).toHaveLength(1);
    expect(fixture().shown(NOTICE)).toHaveLength(1);
    const before = fixture().telegram.sent.length;
    fixture().telegram.say(look);
    const seen = await fixture().telegram.waitFor(
      (call) => fixture().telegram.sent.indexOf(call) >= before && call.ok && call.text !== "",
    );
    if (text === "/undo") expect(seen.text).toMatch(/rose/);
    expect(seen.text.includes(shows)).toBe(text !== "/undo");
    expect(await gateway.kill()).toBe(0);
    expect(openRows()).toEqual([]);
  });

  test("/export sends its file once, when there is space", async () => {
    const gateway = await fixture().start();
    await fixture().goesOn("say rose");
    await onFullDisk("/export md");
    await fixture().telegram.waitFor(({ method, ok }) => ok && method === "sendDocument", 60_000);
    await fixture().goesOn();
    expect(fixture().telegram.sent.filter(({ method, ok }) => ok && method === "sendDocument")).toHaveLength(1);
    expect(fixture().shown(NOTICE)).toHaveLength(1);
    expect(await gateway.kill()).toBe(0);
    expect(openRows()).toEqual([]);
  });
});

describe.skipIf(mountRefusal !== undefined)("an answer that grows while the disk becomes full", () => {
  const fixture = useFaultFixture();
  const { fill, free } = useSmallDisk(fixture);
  const PARAGRAPHS = Array.from(
    { length: 4 },
    (_, at) => `Paragraph ${at} has ${"some more words ".repeat(4)}and ends.`,
  );
  const blocks = {
    blockStreamingChunk: { minChars: 20, maxChars: 200 },
    blockStreamingCoalesce: { minChars: 1, idleMs: 0 },
  };

  async function answers(text: string): Promise<void> {
    fixture().model.answer(() => ({ text }));
    fixture().telegram.say("go on");
    await fixture().telegram.waitFor((call) => call.ok && call.text === text);
  }

  test.each([
    ["as a draft", "sendMessageDraft", { mode: "partial", nativeTransport: true }],
    ["as edits", "sendMessage", { mode: "partial", nativeTransport: false }],
    ["in blocks", "sendMessage", { mode: "block" }],
  ])("%s is whole and there once, when there is space", async (_name, method, streaming) => {
    const { telegram, model, home } = fixture();
    const config = walkConfig(telegram, model);
    await home.writeConfig(merge(config, { agents: { defaults: blocks }, channels: { telegram: { streaming } } }));
    const gateway = await fixture().start();
    await answers("at first");
    const full = Promise.withResolvers<void>();
    model.answer(() => ({ text: PARAGRAPHS.join("\n\n"), everyMs: 30, until: full.promise }));
    telegram.say("slowly, please");
    await telegram.waitFor((call) => call.ok && call.method === method && call.text.includes("Paragraph 0"));
    await fill();
    full.resolve();
    await telegram.waitFor((call) => call.text.includes(NOTICE), 60_000);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);
    await free();
    await telegram.waitFor(
      (call) => call.ok && call.method !== "sendMessageDraft" && call.text.includes("Paragraph 3"),
      60_000,
    );
    await answers("at last");
    const answered = telegram.shown(ADA).filter((text) => text.includes("Paragraph"));
    expect(answered.join("\n\n")).toBe(PARAGRAPHS.join("\n\n"));
    expect(fixture().shown(NOTICE)).toHaveLength(1);
    expect(telegram.draft(ADA)).toBeUndefined();
    expect(await gateway.kill()).toBe(0);
    expect(journalRows(home, "SELECT id FROM inbox WHERE state <> 'done'")).toEqual([]);
  });
});

import { expect, test } from "vitest";
import { ADA, journalRows, linesOf, readTranscript, textOf, useStage, type Stage } from "./stage.ts";
import { isUp } from "../walk/gateway.ts";

const stage = useStage({ tools: { exec: { security: "full", ask: "off" } } });

/** After a test: one answer, a valid transcript with one user turn, and a chat that goes on. */
async function expectWhole(at: Stage, said: string): Promise<void> {
  await at.goesOn();
  const [path = ""] = await at.transcripts();
  const messages = await readTranscript(path);
  const turns = messages.filter((message) => message.role === "user").map(textOf);
  expect(turns.filter((text) => text.includes(said))).toHaveLength(1);
}

test("(a) killed when the update was offered, at any moment until it is in the journal", async () => {
  for (let ticks = 0; ticks < 4; ticks += 1) {
    const gateway = await stage().start();
    await gateway.logged(isUp("telegram"));
    stage().telegram.say(`offered ${ticks}.`);
    for (let tick = 0; tick <= ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    await gateway.kill("SIGKILL");
    // Once killed is enough for each: a message that takes three boots down is given up.
    const next = await stage().start();
    await stage().telegram.waitFor((call) => call.text.includes(`offered ${ticks}.`));
    await next.kill();
  }
  await stage().start();
  await stage().goesOn();
  for (let ticks = 0; ticks < 4; ticks += 1) expect(stage().shown(`offered ${ticks}.`)).toHaveLength(1);
});

test("(a) killed with the update in the journal and not acknowledged: it is offered again and answered once", async () => {
  const first = await stage().start();
  await first.logged(isUp("telegram"));
  while (stage().telegram.polls.open === 0) await stage().moment(({ method }) => method === "getUpdates");
  stage().telegram.fail("getUpdates", "hang");
  stage().model.answer(() => "hang");
  stage().telegram.say("good morning");
  await stage().model.called(1);
  expect(stage().telegram.pending).toHaveLength(1);
  await first.kill("SIGKILL");

  stage().model.answer((call) => ({ text: `echo: ${call.said}` }));
  const second = await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await expectWhole(stage(), "good morning");
  expect(linesOf(second, "dropped")).toMatchObject([{ why: "seen before" }]);
  expect(stage().shown("good morning")).toHaveLength(1);
});

test("(a) killed between the journal and the model call", async () => {
  const first = await stage().start();
  stage().model.answer(() => "hang");
  stage().telegram.say("good morning");
  await first.logged("received");
  await first.kill("SIGKILL");

  stage().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await expectWhole(stage(), "good morning");
  expect(stage().shown("good morning")).toHaveLength(1);
});

test("(b) killed in mid-stream before anything was shown", async () => {
  const first = await stage().start();
  stage().model.answer(() => ({ text: "one two three four five six seven eight", everyMs: 2000 }));
  stage().telegram.say("count");
  await stage().model.called(1);
  await first.kill("SIGKILL");

  stage().model.answer(() => ({ text: "one two three" }));
  await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("one two three"));
  await expectWhole(stage(), "count");
  expect(stage().shown("one two")).toEqual(["one two three"]);
});

test("(b) killed in mid-stream with a draft shown: the answer is sent once, without a label", async () => {
  const first = await stage().start();
  stage().model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 20 }));
  stage().telegram.say("count");
  const drawn = () => stage().moment(({ method, stage: at }) => method === "sendMessageDraft" && at === "done");
  await drawn();
  await drawn();
  await first.kill("SIGKILL");
  expect(stage().telegram.draft(ADA)).toContain("one two");

  stage().model.answer(() => ({ text: "All six, counted." }));
  await stage().start();
  await stage().telegram.waitFor((call) => call.ok && call.text.includes("All six"));
  await expectWhole(stage(), "count");
  expect(stage().telegram.shown(ADA)).toContain("All six, counted.");
  expect(stage().shown("All six")).toHaveLength(1);
  expect(stage().shown("one two")).toEqual([]);
});

test("(b) killed in mid-stream with a preview shown: the answer is an edit of it", async () => {
  stage().telegram.drafts = "unknown";
  const first = await stage().start();
  stage().model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 20 }));
  stage().telegram.say("count");
  const preview = await stage().telegram.waitFor((call) => call.method === "sendMessage");
  // An edit follows once the preview's message id is in the journal.
  await stage().telegram.waitFor((call) => call.method === "editMessageText");
  await first.kill("SIGKILL");

  stage().model.answer(() => ({ text: "All six, counted." }));
  await stage().start();
  const final = await stage().telegram.waitFor((call) => call.text.includes("All six"));
  expect(final).toMatchObject({ method: "editMessageText", messageId: preview.messageId });
  expect(stage().telegram.shown(ADA)).toEqual(["All six, counted."]);
  await expectWhole(stage(), "count");
});

test("(b) killed in mid-stream: what the chat shows of the answer never becomes shorter", async () => {
  const { telegram, model } = stage();
  telegram.drafts = "unknown";
  const first = await stage().start();
  model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 10 }));
  telegram.say("count");
  await telegram.waitFor((call) => call.method === "editMessageText");
  await first.kill("SIGKILL");

  model.answer(() => ({ text: `${"one two three four five six ".repeat(40)}END`, everyMs: 20 }));
  await stage().start();
  await telegram.waitFor((call) => call.text.endsWith("END"));
  const lengths = telegram.sent
    .filter(({ ok, text }) => ok && text.startsWith("one two"))
    .map(({ text }) => text.length);
  // The first preview, the edit of it, and the answer; how many edits lie between them is a matter of the machine.
  expect(lengths.length).toBeGreaterThanOrEqual(3);
  expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
  await expectWhole(stage(), "count");
});

test("(b) killed while Telegram had the preview and its message id was not known: the answer says that it may repeat", async () => {
  stage().telegram.drafts = "unknown";
  const first = await stage().start();
  stage().model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 20 }));
  stage().telegram.fail("sendMessage", "stuck");
  stage().telegram.say("count");
  await stage().telegram.waitFor((call) => call.method === "sendMessage");
  await first.kill("SIGKILL");

  stage().model.answer(() => ({ text: "All six, counted." }));
  await stage().start();
  const final = await stage().telegram.waitFor((call) => call.text.includes("All six"));
  expect(final).toMatchObject({ method: "sendMessage", text: "(possible repeat) All six, counted." });
  await expectWhole(stage(), "count");
});

test("(c) killed between the last token and the send: sent once, without a label, the model not asked again", async () => {
  const first = await stage().start();
  stage().telegram.fail("sendMessage", "429", 1, 600);
  stage().telegram.say("good morning");
  await first.logged("send again");
  await first.kill("SIGKILL");
  expect(journalRows(stage().home, "SELECT state FROM outbox")).toEqual([{ state: "planned" }]);

  await stage().start();
  const reply = await stage().telegram.waitFor((call) => call.ok && call.method === "sendMessage");
  expect(reply.text).toMatch(/^echo: /);
  expect(stage().model.calls).toHaveLength(1);
  await expectWhole(stage(), "good morning");
  expect(stage().shown("good morning")).toHaveLength(1);
});

test("(c) killed when the answer was in the transcript and not yet in the outbox", async () => {
  stage().telegram.drafts = "unknown";
  const first = await stage().start();
  // The final waits for the preview, which is on its way and hangs.
  stage().telegram.fail("sendMessage", "hang");
  const until = stage().moment(({ method }) => method === "sendMessage");
  stage().model.answer(() => ({ text: "a long answer that has a preview ".repeat(60), everyMs: 10, until }));
  stage().telegram.say("tell me");
  await first.logged("run ended");
  await first.kill("SIGKILL");
  expect(journalRows(stage().home, "SELECT state FROM outbox")).toEqual([]);

  await stage().start();
  await stage().telegram.waitFor((call) => call.ok && call.method === "sendMessage");
  expect(stage().model.calls).toHaveLength(1);
  await expectWhole(stage(), "tell me");
  expect(stage().shown("a long answer")).toHaveLength(1);
});

test("(d) killed during the send that Telegram did: one more, labelled", async () => {
  const first = await stage().start();
  stage().telegram.fail("sendMessage", "stuck");
  stage().telegram.say("good morning");
  await stage().telegram.waitFor((call) => call.method === "sendMessage");
  await first.kill("SIGKILL");

  await stage().start();
  await stage().telegram.waitFor((call) => call.text.startsWith("(possible repeat) "));
  await expectWhole(stage(), "good morning");
  const [answer = "", repeat] = stage().shown("good morning");
  expect(repeat).toBe(`(possible repeat) ${answer}`);
  expect(stage().shown("good morning")).toHaveLength(2);
  expect(stage().model.calls).toHaveLength(2);
});

test("(d) killed during the send that Telegram did not do: the one answer is labelled", async () => {
  const first = await stage().start();
  stage().telegram.fail("sendMessage", "hang");
  const arrived = stage().moment(({ method }) => method === "sendMessage");
  stage().telegram.say("good morning");
  await arrived;
  await first.kill("SIGKILL");

  await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await expectWhole(stage(), "good morning");
  expect(stage().shown("good morning")).toEqual([expect.stringMatching(/^\(possible repeat\) echo: /)]);
});

test("(d) killed during the final edit of a preview: still one message", async () => {
  stage().telegram.drafts = "unknown";
  const first = await stage().start();
  const until = stage().telegram.waitFor((call) => call.method === "sendMessage");
  stage().model.answer(() => ({ text: `${"words ".repeat(150)}THE END`, everyMs: 8, until }));
  stage().telegram.say("tell me");
  await stage().moment(({ method, text }) => method === "editMessageText" && text.includes("THE END"));
  await first.kill("SIGKILL");

  const second = await stage().start();
  await second.logged("delivered");
  expect(stage().telegram.shown(ADA)).toEqual([expect.stringContaining("THE END")]);
  await expectWhole(stage(), "tell me");
  expect(stage().shown("words")).toHaveLength(1);
});

test("killed in the middle of a tool: the call gets an error result, the model goes on, nothing is replayed", async () => {
  const first = await stage().start();
  stage().model.answer((call) =>
    call.isAfterTool
      ? { text: `after: ${call.toolText}` }
      : { tool: "exec", args: { command: "echo x >> ran.txt && touch began && sleep 30" } },
  );
  stage().telegram.say("run it");
  await stage().fileIsThere("began");
  await first.kill("SIGKILL");

  await stage().start();
  const reply = await stage().telegram.waitFor((call) => call.text.includes("after:"));
  expect(reply.text).toContain("interrupted");
  expect(await stage().workspaceFile("ran.txt")).toBe("x\n");
  expect(stage().model.calls).toHaveLength(2);
  await expectWhole(stage(), "run it");
  const messages = await readTranscript((await stage().transcripts())[0] ?? "");
  expect(messages.filter((message) => message.role === "toolResult")).toMatchObject([{ isError: true }]);
});

test("a message that brings three starts down is given up visibly", async () => {
  stage().model.answer(() => "hang");
  stage().telegram.say("poison");
  for (let starts = 1; starts <= 3; starts += 1) {
    const gateway = await stage().start();
    await stage().model.called(starts);
    await gateway.kill("SIGKILL");
  }
  await stage().start();
  const notice = await stage().telegram.waitFor((call) => call.method === "sendMessage");
  expect(notice.text).toContain("interrupted several times");
  expect(stage().model.calls).toHaveLength(3);
  await stage().goesOn();
  const [row] = journalRows(stage().home, "SELECT id FROM inbox ORDER BY id LIMIT 1");
  const { stdout } = await stage().home.run(["why", `#${String(row?.["id"])}`]);
  expect(stdout.match(/^\d{4}-.+ run +start [123]: the gateway's process ended before the turn did$/gm)).toHaveLength(
    3,
  );
  expect(stdout).toMatch(
    /end +given up: started 3 times, and the process ended each time before the turn did; its chat was told/,
  );
});

import { expect, test } from "vitest";
import {
  FREE_COMMANDS,
  ADA,
  journalRows,
  linesOf,
  readTranscript,
  textOf,
  useFaultFixture,
  type FaultFixture,
} from "./fixture.ts";
import { isUp } from "../kit/gateway/process.ts";

const fixture = useFaultFixture(FREE_COMMANDS);

/** After a test: one answer, a valid transcript with one user turn, and a chat that goes on. */
async function expectWhole(at: FaultFixture, said: string): Promise<void> {
  await at.goesOn();
  const [path = ""] = await at.transcripts();
  const messages = await readTranscript(path);
  const turns = messages.filter((message) => message.role === "user").map(textOf);
  expect(turns.filter((text) => text.includes(said))).toHaveLength(1);
}

test("(a) killed when the update was offered, at any moment until it is in the journal", async () => {
  for (let ticks = 0; ticks < 4; ticks += 1) {
    const gateway = await fixture().start();
    await gateway.logged(isUp("telegram"));
    fixture().telegram.say(`offered ${ticks}.`);
    for (let tick = 0; tick <= ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    await gateway.kill("SIGKILL");
    // Once killed is enough for each: a message that takes three boots down is given up.
    const next = await fixture().start();
    await fixture().telegram.waitFor((call) => call.text.includes(`offered ${ticks}.`));
    await next.kill();
  }
  await fixture().start();
  await fixture().goesOn();
  for (let ticks = 0; ticks < 4; ticks += 1) expect(fixture().shown(`offered ${ticks}.`)).toHaveLength(1);
});

test("(a) killed with the update in the journal and not acknowledged: it is offered again and answered once", async () => {
  const first = await fixture().start();
  await first.logged(isUp("telegram"));
  while (fixture().telegram.polls.open === 0) await fixture().moment(({ method }) => method === "getUpdates");
  fixture().telegram.fail("getUpdates", "hang");
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  expect(fixture().telegram.pending).toHaveLength(1);
  await first.kill("SIGKILL");

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  const second = await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await expectWhole(fixture(), "good morning");
  expect(linesOf(second, "dropped")).toMatchObject([{ why: "seen before" }]);
  expect(fixture().shown("good morning")).toHaveLength(1);
});

test("(a) killed between the journal and the model call", async () => {
  const first = await fixture().start();
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await first.logged("received");
  await first.kill("SIGKILL");

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await expectWhole(fixture(), "good morning");
  expect(fixture().shown("good morning")).toHaveLength(1);
});

test("(b) killed in mid-stream before anything was shown", async () => {
  const first = await fixture().start();
  fixture().model.answer(() => ({ text: "one two three four five six seven eight", everyMs: 2000 }));
  fixture().telegram.say("count");
  await fixture().model.called(1);
  await first.kill("SIGKILL");

  fixture().model.answer(() => ({ text: "one two three" }));
  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("one two three"));
  await expectWhole(fixture(), "count");
  expect(fixture().shown("one two")).toEqual(["one two three"]);
});

test("(b) killed in mid-stream with a draft shown: the answer is sent once, without a label", async () => {
  const first = await fixture().start();
  fixture().model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 20 }));
  fixture().telegram.say("count");
  const drawn = () => fixture().moment(({ method, stage: at }) => method === "sendMessageDraft" && at === "done");
  await drawn();
  await drawn();
  await first.kill("SIGKILL");
  expect(fixture().telegram.draft(ADA)).toContain("one two");

  fixture().model.answer(() => ({ text: "All six, counted." }));
  await fixture().start();
  await fixture().telegram.waitFor((call) => call.ok && call.text.includes("All six"));
  await expectWhole(fixture(), "count");
  expect(fixture().telegram.shown(ADA)).toContain("All six, counted.");
  expect(fixture().shown("All six")).toHaveLength(1);
  expect(fixture().shown("one two")).toEqual([]);
});

test("(b) killed in mid-stream with a preview shown: the answer is an edit of it", async () => {
  fixture().telegram.drafts = "unknown";
  const first = await fixture().start();
  fixture().model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 20 }));
  fixture().telegram.say("count");
  const preview = await fixture().telegram.waitFor((call) => call.method === "sendMessage");
  // An edit follows once the preview's message id is in the journal.
  await fixture().telegram.waitFor((call) => call.method === "editMessageText");
  await first.kill("SIGKILL");

  fixture().model.answer(() => ({ text: "All six, counted." }));
  await fixture().start();
  const final = await fixture().telegram.waitFor((call) => call.text.includes("All six"));
  expect(final).toMatchObject({ method: "editMessageText", messageId: preview.messageId });
  expect(fixture().telegram.shown(ADA)).toEqual(["All six, counted."]);
  await expectWhole(fixture(), "count");
});

test("(b) killed in mid-stream: what the chat shows of the answer never becomes shorter", async () => {
  const { telegram, model } = fixture();
  telegram.drafts = "unknown";
  const first = await fixture().start();
  model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 10 }));
  telegram.say("count");
  await telegram.waitFor((call) => call.method === "editMessageText");
  await first.kill("SIGKILL");

  model.answer(() => ({ text: `${"one two three four five six ".repeat(40)}END`, everyMs: 20 }));
  await fixture().start();
  await telegram.waitFor((call) => call.text.endsWith("END"));
  const lengths = telegram.sent
    .filter(({ ok, text }) => ok && text.startsWith("one two"))
    .map(({ text }) => text.length);
  // The first preview, the edit of it, and the answer; how many edits lie between them is a matter of the machine.
  expect(lengths.length).toBeGreaterThanOrEqual(3);
  expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
  await expectWhole(fixture(), "count");
});

test("(b) killed while Telegram had the preview and its message id was not known: the answer says that it may repeat", async () => {
  fixture().telegram.drafts = "unknown";
  const first = await fixture().start();
  fixture().model.answer(() => ({ text: "one two three four five six ".repeat(200), everyMs: 20 }));
  fixture().telegram.fail("sendMessage", "stuck");
  fixture().telegram.say("count");
  await fixture().telegram.waitFor((call) => call.method === "sendMessage");
  await first.kill("SIGKILL");

  fixture().model.answer(() => ({ text: "All six, counted." }));
  await fixture().start();
  const final = await fixture().telegram.waitFor((call) => call.text.includes("All six"));
  expect(final).toMatchObject({ method: "sendMessage", text: "(possible repeat) All six, counted." });
  await expectWhole(fixture(), "count");
});

test("(c) killed between the last token and the send: sent once, without a label, the model not asked again", async () => {
  const first = await fixture().start();
  fixture().telegram.fail("sendMessage", "429", 1, 600);
  fixture().telegram.say("good morning");
  await first.logged("send again");
  await first.kill("SIGKILL");
  expect(journalRows(fixture().home, "SELECT state FROM outbox")).toEqual([{ state: "planned" }]);

  await fixture().start();
  const reply = await fixture().telegram.waitFor((call) => call.ok && call.method === "sendMessage");
  expect(reply.text).toMatch(/^echo: /);
  expect(fixture().model.calls).toHaveLength(1);
  await expectWhole(fixture(), "good morning");
  expect(fixture().shown("good morning")).toHaveLength(1);
});

test("(c) killed when the answer was in the transcript and not yet in the outbox", async () => {
  fixture().telegram.drafts = "unknown";
  const first = await fixture().start();
  // The final waits for the preview, which is on its way and hangs.
  fixture().telegram.fail("sendMessage", "hang");
  const until = fixture().moment(({ method }) => method === "sendMessage");
  fixture().model.answer(() => ({ text: "a long answer that has a preview ".repeat(60), everyMs: 10, until }));
  fixture().telegram.say("tell me");
  await first.logged("run ended");
  await first.kill("SIGKILL");
  expect(journalRows(fixture().home, "SELECT state FROM outbox")).toEqual([]);

  await fixture().start();
  await fixture().telegram.waitFor((call) => call.ok && call.method === "sendMessage");
  expect(fixture().model.calls).toHaveLength(1);
  await expectWhole(fixture(), "tell me");
  expect(fixture().shown("a long answer")).toHaveLength(1);
});

test("(d) killed during the send that Telegram did: one more, labelled", async () => {
  const first = await fixture().start();
  fixture().telegram.fail("sendMessage", "stuck");
  fixture().telegram.say("good morning");
  await fixture().telegram.waitFor((call) => call.method === "sendMessage");
  await first.kill("SIGKILL");

  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.startsWith("(possible repeat) "));
  await expectWhole(fixture(), "good morning");
  const [answer = "", repeat] = fixture().shown("good morning");
  expect(repeat).toBe(`(possible repeat) ${answer}`);
  expect(fixture().shown("good morning")).toHaveLength(2);
  expect(fixture().model.calls).toHaveLength(2);
});

test("(d) killed during the send that Telegram did not do: the one answer is labelled", async () => {
  const first = await fixture().start();
  fixture().telegram.fail("sendMessage", "hang");
  const arrived = fixture().moment(({ method }) => method === "sendMessage");
  fixture().telegram.say("good morning");
  await arrived;
  await first.kill("SIGKILL");

  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await expectWhole(fixture(), "good morning");
  expect(fixture().shown("good morning")).toEqual([expect.stringMatching(/^\(possible repeat\) echo: /)]);
});

test("(d) killed during the final edit of a preview: still one message", async () => {
  fixture().telegram.drafts = "unknown";
  const first = await fixture().start();
  const until = fixture().telegram.waitFor((call) => call.method === "sendMessage");
  fixture().model.answer(() => ({ text: `${"words ".repeat(150)}THE END`, everyMs: 8, until }));
  fixture().telegram.say("tell me");
  await fixture().moment(({ method, text }) => method === "editMessageText" && text.includes("THE END"));
  await first.kill("SIGKILL");

  const second = await fixture().start();
  await second.logged("delivered");
  expect(fixture().telegram.shown(ADA)).toEqual([expect.stringContaining("THE END")]);
  await expectWhole(fixture(), "tell me");
  expect(fixture().shown("words")).toHaveLength(1);
});

test("killed in the middle of a tool: the call gets an error result, the model continues, nothing is replayed", async () => {
  const first = await fixture().start();
  fixture().model.answer((call) =>
    call.isAfterTool
      ? { text: `after: ${call.toolText}` }
      : { tool: "exec", args: { command: "echo x >> ran.txt && touch began && sleep 30" } },
  );
  fixture().telegram.say("run it");
  await fixture().fileIsThere("began");
  await first.kill("SIGKILL");

  await fixture().start();
  const reply = await fixture().telegram.waitFor((call) => call.text.includes("after:"));
  expect(reply.text).toContain("interrupted");
  expect(await fixture().workspaceFile("ran.txt")).toBe("x\n");
  expect(fixture().model.calls).toHaveLength(2);
  await expectWhole(fixture(), "run it");
  const messages = await readTranscript((await fixture().transcripts())[0] ?? "");
  expect(messages.filter((message) => message.role === "toolResult")).toMatchObject([{ isError: true }]);
});

test("a message that ends three processes is given up visibly", async () => {
  fixture().model.answer(() => "hang");
  fixture().telegram.say("poison");
  for (let starts = 1; starts <= 3; starts += 1) {
    const gateway = await fixture().start();
    await fixture().model.called(starts);
    await gateway.kill("SIGKILL");
  }
  await fixture().start();
  const notice = await fixture().telegram.waitFor((call) => call.method === "sendMessage");
  expect(notice.text).toContain("interrupted several times");
  expect(fixture().model.calls).toHaveLength(3);
  await fixture().goesOn();
  const [row] = journalRows(fixture().home, "SELECT id FROM inbox ORDER BY id LIMIT 1");
  const { stdout } = await fixture().home.run(["why", `#${String(row?.["id"])}`]);
  expect(stdout.match(/^\d{4}-.+ run +start [123]: the gateway's process ended before the turn did$/gm)).toHaveLength(
    3,
  );
  expect(stdout).toMatch(
    /end +given up: started 3 times, and the process ended each time before the turn did; its chat was informed/,
  );
});

test("two messages of one turn that ends three processes are given up together, and the notice says how many", async () => {
  await fixture().config({ messages: { queue: { debounceMs: 0 }, inbound: { debounceMs: 500 } } });
  fixture().model.answer(() => "hang");
  fixture().telegram.say("poison");
  fixture().telegram.say("and more of it");
  for (let starts = 1; starts <= 3; starts += 1) {
    const gateway = await fixture().start();
    await fixture().model.called(starts);
    await gateway.kill("SIGKILL");
  }
  await fixture().start();
  const notice = await fixture().telegram.waitFor((call) => call.method === "sendMessage");
  expect(notice.text).toContain("answering 2 messages together and gave up. Please send all 2 again.");
  await fixture().goesOn();
  expect(fixture().shown("interrupted several times")).toHaveLength(1);
});

import { expect, test } from "vitest";
import { ADA, linesOf, openclaw, useFaultFixture } from "./fixture.ts";
import { isUp } from "../kit/gateway/process.ts";

const fixture = useFaultFixture();

const answers = (): readonly string[] => fixture().shown("good morning");

test("429: waits as long as Telegram asks, and the reply arrives once", async () => {
  await fixture().start();
  fixture().telegram.fail("sendMessage", "429", 1, 2);
  fixture().telegram.say("good morning");
  const refused = await fixture().telegram.waitFor((call) => call.method === "sendMessage");
  const sent = await fixture().telegram.waitFor((call) => call.method === "sendMessage" && call.ok);
  expect(sent.at - refused.at).toBeGreaterThanOrEqual(2000);
  await fixture().goesOn();
  expect(answers()).toEqual([expect.stringMatching(/^echo: /)]);
});

test.each([["500"], ["429"]] as const)("%s for a while: the reply arrives once, without a label", async (fault) => {
  await fixture().start();
  fixture().telegram.fail("sendMessage", fault, 2, 0);
  fixture().telegram.say("good morning");
  await fixture().goesOn();
  expect(answers()).toEqual([expect.stringMatching(/^echo: /)]);
});

test("the connection drops before Telegram acted: the reply arrives once", async () => {
  await fixture().start();
  fixture().telegram.fail("sendMessage", "drop");
  fixture().telegram.say("good morning");
  await fixture().goesOn();
  expect(answers()).toHaveLength(1);
});

test("the connection drops after Telegram acted: at most one more, labelled", async () => {
  await fixture().start();
  fixture().telegram.fail("sendMessage", "lost");
  fixture().telegram.say("good morning");
  await fixture().goesOn();
  expect(answers()).toHaveLength(2);
  expect(answers()[1]).toBe(`(possible repeat) ${answers()[0] ?? ""}`);
});

test("the connection drops during the final edit of a preview: one message", async () => {
  fixture().telegram.drafts = "unknown";
  await fixture().start();
  const shown = fixture().telegram.waitFor((call) => call.method === "sendMessage");
  const broken = Promise.withResolvers<void>();
  const text = `${"words ".repeat(150)}THE END`;
  fixture().model.answer(() => ({ text, everyMs: 8, until: broken.promise }));
  fixture().telegram.say("good morning");
  await shown;
  fixture().telegram.fail("editMessageText", "lost", 1);
  fixture().telegram.fail("editMessageText", "drop", 2);
  fixture().telegram.fail("editMessageText", "500", 1);
  broken.resolve();
  await fixture().telegram.waitFor((call) => call.ok && call.text.includes("THE END"));
  await fixture().goesOn();
  expect(fixture().shown("words")).toEqual([expect.stringContaining("THE END")]);
});

test("Telegram is gone when the reply is ready: it goes out when Telegram is back", async () => {
  const gateway = await fixture().start();
  fixture().model.answer(async (call) => {
    await fixture().telegram.goDown();
    return { text: `echo: ${call.said}` };
  });
  fixture().telegram.say("good morning");
  await gateway.logged("send again");
  await fixture().telegram.comeBack();
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await fixture().goesOn();
  expect(answers()).toEqual([expect.stringMatching(/^echo: /)]);
});

test.each([["500"], ["409"], ["drop"], ["429"]] as const)("polls that end in %s are resumed again", async (fault) => {
  const gateway = await fixture().start();
  await gateway.logged(isUp("telegram"));
  while (fixture().telegram.polls.open === 0) await fixture().moment(({ method }) => method === "getUpdates");
  fixture().telegram.fail("getUpdates", fault, 3, 0);
  const before = Date.now();
  fixture().telegram.say("good morning");
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await fixture().goesOn();
  expect(answers()).toHaveLength(1);
  expect(linesOf(gateway, "channel in trouble").length).toBeGreaterThan(0);
  if (fault !== "429") expect(Date.now() - before).toBeGreaterThanOrEqual(1500);
});

test("401: the account stops and says how to fix it, and the gateway stays up", async () => {
  const gateway = await fixture().start();
  await gateway.logged(isUp("telegram"));
  while (fixture().telegram.polls.open === 0) await fixture().moment(({ method }) => method === "getUpdates");
  fixture().telegram.fail("getUpdates", "401", 1000);
  fixture().telegram.say("good morning");
  const line = await gateway.logged("channel stopped");
  expect(line).toMatchObject({ fix: expect.stringContaining("botToken") });
  const health = await fetch(`http://127.0.0.1:${gateway.port}/healthz`);
  expect(health.status).toBe(200);
  const { stdout } = await openclaw(fixture(), "channels", "status", "--json");
  expect(JSON.parse(stdout).channelAccounts.telegram[0]).toMatchObject({
    connected: false,
    lastError: expect.stringContaining("token"),
    fix: expect.stringContaining("botToken"),
  });
  expect(fixture().telegram.shown(ADA)).toEqual([]);
});

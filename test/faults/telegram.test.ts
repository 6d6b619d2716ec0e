import { expect, test } from "vitest";
import { ADA, linesOf, openclaw, useStage } from "./stage.ts";
import { isUp } from "../walk/gateway.ts";

const stage = useStage();

const answers = (): readonly string[] => stage().shown("good morning");

test("429: waits as long as Telegram asks, and the reply arrives once", async () => {
  await stage().start();
  stage().telegram.fail("sendMessage", "429", 1, 2);
  stage().telegram.say("good morning");
  const refused = await stage().telegram.waitFor((call) => call.method === "sendMessage");
  const sent = await stage().telegram.waitFor((call) => call.method === "sendMessage" && call.ok);
  expect(sent.at - refused.at).toBeGreaterThanOrEqual(2000);
  await stage().goesOn();
  expect(answers()).toEqual([expect.stringMatching(/^echo: /)]);
});

test.each([["500"], ["429"]] as const)("%s for a while: the reply arrives once, without a label", async (fault) => {
  await stage().start();
  stage().telegram.fail("sendMessage", fault, 2, 0);
  stage().telegram.say("good morning");
  await stage().goesOn();
  expect(answers()).toEqual([expect.stringMatching(/^echo: /)]);
});

test("the connection drops before Telegram acted: the reply arrives once", async () => {
  await stage().start();
  stage().telegram.fail("sendMessage", "drop");
  stage().telegram.say("good morning");
  await stage().goesOn();
  expect(answers()).toHaveLength(1);
});

test("the connection drops after Telegram acted: at most one more, labelled", async () => {
  await stage().start();
  stage().telegram.fail("sendMessage", "lost");
  stage().telegram.say("good morning");
  await stage().goesOn();
  expect(answers()).toHaveLength(2);
  expect(answers()[1]).toBe(`(possible repeat) ${answers()[0] ?? ""}`);
});

test("the connection drops during the final edit of a preview: one message", async () => {
  stage().telegram.drafts = "unknown";
  await stage().start();
  const shown = stage().telegram.waitFor((call) => call.method === "sendMessage");
  const broken = Promise.withResolvers<void>();
  const text = `${"words ".repeat(150)}THE END`;
  stage().model.answer(() => ({ text, everyMs: 8, until: broken.promise }));
  stage().telegram.say("good morning");
  await shown;
  stage().telegram.fail("editMessageText", "lost", 1);
  stage().telegram.fail("editMessageText", "drop", 2);
  stage().telegram.fail("editMessageText", "500", 1);
  broken.resolve();
  await stage().telegram.waitFor((call) => call.ok && call.text.includes("THE END"));
  await stage().goesOn();
  expect(stage().shown("words")).toEqual([expect.stringContaining("THE END")]);
});

test("Telegram is gone when the reply is ready: it goes out when Telegram is back", async () => {
  const gateway = await stage().start();
  stage().model.answer(async (call) => {
    await stage().telegram.goDown();
    return { text: `echo: ${call.said}` };
  });
  stage().telegram.say("good morning");
  await gateway.logged("send again");
  await stage().telegram.comeBack();
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await stage().goesOn();
  expect(answers()).toEqual([expect.stringMatching(/^echo: /)]);
});

test.each([["500"], ["409"], ["drop"], ["429"]] as const)("polls that end in %s are taken up again", async (fault) => {
  const gateway = await stage().start();
  await gateway.logged(isUp("telegram"));
  while (stage().telegram.polls.open === 0) await stage().moment(({ method }) => method === "getUpdates");
  stage().telegram.fail("getUpdates", fault, 3, 0);
  const before = Date.now();
  stage().telegram.say("good morning");
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await stage().goesOn();
  expect(answers()).toHaveLength(1);
  expect(linesOf(gateway, "channel in trouble").length).toBeGreaterThan(0);
  if (fault !== "429") expect(Date.now() - before).toBeGreaterThanOrEqual(1500);
});

test("401: the account is dead, says how to mend it, and the gateway stays up", async () => {
  const gateway = await stage().start();
  await gateway.logged(isUp("telegram"));
  while (stage().telegram.polls.open === 0) await stage().moment(({ method }) => method === "getUpdates");
  stage().telegram.fail("getUpdates", "401", 1000);
  stage().telegram.say("good morning");
  const line = await gateway.logged("channel stopped");
  expect(line).toMatchObject({ fix: expect.stringContaining("botToken") });
  const health = await fetch(`http://127.0.0.1:${gateway.port}/healthz`);
  expect(health.status).toBe(200);
  const { stdout } = await openclaw(stage(), "channels", "status", "--json");
  expect(JSON.parse(stdout).channelAccounts.telegram[0]).toMatchObject({
    connected: false,
    lastError: expect.stringContaining("token"),
    fix: expect.stringContaining("botToken"),
  });
  expect(stage().telegram.shown(ADA)).toEqual([]);
});

import { expect, test } from "vitest";
import { isUp, SOON_MS } from "../walk/gateway.ts";
import { linesOf, readTranscript, useStage } from "./stage.ts";

const stage = useStage();

test("SIGTERM lets a run end, sends its reply and exits with 0", async () => {
  const gateway = await stage().start();
  const thinking = Promise.withResolvers<void>();
  stage().model.answer(async (call) => {
    await thinking.promise;
    return { text: `echo: ${call.said}` };
  });
  stage().telegram.say("good morning");
  await stage().model.called(1);
  const ended = gateway.kill("SIGTERM");
  await gateway.logged("stopping");
  thinking.resolve();
  expect(await ended).toBe(0);
  expect(stage().shown("good morning")).toEqual([expect.stringMatching(/^echo: /)]);

  await stage().start();
  await stage().goesOn();
  expect(stage().shown("good morning")).toHaveLength(1);
});

test("a run that hangs is broken off after the grace and goes on after the next start", async () => {
  const first = await stage().start({ OPENCLAW_SHUTDOWN_GRACE_MS: "200" });
  stage().model.answer(() => "hang");
  stage().telegram.say("good morning");
  await stage().model.called(1);
  const asked = Date.now();
  expect(await first.kill("SIGTERM")).toBe(0);
  expect(Date.now() - asked).toBeLessThan(SOON_MS);
  expect(stage().telegram.sent.filter((call) => call.method === "sendMessage")).toEqual([]);

  stage().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await stage().goesOn();
  expect(stage().shown("good morning")).toHaveLength(1);
  await readTranscript((await stage().transcripts())[0] ?? "");
});

test("a message that comes while the gateway stops is not acknowledged and answered after the next start", async () => {
  const first = await stage().start({ OPENCLAW_SHUTDOWN_GRACE_MS: "300" });
  await first.logged(isUp("telegram"));
  stage().model.answer(() => "hang");
  stage().telegram.say("good morning");
  await stage().model.called(1);
  const ended = first.kill("SIGTERM");
  await first.logged("stopping");
  stage().telegram.say("late one");
  expect(await ended).toBe(0);
  expect(linesOf(first, "received")).toHaveLength(1);

  stage().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("late one"));
  await stage().goesOn();
  expect(stage().shown("good morning")).toHaveLength(1);
  expect(stage().shown("late one")).toHaveLength(1);
});

test("a second SIGTERM ends it at once, and nothing is lost", async () => {
  const first = await stage().start();
  stage().model.answer(() => "hang");
  stage().telegram.say("good morning");
  await stage().model.called(1);
  const ended = first.kill("SIGTERM");
  await first.logged("stopping");
  await first.kill("SIGTERM");
  expect(await ended).toBe(143);

  stage().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await stage().start();
  await stage().telegram.waitFor((call) => call.text.includes("good morning"));
  await stage().goesOn();
  expect(stage().shown("good morning")).toHaveLength(1);
});

import { expect, test } from "vitest";
import { isUp, SOON_MS } from "../kit/gateway/process.ts";
import { linesOf, readTranscript, useFaultFixture } from "./fixture.ts";

const fixture = useFaultFixture();

test("SIGTERM lets a run end, sends its reply and exits with 0", async () => {
  const gateway = await fixture().start();
  const thinking = Promise.withResolvers<void>();
  fixture().model.answer(async (call) => {
    await thinking.promise;
    return { text: `echo: ${call.said}` };
  });
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  const ended = gateway.kill("SIGTERM");
  await gateway.logged("stopping");
  thinking.resolve();
  expect(await ended).toBe(0);
  expect(fixture().shown("good morning")).toEqual([expect.stringMatching(/^echo: /)]);

  await fixture().start();
  await fixture().goesOn();
  expect(fixture().shown("good morning")).toHaveLength(1);
});

test("a run that hangs is cut off after the grace and continues after the next start", async () => {
  const first = await fixture().start({ OPENCLAW_SHUTDOWN_GRACE_MS: "200" });
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  const asked = Date.now();
  expect(await first.kill("SIGTERM")).toBe(0);
  expect(Date.now() - asked).toBeLessThan(SOON_MS);
  expect(fixture().telegram.sent.filter((call) => call.method === "sendMessage")).toEqual([]);

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await fixture().goesOn();
  expect(fixture().shown("good morning")).toHaveLength(1);
  await readTranscript((await fixture().transcripts())[0] ?? "");
});

test("a message that comes while the gateway stops is not acknowledged and answered after the next start", async () => {
  const first = await fixture().start({ OPENCLAW_SHUTDOWN_GRACE_MS: "300" });
  await first.logged(isUp("telegram"));
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  const ended = first.kill("SIGTERM");
  await first.logged("stopping");
  fixture().telegram.say("late one");
  expect(await ended).toBe(0);
  expect(linesOf(first, "received")).toHaveLength(1);

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("late one"));
  await fixture().goesOn();
  expect(fixture().shown("good morning")).toHaveLength(1);
  expect(fixture().shown("late one")).toHaveLength(1);
});

test("a second SIGTERM ends it at once, and nothing is lost", async () => {
  const first = await fixture().start();
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  const ended = first.kill("SIGTERM");
  await first.logged("stopping");
  await first.kill("SIGTERM");
  expect(await ended).toBe(143);

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  await fixture().start();
  await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
  await fixture().goesOn();
  expect(fixture().shown("good morning")).toHaveLength(1);
});

import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { isUp, TOKEN } from "../kit/gateway/process.ts";
import { ADA, linesOf, useFaultFixture } from "./fixture.ts";

const OWNER = { commands: { ownerAllowFrom: [ADA] } };
const fixture = useFaultFixture(OWNER);

/** What the chat was told of a restart that is over. */
const backs = (): readonly string[] => fixture().shown("is back");
const toldBack = () => fixture().telegram.waitFor(({ text }) => text.includes("is back"));

test("/restart starts the same process anew, once, and says when it is back", async () => {
  const gateway = await fixture().start();
  fixture().telegram.say("/restart");
  await toldBack();
  await fixture().goesOn();
  expect(fixture().shown("The gateway restarts.")).toHaveLength(1);
  expect(backs()).toHaveLength(1);
  expect(linesOf(gateway, "stopping")).toMatchObject([{ because: "restart" }]);
  expect(linesOf(gateway, "listening")).toHaveLength(2);
  expect(await gateway.kill()).toBe(0);
  expect(linesOf(gateway, "stopping")).toHaveLength(2);
});

test("a run that hangs goes on after the restart, and a second /restart restarts again", async () => {
  const gateway = await fixture().start({ OPENCLAW_SHUTDOWN_GRACE_MS: "200" });
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  fixture().telegram.say("/restart");
  await fixture().telegram.waitFor(({ text }) => text.includes("good morning"));
  await toldBack();
  fixture().telegram.say("/restart");
  await expect.poll(() => backs().length, { timeout: 20_000 }).toBe(2);
  await fixture().goesOn();
  expect(linesOf(gateway, "stopping")).toHaveLength(2);
  expect(fixture().shown("good morning")).toHaveLength(1);
});

test("killed while it stops for a restart: the next process says that it is back, and does not restart", async () => {
  const first = await fixture().start({ OPENCLAW_SHUTDOWN_GRACE_MS: "60000" });
  fixture().model.answer(() => "hang");
  fixture().telegram.say("good morning");
  await fixture().model.called(1);
  fixture().telegram.say("/restart");
  await first.logged("stopping");
  await first.kill("SIGKILL");

  fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
  const second = await fixture().start();
  await toldBack();
  await fixture().goesOn();
  expect(backs()).toHaveLength(1);
  expect(linesOf(second, "stopping")).toEqual([]);
  await second.kill();
  await fixture().start();
  await fixture().goesOn("once more");
  expect(backs()).toHaveLength(1);
});

test("killed at any moment after the command came in: one restart at most follows, and the chat is told once", async () => {
  for (const ticks of [0, 3, 6, 10, 20]) {
    const first = await fixture().start();
    await first.logged(isUp("telegram"));
    const before = backs().length;
    const received = linesOf(first, "received").length;
    fixture().telegram.say("/restart");
    await first.logged((line) => line["msg"] === "received" && linesOf(first, "received").length > received);
    for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    await first.kill("SIGKILL");
    const second = await fixture().start();
    await expect.poll(() => backs().length, { timeout: 20_000 }).toBe(before + 1);
    await fixture().goesOn(`and after ${ticks}?`);
    expect(backs()).toHaveLength(before + 1);
    expect(linesOf(second, "stopping").length).toBeLessThanOrEqual(1);
    await second.kill();
  }
});

test("a config that cannot be read refuses the restart, and the gateway stays up", async () => {
  const gateway = await fixture().start();
  await gateway.logged(isUp("telegram"));
  await writeFile(fixture().home.configPath, "{ not: json");
  fixture().telegram.say("/restart");
  const { text } = await fixture().telegram.waitFor((call) => call.text.includes("does not restart"));
  expect(text).toContain("openclaw.json");
  await fixture().goesOn();
  expect(linesOf(gateway, "stopping")).toEqual([]);
});

test("a config with which no gateway starts: it is tried again until one does", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const gateway = await fixture().start();
  await fixture().config({ ...OWNER, gateway: { port, auth: { token: TOKEN } } });
  fixture().telegram.say("/restart");
  await expect.poll(() => gateway.output, { timeout: 20_000 }).toContain("The gateway tries again");
  expect(gateway.output).toContain(`Port ${port}`);
  taken.close();
  await toldBack();
  await fixture().goesOn();
  expect(linesOf(gateway, "step of the shutdown failed")).toEqual([]);
  // The channel is connected once: nothing of the failed start is at work.
  expect(gateway.lines.filter(isUp("telegram"))).toHaveLength(2);
});

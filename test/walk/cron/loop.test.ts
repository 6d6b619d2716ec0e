import { describe, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

describe.concurrent("/loop", () => {
  test("repeats a task in the conversation of its chat, until it is stopped there", async ({ world, expect }) => {
    const { gateway } = await world.start({ commands: { ownerAllowFrom: ["1001"] } });
    world.model.answer((asked) => ({ text: asked.said.includes("[cron:") ? "All is green." : "hi" }));
    world.telegram.say("my name is Ada");
    await world.told("hi");
    world.telegram.say("/loop status");
    await world.told("Nothing is repeated in this conversation.");
    world.telegram.say("/loop 5m is the build green?");
    await world.told(/I repeat it every 5 min: is the build green\?/);
    await world.told("All is green.", 1001);
    const asked = world.model.calls.find(({ said }) => said.includes("[cron:"));
    expect(asked?.said).toContain("is the build green?");
    expect(JSON.stringify(asked?.messages)).toContain("my name is Ada");
    world.telegram.say("/loop look at the mails");
    await world.told(/I repeat it when it sees fit/);
    const { jobs } = Object(await call(gateway, "cron.list", {}));
    expect(jobs).toHaveLength(2);
    expect(jobs).toContainEqual(expect.objectContaining({ pacing: { min: "1m", max: "1h" } }));
    world.telegram.say("/loop status");
    await world.told(/is the build green\? \(every 5 min\)[\s\S]*look at the mails \(when it sees fit/);
    world.telegram.say("/loop stop is the build green?");
    await world.told("Not repeated any more: is the build green?");
    world.telegram.say("/loop stop");
    await world.told("Not repeated any more: look at the mails");
    await vi.waitFor(async () => expect(await call(gateway, "cron.list", {})).toMatchObject({ total: 0 }), PATIENCE);
    world.telegram.say("/loop 5s too often");
    await world.told("a minute");
  });

  test("is answered once in the web chat", async ({ world, expect }) => {
    const { gateway } = await world.start({ channels: { telegram: { enabled: false } } });
    world.model.answer((asked) => ({ text: asked.said.includes("[cron:") ? "All is green." : "hi" }));
    const sessionKey = "webchat:default:operator";
    const message = "/loop 5m is the build green?";
    await call(gateway, "chat.send", { sessionKey, message, idempotencyKey: "loop-1" });
    const finished = async () => Object(await call(gateway, "cron.runs", {})).entries;
    await vi.waitFor(async () => expect(await finished()).toHaveLength(1), PATIENCE);
    const history = JSON.stringify(await call(gateway, "chat.history", { sessionKey }));
    expect(history.split("All is green.")).toHaveLength(2);
  });

  test("is an owner's", async ({ world, expect }) => {
    const { gateway } = await world.start({ commands: { ownerAllowFrom: ["9999"] } });
    world.telegram.say("/loop 5m spam");
    await world.told(/ownerAllowFrom/, 1001);
    expect(await call(gateway, "cron.list", {})).toMatchObject({ total: 0 });
  });
});

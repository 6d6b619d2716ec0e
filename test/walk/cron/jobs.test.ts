import { describe, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";

const OWNED = { commands: { ownerAllowFrom: ["1001"] } };
const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

describe.concurrent("a scheduled job", () => {
  test("runs once at its time and reports to the owner's chat", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNED);
    world.model.answer((asked) => ({ text: asked.said.includes("[cron:") ? "Two new mails." : "hi" }));
    world.telegram.say("hello");
    await world.told("hi");
    const job = await call(gateway, "cron.add", {
      name: "mails",
      schedule: { kind: "at", at: soon(500) },
      payload: { kind: "agentTurn", message: "Are there new mails?" },
      deleteAfterRun: false,
    });
    expect(job).toMatchObject({
      name: "mails",
      enabled: true,
      sessionTarget: "isolated",
      delivery: { mode: "announce" },
    });
    await world.told("Two new mails.", 1001);
    await outcomesOf(home, 2);
    await vi.waitFor(async () => {
      const { entries } = Object(await call(gateway, "cron.runs", {}));
      expect(entries).toMatchObject([
        { status: "ok", deliveryStatus: "delivered", completionStatus: "succeeded", summary: "Two new mails." },
      ]);
    }, PATIENCE);
    expect(await call(gateway, "cron.list", { enabled: "all" })).toMatchObject({ jobs: [{ enabled: false }] });
    const asked = world.model.calls.find(({ said }) => said.includes("[cron:"));
    expect(asked?.said).toMatch(/mails\] Are there new mails\?\nIt is \d{4}-/);
    expect(asked?.system).toContain("scheduled task");
    expect(asked?.system).not.toContain("SOUL.md");
    world.telegram.say("what about them?");
    await outcomesOf(home, 3);
    expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain("Two new mails.");
  });
});

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, vi } from "vitest";
import { type Home, PATIENCE } from "../kit/gateway/process.ts";
import { inboxOf, outcomesOf } from "../kit/gateway/state-files.ts";
import { test } from "../kit/gateway/world.ts";

interface Story {
  readonly row: { readonly id: number; readonly outcome?: { readonly kind: string; readonly why?: string } };
  readonly seen: number;
  readonly steps: readonly { readonly step: string; readonly text: string }[];
}

async function json(home: Home, ...args: string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await home.run([...args, "--json"]);
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

const storiesOf = async (home: Home, id: string | number) =>
  (await json(home, "why", String(id)))["stories"] as readonly Story[];
const words = (story: Story | undefined) => story?.steps.map(({ step, text }) => `${step}: ${text}`).join("\n");

describe.concurrent("an operator", () => {
  test("shows what became of a message, with the gateway and without", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    const id = world.telegram.say("words from the phone");
    const told = await world.told("words from the phone");
    await outcomesOf(home, 1);
    const sent = `was sent: message ${told.messageId}`;
    await vi.waitFor(async () => expect(words((await storiesOf(home, id))[0])).toContain(sent), PATIENCE);
    const [story] = await storiesOf(home, id);
    expect(words(story)).toContain(`received: message ${id} of`);
    expect(words(story)).toContain("admission: let in");
    expect(words(story)).toMatch(/run: asked fake\/fake-1.*: replied after/);
    expect(words(story)).toContain("end: it was answered");
    expect(await storiesOf(home, told.messageId ?? 0)).toEqual([story]);
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.port}/metrics`)).text();
    expect(metrics).toMatch(/^openclaw_inbox_open 0$/m);
    expect(metrics).toMatch(/^openclaw_outbox_unknown 0$/m);
    await gateway.kill("SIGTERM");
    expect(await storiesOf(home, id)).toEqual([story]);
  });

  test("stops a message in work and takes one out that waits; the next is answered", async ({ world, expect }) => {
    world.script([[/hang/, () => "hang"]]);
    const { home } = await world.start({ messages: { queue: { mode: "followup" } } });
    world.telegram.say("hang on");
    await world.model.called(1);
    world.telegram.say("waits");
    await vi.waitFor(() => expect(inboxOf(home)).toHaveLength(2), PATIENCE);
    const open = await json(home, "inbox", "list");
    expect((open["rows"] as { id: number }[]).map((row) => row.id)).toEqual([2, 1]);
    expect((await json(home, "inbox", "retry", "1"))["did"]).toContain("is being answered at this moment");
    expect((await json(home, "inbox", "drop", "2"))["did"]).toContain("was taken out");
    expect((await json(home, "inbox", "drop", "1"))["did"]).toContain("its run was stopped");
    world.telegram.say("next");
    await world.told("next");
    const dropped = { kind: "dropped", why: "by the operator" };
    expect(await outcomesOf(home, 3)).toEqual([dropped, dropped, { kind: "replied" }]);
    expect((await home.run(["inbox"])).stdout).toBe("Every message has its outcome.\n");
  });

  test("has a failed message answered after all", async ({ world, expect }) => {
    let isBroken = true;
    world.model.answer(({ said }) => (isBroken ? { status: 401, message: "bad key" } : { text: `echo: ${said}` }));
    const { home } = await world.start();
    const id = world.telegram.say("try me");
    await world.told("⚠️");
    const [outcome] = await outcomesOf(home, 1);
    expect(outcome).toMatchObject({ kind: "failed" });
    isBroken = false;
    expect((await json(home, "inbox", "retry", "1"))["did"]).toBe("Message 1 is run again as row 2: it begins now.");
    await world.told(/^echo: [^]*try me/);
    await outcomesOf(home, 2);
    const stories = await storiesOf(home, id);
    expect(stories.map(({ row }) => row.outcome?.kind)).toEqual(["failed", "replied"]);
    expect(words(stories[0])).toContain("again: an operator had it run again, as row 2");
    expect((await home.run(["inbox", "retry", "2"])).stderr).toMatch(
      /it was answered\.\s+fix: Only messages without an outcome/,
    );
  });

  test("sends a refused reply again", async ({ world, expect }) => {
    const { home } = await world.start();
    world.telegram.fail("sendMessage", "403");
    world.telegram.say("hello");
    await outcomesOf(home, 1);
    const failed = () => json(home, "outbox", "list").then((found) => found["rows"] as { id: number; state: string }[]);
    await vi.waitFor(async () => expect(await failed()).toMatchObject([{ id: 1, state: "failed" }]), PATIENCE);
    expect((await json(home, "status"))["status"]).toMatchObject({ journal: { failedOutboxLastDay: 1 } });
    expect((await json(home, "outbox", "retry", "1"))["did"]).toBe("Reply 1 goes out now.");
    await world.told("hello");
    await vi.waitFor(async () => expect(await failed()).toEqual([]), PATIENCE);
  });

  test("shows messages that an outage made too old, and their chats are informed", async ({ world, expect }) => {
    world.script([[/old words/, () => "hang"]]);
    const { home, gateway } = await world.start();
    world.telegram.say("old words");
    await world.model.called(1);
    await gateway.kill("SIGKILL");
    const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"));
    journal.exec("UPDATE inbox SET accepted_at = accepted_at - 7 * 3600000");
    journal.close();
    const again = await home.start();
    await world.told(/away for a while.*One message of .* was not answered/);
    expect(await again.logged("messages too old to be answered")).toMatchObject({ level: "warn", count: 1 });
    expect(await outcomesOf(home, 1)).toMatchObject([{ kind: "dropped", why: expect.stringMatching(/^stale: /) }]);
    expect(world.model.calls).toHaveLength(1);
    expect((await home.run(["status"])).stdout).toContain("1 too old to be answered after an outage");
    expect((await home.run(["doctor", "--only", "store.inbox"])).stdout).toContain("too old to be answered");
  });
});

import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ADA, journalRows, linesOf, readTranscript, textOf, useFaultFixture } from "../fixture.ts";
import { mountRefusal, needsSmallDisk, useSmallDisk } from "./small-disk.ts";

needsSmallDisk();

describe.skipIf(mountRefusal !== undefined)("a full disk", () => {
  const fixture = useFaultFixture();
  const { fill, free } = useSmallDisk(fixture);

  const readiness = async ({ port }: { port: number }) => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    return { status: answer.status, ...((await answer.json()) as { ok: boolean; problems: readonly string[] }) };
  };

  test("reports it once, acknowledges nothing and runs on; once there is space, the same message is answered", async () => {
    const gateway = await fixture().start();
    await fixture().goesOn("before");
    await gateway.logged("delivered");
    await fill();
    fixture().telegram.say("good morning");
    const notice = await fixture().telegram.waitFor((call) => call.text.includes("disk"));
    expect(notice.text).toContain("⚠️");
    expect(await gateway.logged("messages wait for the disk")).toMatchObject({ code: "DISK_FULL" });
    // Two more tries of the same update.
    for (let polls = 0; polls < 3; polls += 1) {
      await fixture().moment(({ method }) => method === "getUpdates");
    }
    expect(fixture().telegram.pending).toHaveLength(1);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);
    expect(fixture().shown("disk")).toHaveLength(1);
    const told = /Messages wait for the disk: No space left on the disk of .+ Free some space/;
    expect(await readiness(gateway)).toEqual({ status: 503, ok: false, problems: [expect.stringMatching(told)] });
    const look = async (command: string) => (await fixture().home.run([command])).stdout;
    expect(await look("status")).toMatch(told);
    expect(await look("health")).toMatch(told);

    await free();
    await fixture().telegram.waitFor((call) => call.text.includes("good morning"));
    await fixture().goesOn();
    expect(fixture().shown("good morning")).toHaveLength(1);
    await gateway.logged("the disk takes writes again");
    expect(await readiness(gateway)).toEqual({ status: 200, ok: true, problems: [] });
    expect(fixture().telegram.pending).toEqual([]);
    expect(await gateway.kill()).toBe(0);
  });

  test("filled while the model thinks: reported, and answered when there is space", async () => {
    const gateway = await fixture().start();
    await fixture().goesOn("before");
    const thinking = Promise.withResolvers<void>();
    fixture().model.answer(async (call) => {
      await thinking.promise;
      return { text: `answer to ${call.said}` };
    });
    fixture().telegram.say("good morning");
    await fixture().model.called(2);
    await fill();
    thinking.resolve();
    const notice = await fixture().telegram.waitFor((call) => call.text.includes("⚠️"));
    expect(notice.text).toContain("disk");
    expect((await fetch(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);

    await free();
    await fixture().telegram.waitFor((call) => call.text.includes("answer to"));
    await fixture().goesOn();
    expect(fixture().shown("answer to")).toHaveLength(1);
    const messages = await readTranscript((await fixture().transcripts())[0] ?? "");
    expect(messages.filter((it) => it.role === "user" && textOf(it).includes("good morning"))).toHaveLength(1);
    expect(await gateway.kill()).toBe(0);
  });

  test("filled before the model asks for a tool: the tool runs once, when its call can be written down", async () => {
    const gateway = await fixture().start();
    await fixture().goesOn("before");
    await gateway.logged("delivered");
    const ran = join(fixture().home.dir, "ran.txt");
    const full = Promise.withResolvers<void>();
    fixture().model.answer(async (call) => {
      await full.promise;
      if (call.isAfterTool) return { text: "tool done" };
      // So long that it does not fit into what is left of the transcript's last block.
      return { tool: "exec", args: { command: `echo x >> '${ran}' # ${"so long ".repeat(2000)}` } };
    });
    fixture().telegram.say("run it");
    await fixture().model.called(2);
    await fill();
    full.resolve();
    await fixture().telegram.waitFor((call) => call.text.includes("disk"));
    expect(existsSync(ran)).toBe(false);
    await free();
    await fixture().telegram.waitFor((call) => call.text.includes("tool done"));
    expect(await readFile(ran, "utf8")).toBe("x\n");
  });

  test("filled while the reply waits for Telegram: it is sent once, when there is space", async () => {
    const gateway = await fixture().start();
    await fixture().goesOn("before");
    fixture().telegram.fail("sendMessage", "429", 1, 1);
    fixture().telegram.say("good morning");
    await gateway.logged("send again");
    await fill();
    expect(await gateway.logged("reply waits for the disk")).toMatchObject({ code: "DISK_FULL" });
    await free();
    await fixture().telegram.waitFor((call) => call.ok && call.text.includes("good morning"));
    await fixture().goesOn();
    expect(fixture().shown("good morning")).toHaveLength(1);
    expect(linesOf(gateway, "stopped")).toEqual([]);
  });

  test("full after 300 turns, when the journal's log has been overwritten once: every message waits and is answered", async () => {
    const gateway = await fixture().start();
    fixture().model.answer((call) => ({ text: `echo: ${call.said}` }));
    const chats = Array.from({ length: 12 }, (_, at) => 2001 + at);
    for (let round = 0; round < 25; round += 1) {
      for (const id of chats) fixture().telegram.say(`round ${round} of ${id}`, { from: { id } });
      for (const id of chats)
        await fixture().telegram.waitFor((call) => call.ok && call.text.includes(`round ${round} of ${id}`));
    }
    await fill();
    for (const id of chats) fixture().telegram.say(`asked on a full disk by ${id}`, { from: { id } });
    const calls = fixture().model.calls.length;
    for (const id of chats)
      await fixture().telegram.waitFor(
        ({ chatId, text }) => chatId === String(id) && text.includes("disk of this gateway is full"),
      );
    await free();
    for (const id of chats)
      await fixture().telegram.waitFor(
        (call) => call.ok && call.text.includes(`asked on a full disk by ${id}`),
        60_000,
      );
    await fixture().goesOn();
    const wrong = chats.flatMap((id) => fixture().telegram.shown(id)).filter((text) => text.includes("went wrong"));
    expect(wrong).toEqual([]);
    for (const id of chats) {
      expect(fixture().shown(`asked on a full disk by ${id}`, id)).toHaveLength(1);
      expect(fixture().shown("disk of this gateway is full", id)).toHaveLength(1);
    }
    // What the model was asked while nothing could be written is at most one call a chat.
    expect(fixture().model.calls.length - calls).toBeLessThanOrEqual(2 * chats.length + 1);
    expect(await gateway.kill()).toBe(0);
    expect(journalRows(fixture().home, "SELECT id FROM inbox WHERE state <> 'done'")).toEqual([]);
  }, 300_000);

  test("full from the start: a clear end, or a gateway that says so", async () => {
    mkdirSync(join(fixture().home.stateDir, "state"), { recursive: true });
    await fill();
    await expect(fixture().start()).rejects.toThrow(/No space left on the disk/);
    expect(fixture().telegram.shown(ADA)).toEqual([]);
  });
});

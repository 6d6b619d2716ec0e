import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { PATIENCE } from "../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
let begun = 0;
let refusal: string | undefined;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.rules = { isOwner: () => true };
  begun = 0;
  refusal = undefined;
  fixture.restart = { whyNot: async () => refusal, begin: () => void (begun += 1) };
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const told = (words: string) => fixture.platform.texts.filter((text) => text.includes(words));

async function bootAgain(): Promise<void> {
  await boot.stop();
  boot = await fixture.boot();
  await boot.recover();
}

it("restarts when the answer is kept, and each later start but the first says nothing", async () => {
  expect(await boot.ask("/restart")).toEqual({ kind: "command", name: "restart" });
  expect(begun).toBe(1);
  await bootAgain();
  await vi.waitFor(() => expect(told("is back")).toHaveLength(1), PATIENCE);
  await bootAgain();
  await boot.ask("hello");
  expect([told("is back").length, told("gateway restarts").length, begun]).toEqual([1, 1, 1]);
});

it("tells each chat that asked at the same time, and each once", async () => {
  await Promise.all(["1", "1", "2"].map(async (chat) => boot.outcome(await boot.tell("/restart", chat))));
  await bootAgain();
  await bootAgain();
  await vi.waitFor(() => expect(told("is back")).toHaveLength(2), PATIENCE);
  const chats = fixture.platform.messages.filter(({ text }) => text.includes("is back")).map(({ chat }) => chat);
  expect(chats.toSorted()).toEqual(["1", "2"]);
});

it("ended before the answer was kept: the next process tells, ends the message and does not restart", async () => {
  const finish = vi.spyOn(boot.journal.inbox, "finish").mockReturnValue(new Promise(() => undefined));
  const row = await boot.tell("/restart");
  await vi.waitFor(() => expect(finish).toHaveBeenCalled(), PATIENCE);
  await bootAgain();
  expect(await boot.outcome(row)).toEqual({ kind: "command", name: "restart" });
  await vi.waitFor(() => expect(told("is back")).toHaveLength(1), PATIENCE);
  expect(begun).toBe(0);
});

it("a refused restart says why, and nobody but an owner may ask", async () => {
  refusal = "`commands.restart` is off.";
  await boot.ask("/restart");
  expect(told("does not restart: commands.restart is off.")).toHaveLength(1);
  fixture.rules = { isOwner: () => false };
  await boot.ask("/restart");
  expect(told("commands.ownerAllowFrom")).toHaveLength(1);
  expect(begun).toBe(0);
});

it("a client finds in its conversation that the gateway is back, once", async () => {
  const key = boot.keyOf("1");
  await boot.chat.send({ sessionKey: key, text: "/restart", media: [], idempotencyKey: "r-1" });
  await vi.waitFor(() => expect(begun).toBe(1), PATIENCE);
  await bootAgain();
  await bootAgain();
  const { entries } = await boot.sessions.history(key, 10);
  expect(entries.filter((entry) => JSON.stringify(entry).includes("is back"))).toHaveLength(1);
  expect(fixture.platform.texts).toEqual([]);
});

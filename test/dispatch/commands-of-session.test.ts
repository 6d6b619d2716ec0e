import { afterEach, beforeEach, expect, it } from "vitest";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../kit/dispatch.ts";
import { peer } from "../kit/inbound.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.model.answer(() => ({ text: "an answer" }));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

const told = () => fixture.platform.texts.at(-1);

it("/send off leaves the session's messages unanswered until /send on, also after a restart; commands are answered", async () => {
  fixture.rules = { isOwner: () => true };
  await boot.ask("/send off");
  expect(told()).toContain("are not answered (set here)");
  expect(await boot.ask("hello")).toMatchObject({ kind: "dropped" });
  await boot.stop();
  boot = await fixture.boot();
  expect(await boot.ask("hello again")).toMatchObject({ kind: "dropped" });
  expect(fixture.model.calls).toEqual([]);
  await boot.ask("/send sometimes");
  expect(told()).toContain("Nothing is changed.");
  await boot.ask("/send on");
  expect(told()).toContain("are answered (set here)");
  expect(await boot.ask("now?")).toEqual({ kind: "replied" });
  await boot.ask("/send inherit");
  expect(told()).toContain("as configured");
});

it("/send of somebody who is no owner changes nothing", async () => {
  fixture.rules = { isOwner: () => false };
  await boot.ask("/send off");
  expect(told()).toContain("commands.ownerAllowFrom");
  expect(await boot.ask("hello")).toEqual({ kind: "replied" });
});

it("/whoami says who the sender is, in which chat and session, and the name for lists", async () => {
  const from = { ...peer("7"), chat: { kind: "group", id: "7", title: "Friends" } } as const;
  const sender = { id: "42", name: "Ann", username: "ann" };
  await boot.outcome(await boot.tell("/whoami", "7", { from, sender }));
  const lines = told()?.split("\n") ?? [];
  expect(lines.slice(0, 4)).toEqual([
    "You are Ann: a member of a group, no owner.",
    "Name in lists such as commands.ownerAllowFrom: telegram:42",
    "Username: ann",
    "Chat: the group Friends (telegram:7)",
  ]);
  expect(lines[4]).toMatch(/^Session: \S+$/);
});

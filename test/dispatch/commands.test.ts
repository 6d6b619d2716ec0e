import { afterEach, beforeEach, expect, it } from "vitest";
import { commandTable } from "../../src/dispatch/commands/table.ts";
import type { CommandContribution } from "../../src/types/contribution.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";

/** A command of a plugin: one row, registered once. Nothing else of the gateway knows it. */
const WEATHER: CommandContribution = {
  name: "weather",
  aliases: ["w"],
  help: "The weather of a place.",
  who: "anyone",
  run: async ({ args, isOwner, session }) => {
    if (args === "fail") throw new Error("no such place");
    return `Sunny in ${args} (${isOwner ? "owner" : "guest"}, ${session})`;
  },
};

let fixture: DispatchFixture;
let boot: Boot;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.commands = [WEATHER];
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

it("a command that a contributor adds answers, is listed, and asks no model", async () => {
  expect(await boot.ask("/weather Vienna")).toEqual({ kind: "command", name: "weather" });
  await boot.ask("/w Graz");
  await boot.ask("/help");
  const [first, second, help] = fixture.platform.texts;
  expect(first).toContain("Sunny in Vienna");
  expect(second).toContain("Sunny in Graz");
  expect(help).toContain("/weather – The weather of a place.");
  expect(fixture.model.calls).toEqual([]);
});

it("a command that breaks tells the chat, and the next one works", async () => {
  expect((await boot.ask("/weather fail")).kind).toBe("failed");
  expect(await boot.ask("/weather Linz")).toEqual({ kind: "command", name: "weather" });
});

it("two commands of one name are a mistake that is found at the start", () => {
  expect(() => commandTable([{ ...WEATHER, aliases: ["stop"] }])).toThrow('two commands have the name "/stop"');
});

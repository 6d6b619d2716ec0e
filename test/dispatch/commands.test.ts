import { afterEach, beforeEach, expect, it } from "vitest";
import { COMMAND_NAMES } from "../../src/dispatch/commands/table.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import type { ContributionRegistry } from "../../src/types/contribution.ts";
import type { CommandContribution } from "../../src/types/contribution.ts";
import { DISK_PROBE_INTERVAL_MS } from "../../src/store/retry-while-disk-full.ts";
import { manualClock } from "../kit/clock.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import { until } from "../kit/until.ts";

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

it("a command that fails informs the chat, and the next one works", async () => {
  expect((await boot.ask("/weather fail")).kind).toBe("failed");
  expect(await boot.ask("/weather Linz")).toEqual({ kind: "command", name: "weather" });
});

it("a contributor's command that never answers delays nothing else of its chat, and is given up after a minute", async () => {
  const clock = manualClock();
  fixture.commands = [
    WEATHER,
    { ...WEATHER, name: "stuck", aliases: [], run: () => new Promise<never>(() => undefined) },
  ];
  boot = await fixture.boot({ clock });
  const stuck = await boot.tell("/stuck");
  expect(await boot.ask("/weather Linz")).toEqual({ kind: "command", name: "weather" });
  expect(boot.dispatch.stateOf(stuck)).toBe("waiting");
  clock.pass(60_000);
  expect((await boot.outcome(stuck)).kind).toBe("failed");
  expect(fixture.platform.texts.at(-1)).toContain("went wrong");
});

it("a command whose answer waits for the disk runs once", async () => {
  const clock = manualClock();
  const disk = diskOfDatabases();
  let runs = 0;
  const run = async () => {
    runs += 1;
    disk.isFull = () => true;
    return `ran ${runs} times`;
  };
  fixture.commands = [{ ...WEATHER, run }];
  boot = await fixture.boot({ clock });
  const row = await boot.tell("/weather Linz");
  await until(() => clock.waits.includes(DISK_PROBE_INTERVAL_MS));
  disk.isFull = () => false;
  clock.pass(DISK_PROBE_INTERVAL_MS);
  expect(await boot.outcome(row)).toEqual({ kind: "command", name: "weather" });
  expect([runs, fixture.platform.texts.length]).toEqual([1, 1]);
});

it("a contributor cannot add a command with a name of the gateway's own", () => {
  const added = new Contributions([]);
  added.reserve("commands", COMMAND_NAMES);
  const adds = {
    id: "weather",
    register: (to: ContributionRegistry) => to.addCommand({ ...WEATHER, aliases: ["stop"] }),
  };
  expect(() => added.add(adds)).toThrow('"stop" is a name of the gateway\'s own commands');
  expect(added.commands).toEqual([]);
});

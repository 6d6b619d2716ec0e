import { afterEach, beforeEach, expect, it } from "vitest";
import { COMMAND_NAMES } from "../../src/dispatch/commands/table.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import type { ContributionRegistry } from "../../src/types/contribution.ts";
import type { CommandContribution } from "../../src/types/contribution.ts";
import { DISK_PROBE_INTERVAL_MS } from "../../src/store/retry-while-disk-full.ts";
import { manualClock } from "../kit/clock.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import { nextMessage } from "../kit/inbound.ts";
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

it.each(["config", "debug", "bash"])("/%s of other gateways is answered and goes to no model", async (name) => {
  expect(await boot.ask(`/${name} set a=1`)).toEqual({ kind: "command", name });
  expect(fixture.platform.texts).toEqual([expect.stringContaining(`/${name} is no command here: `)]);
  expect(fixture.model.calls).toEqual([]);
  await boot.ask("/help");
  expect(fixture.platform.texts.at(-1)).not.toContain(`/${name}`);
});

it("a command with a hyphen is found by its name in menus without hyphens, and listed once", async () => {
  fixture.commands = [{ ...WEATHER, name: "show-weather", aliases: ["sky-now"] }];
  boot = await fixture.boot();
  for (const text of ["/show-weather Vienna", "/show_weather Vienna", "/sky_now Vienna"])
    expect(await boot.ask(text)).toEqual({ kind: "command", name: "show-weather" });
  await boot.ask("/help");
  expect(fixture.platform.texts.at(-1)?.match(/show.weather/g)).toEqual(["show-weather"]);
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

it("a command over which the gateway has ended twice is not run a third time, and its chat is informed", async () => {
  let runs = 0;
  const ends = () => ((runs += 1), new Promise<never>(() => undefined));
  fixture.commands = [WEATHER, { ...WEATHER, name: "crash", aliases: [], run: ends }];
  await boot.stop();
  boot = await fixture.boot();
  const row = await boot.tell("/crash");
  for (const run of [1, 2]) {
    await until(() => runs === run);
    await boot.stop();
    boot = await fixture.boot();
    await boot.recover();
  }
  expect(await boot.outcome(row)).toEqual({
    kind: "failed",
    why: "the gateway ended twice while it ran the command crash",
  });
  expect(runs).toBe(2);
  expect(fixture.platform.texts).toEqual([expect.stringContaining("The gateway ended twice")]);
  expect(await boot.ask("/weather Linz")).toEqual({ kind: "command", name: "weather" });
});

it("/stop ends a run while the disk is full", async () => {
  fixture.model.answer(() => "hang");
  const row = await boot.tell("hello");
  await until(() => fixture.model.calls.length === 1);
  const disk = diskOfDatabases();
  const stop = await accepted("/stop");
  disk.isFull = () => true;
  void boot.dispatch.admit(stop);
  await until(() => fixture.log.lines.includes("info run ended"));
  disk.isFull = () => false;
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  expect(await boot.outcome(stop)).toEqual({ kind: "command", name: "stop" });
});

it.each(["stop", "STOP!!!", "please stop.", "Stop, don’t do anything", "/stop!", "Hör auf!", "停下来", "dur"])(
  "a message that says nothing but %j ends what runs and what waits, and is for the agent when nothing runs",
  async (text) => {
    fixture.model.answer(() => "hang");
    const row = await boot.tell("tidy my mails");
    await until(() => fixture.model.calls.length === 1);
    const waiting = await boot.tell("and my files");
    const more = await boot.tell(`${text} and tell me why you began`);
    expect(await boot.ask(text)).toEqual({ kind: "command", name: "stop" });
    expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
    expect(await boot.outcome(waiting)).toEqual({ kind: "aborted" });
    expect(await boot.outcome(more)).toEqual({ kind: "aborted" });
    fixture.model.answer(() => ({ text: "What should I stop?" }));
    expect(await boot.ask(text)).toEqual({ kind: "replied" });
  },
);

async function accepted(text: string) {
  const [one] = await boot.journal.inbox.accept([nextMessage(text)]);
  if (!one) throw new Error("not accepted");
  return one.row;
}

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

it("a forwarded text gives no commands with the rights of whoever forwards it", async () => {
  const forwarded = { context: { isForwarded: true } };
  expect(await boot.outcome(await boot.tell("/send off", "owner", forwarded))).toEqual({ kind: "replied" });
  await boot.outcome(await boot.tell("/think high", "owner", forwarded));
  await boot.outcome(await boot.tell("look: /think high /elevated full", "owner", forwarded));
  const said = fixture.model.calls.map((call) => call.said);
  expect(said[0]).toContain("/send off");
  expect(said[1]).toContain("/think high");
  expect(said[2]).toContain("look: /think high /elevated full");
  expect(boot.sessions.peek(boot.keyOf("owner"))).not.toHaveProperty("sendPolicy");
  expect(boot.sessions.peek(boot.keyOf("owner"))).not.toHaveProperty("thinkingLevel");
});

it.each(["/stop", "/new", "/new hello", "/weather Linz", "/think high", "/approve 1 once", "/reset"])(
  "%s in an edit does not run, and its sender learns so",
  async (text) => {
    await boot.ask("hello", "owner");
    const before = boot.sessions.peek(boot.keyOf("owner"));
    const edited = await boot.outcome(await boot.tell(text, "owner", { isEdit: true }));
    expect(edited).toMatchObject({ kind: "dropped", why: "a command in an edit" });
    expect(fixture.platform.texts.at(-1)).toContain("send it as a new one");
    expect(boot.sessions.peek(boot.keyOf("owner"))).toEqual(before);
    expect(fixture.model.calls).toHaveLength(1);
  },
);

it("an edit that is no command is answered, with its directives", async () => {
  const edited = await boot.tell("what is 2+2? /think high", "owner", { isEdit: true });
  expect(await boot.outcome(edited)).toEqual({ kind: "replied" });
  expect(fixture.model.calls[0]?.said).not.toContain("/think");
});

it("a command that begins a turn says so where the agent may not answer", async () => {
  await boot.ask("/send off", "owner");
  expect(await boot.ask("hello", "owner")).toMatchObject({ kind: "dropped" });
  expect(await boot.ask("/new", "owner")).toMatchObject({ kind: "failed" });
  expect(fixture.platform.texts.at(-1)).toContain("send policy of this conversation is deny");
  expect(fixture.model.calls).toEqual([]);
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { transcriptOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";
import { ofEngine, recordedBy, type RecordedCall, UNDEFINED } from "../../kit/plugins/recorder.ts";
import { answerTo, startRecorder } from "../../kit/plugins/recorder-walk.ts";
import { until } from "../../kit/until.ts";

const named = (home: Home, name: string) => recordedBy(home).filter(({ call }) => call === name);
const rolesOf = (call: RecordedCall | undefined) => call?.params.messages?.map(({ role }) => role);

describe.concurrent("an installed engine", () => {
  test("is told which turn comes from the gateway itself", async ({ world }) => {
    const { home } = await startRecorder(
      world,
      {},
      {
        commands: { ownerAllowFrom: ["1001"] },
        agents: { defaults: { model: { primary: "fake/fake-1" }, heartbeat: { every: "7d" } } },
      },
    );
    world.model.answer(({ said }) => ({ text: said.includes("This is a heartbeat") ? "The disk is full." : "well" }));
    await answerTo(world, "hello");
    await writeFile(join(home.stateDir, "workspace", "HEARTBEAT.md"), "- is there space on the disk?");
    expect(await home.run(["system", "heartbeat", "now"])).toMatchObject({ code: 0 });
    await world.told("The disk is full.");
    // The owner's conversation gets it after the chat.
    await until(() => transcriptOf(home, ":1001").some(({ type }) => type === "custom_message"));
    await answerTo(world, "and now?");
    await until(() => named(home, "afterTurn").length === 3);
    const OF_GATEWAY = { kind: "internal_system" };
    const HEARTBEAT = { kind: "internal_system", sourceTool: "heartbeat" };
    const signals = named(home, "assemble").map(({ params }) => params["inputProvenance"]);
    expect(signals).toEqual([
      [UNDEFINED],
      // A heartbeat has a conversation of its own; what it found is a note of the gateway in the owner's.
      [HEARTBEAT],
      [UNDEFINED, UNDEFINED, OF_GATEWAY, UNDEFINED],
    ]);
    expect(named(home, "afterTurn").map(({ params }) => params["isHeartbeat"])).toEqual([false, true, false]);
  });

  test("that leaves compaction to the gateway has it done after a reply, when its answer fills the window", async ({
    world,
  }) => {
    const { home } = await startRecorder(world, { estimate: 95_000 });
    const isSummary = (system: string) => system.startsWith("You write the memory");
    world.model.answer(({ system }) => ({ text: isSummary(system) ? "SUMMARY of the gateway" : "well" }));
    const long = "word ".repeat(12_000);
    for (const turn of [1, 2, 3]) await answerTo(world, `turn ${turn} ${long}`);
    await until(() => world.model.calls.some(({ system }) => isSummary(system)));
    await until(() => transcriptOf(home, ":1001").some(({ type }) => type === "compaction"));
    expect(named(home, "compact")).toEqual([]);
  });

  test("gets a turn that a kill interrupted under the same key, with the tool's result, and is told of it once", async ({
    world,
  }) => {
    const { home, gateway } = await startRecorder(world, { owns: true, commits: true });
    let mayAnswer = false;
    world.model.answer((call) => {
      if (!call.said.includes("note")) return { text: "well" };
      if (!call.isAfterTool) return { tool: "recorder_note", args: { word: "milk" } };
      return mayAnswer ? { text: `done: ${call.toolText}` } : "hang";
    });
    await answerTo(world, "hello");
    world.telegram.say("note it", { from: { id: 1001, first_name: "Ada" } });
    await world.model.called(3);
    await gateway.kill("SIGKILL");
    mayAnswer = true;
    await home.start();
    await world.told("done: noted milk");
    await until(() => ofEngine(recordedBy(home)).at(-1)?.call === "dispose");
    const commits = named(home, "commitTurn");
    expect(commits).toHaveLength(2);
    expect(rolesOf(commits[1])).toEqual(["user", "assistant", "toolResult", "assistant"]);
    const again = named(home, "assemble").at(-1);
    expect(rolesOf(again)).toEqual(["user", "assistant", "user", "assistant", "toolResult"]);
    expect(again?.params["prePromptMessageCount"]).toBe(2);
    const turnEntry = transcriptOf(home, ":1001").findLast(({ message }) => message?.role === "user");
    expect(commits[1]?.params["advancementKey"]).toBe(`${String(commits[1]?.params["sessionId"])}:${turnEntry?.id}`);
  });
});

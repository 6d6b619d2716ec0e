import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { PATIENCE, type Home } from "../../kit/gateway/process.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const MODES = ["steer", "steer-backlog", "steer+backlog", "followup", "queue", "collect", "interrupt"] as const;
type Mode = (typeof MODES)[number];
const MOMENTS = ["before a tool call", "during a tool call", "after a tool call"] as const;
type Moment = (typeof MOMENTS)[number];

const configOf = (mode: Mode) => ({
  commands: { ownerAllowFrom: ["1001"] },
  agents: { defaults: { sandbox: { mode: "off" } } },
  tools: { exec: { security: "full" } },
  messages: { queue: { mode, debounceMs: 0 } },
});

/** A turn with one tool call, which goes no further than the moment until the second message is there. */
function turnHeldAt(
  world: World,
  home: Home,
  moment: Moment,
): { readonly held: Promise<void>; readonly release: () => Promise<void> } {
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const workspace = join(home.stateDir, "workspace");
  world.model.answer(async (call) => {
    const isFirst = !call.isAfterTool && !call.said.includes("two");
    const isHeld = moment === "before a tool call" ? isFirst : moment === "after a tool call" && call.isAfterTool;
    if (isHeld) {
      reached.resolve();
      await go.promise;
    }
    if (isFirst) return { tool: "exec", args: { command: moment === "during a tool call" ? WAITING : "true" } };
    return { text: `answer to ${call.said.includes("two") ? "two" : "one"}` };
  });
  const held = moment === "during a tool call" ? begun(join(workspace, "begun")) : reached.promise;
  const release = async () => {
    go.resolve();
    await writeFile(join(workspace, "go"), "");
  };
  return { held, release };
}

const WAITING = "touch begun; until [ -e go ]; do sleep 0.02; done";

const begun = (file: string): Promise<void> =>
  vi.waitFor(() => {
    if (!existsSync(file)) throw new Error("the command has not begun");
  }, PATIENCE);

/** How both messages end. */
function endsOf(mode: Mode): readonly string[] {
  if (mode === "interrupt") return ["aborted", "replied"];
  return mode.startsWith("steer") ? ["replied", "steered"] : ["replied", "replied"];
}

/** What the chat shows. An answer that was on its way when the message joined the turn comes before the answer to that message. */
function shownOf(mode: Mode, moment: Moment): readonly string[] {
  const hasBoth = mode !== "interrupt" && (!mode.startsWith("steer") || moment === "after a tool call");
  return hasBoth ? ["answer to one", "answer to two"] : ["answer to two"];
}

const cases = MODES.flatMap((mode) => MOMENTS.map((moment) => [mode, moment] as const));

describe.concurrent.each(cases)("%s: a message %s", (mode, moment) => {
  test("is answered once, and how its mode says", async ({ world, expect }) => {
    const { home } = await world.start(configOf(mode));
    const { held, release } = turnHeldAt(world, home, moment);
    world.telegram.say("one");
    await held;
    world.telegram.say("two");
    await vi.waitFor(() => expect(world.telegram.pending).toHaveLength(0), PATIENCE);
    await release();
    await world.told("answer to two");
    expect((await outcomesOf(home, 2)).map((outcome) => outcome?.["kind"])).toEqual(endsOf(mode));
    expect(world.telegram.shown(1001).join("\n\n")).toBe(shownOf(mode, moment).join("\n\n"));
  });
});

import { describe, expect, it, onTestFinished } from "vitest";
import { Processes } from "../../../src/tools/process/processes.ts";
import { backendTools, toolsFor } from "../../../src/tools/tools.ts";
import { toolSchema } from "../../../src/tools/schema.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";
import { OPERATOR, type Principal } from "../../../src/types/run/principal.ts";
import type { Tool, ToolContribution, ToolScene } from "../../../src/types/run/tool.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { unexpected } from "../../kit/create-tools.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";
import { openGround } from "./ground.ts";
import { MEDIA, mediaContributions } from "./media-kit.ts";
import { moreContributions } from "./more-kit.ts";
import { sessionToolsKit } from "./session-kit.ts";
import { webContributions } from "./web-kit.ts";

const GUEST: Principal = { kind: "sender", id: "2" };

/** A workspace, and the processes in its background, until the test ends. */
function openPlace() {
  const { workspace, close } = openGround();
  const processes = new Processes({ clock: systemClock, exited: () => undefined });
  onTestFinished(async () => {
    await processes.close();
    close();
  });
  return { workspace, processes };
}
type Place = ReturnType<typeof openPlace>;

const contributionsIn = ({ processes }: Place): readonly ToolContribution[] => [
  ...backendTools(noRules, processes),
  ...sessionToolsKit().contributions,
  ...mediaContributions(),
  ...webContributions(),
  ...moreContributions(),
];

/** Runs that differ in all that the look of a tool may depend on. */
function scenesIn({ workspace }: Place): readonly ToolScene[] {
  const usual = agentSettings(workspace);
  const agents: readonly Omit<ToolScene["agent"], "id">[] = [
    usual,
    { ...usual, media: MEDIA },
    { ...usual, tools: { ...usual.tools, applyPatch: { enabled: false, workspaceOnly: true, allowModels: [] } } },
  ];
  const host = hostBackends({ settings: usual, rights: "owner", deniedPaths: [] });
  const confined = { ...host, exec: { ...host.exec, note: "Commands run in a sandbox." } };
  return agents.flatMap((agent) =>
    [OPERATOR, GUEST].flatMap((principal) =>
      [host, confined].flatMap((backends) =>
        [["exec"], ["exec", "process"]].map((names) => ({
          ...backends,
          names,
          agent: { ...agent, id: agentId("main") },
          acting: { principal, sessionKey: sessionKey("s1") },
        })),
      ),
    ),
  );
}

const looksOf = (tool: Tool) => ({
  name: tool.name,
  label: tool.label,
  description: tool.description,
  schema: toolSchema(tool),
  timeoutMs: tool.timeoutMs,
  hasSideEffects: tool.hasSideEffects,
  prepares: tool.prepare !== undefined,
});

describe("a tool that is made when it is first used", () => {
  it("looks the same in each run for which its contribution says so, and is missing where it says that", () => {
    const place = openPlace();
    let compared = 0;
    for (const contribution of contributionsIn(place)) {
      const { appearance } = contribution;
      if (!appearance) continue;
      const known = new Map<string, ReturnType<typeof looksOf>>();
      for (const scene of scenesIn(place)) {
        const key = appearance(scene);
        const tool = contribution.forRun(scene);
        expect(tool !== undefined, contribution.name).toBe(key !== false);
        if (key === false || !tool) continue;
        const looks = looksOf(tool);
        expect(looks).toEqual(known.get(key) ?? looks);
        known.set(key, looks);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(200);
  });

  it("is made once for a run, at its first call, and not at all for a run that does not call it", async () => {
    const place = openPlace();
    const made: string[] = [];
    const [write] = backendTools(noRules).filter(({ name }) => name === "write");
    const counted: ToolContribution = {
      ...write!,
      forRun(scene) {
        made.push(scene.acting.sessionKey);
        return write!.forRun(scene);
      },
    };
    const [scene] = scenesIn(place);
    const toolIn = (key: string) => {
      const acting = { ...scene!.acting, sessionKey: sessionKey(key) };
      return toolsFor([counted], { ...scene!, acting }, unexpected).tools[0]!;
    };
    const first = toolIn("first");
    const [idle, busy] = [toolIn("idle"), toolIn("busy")];
    expect(looksOf(idle)).toEqual(looksOf(first));
    expect(made).toEqual(["first"]);

    const context = toolContext(place.workspace);
    expect(textOf(await busy.run({ path: "a", content: "x" }, context))).toContain("Wrote 1 byte");
    expect(textOf(await busy.run({ path: "b", content: "y" }, context))).toContain("Wrote 1 byte");
    expect(made).toEqual(["first", "busy"]);
  });

  it("says that it is gone when the config took it away before its first call", async () => {
    const place = openPlace();
    let isOn = true;
    const [read] = backendTools(noRules).filter(({ name }) => name === "read");
    const switched: ToolContribution = { ...read!, forRun: (scene) => (isOn ? read!.forRun(scene) : undefined) };
    const [scene] = scenesIn(place);
    toolsFor([switched], scene!, unexpected);
    const tool = toolsFor([switched], scene!, unexpected).tools[0]!;
    isOn = false;
    await expect(tool.run({ path: "a" }, toolContext(place.workspace))).rejects.toThrow(
      "read is not available any more",
    );
  });
});

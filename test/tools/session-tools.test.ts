import { expect, it } from "vitest";
import { hostBackends } from "../../src/tools/host/host.ts";
import { runTool } from "../../src/tools/run.ts";
import { toolsFor } from "../../src/tools/tools.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR, type Principal } from "../../src/types/run/principal.ts";
import { unexpected } from "../kit/create-tools.ts";
import { sessionToolsKit } from "../contracts/tool/session-kit.ts";
import { agentSettings, textOf, toolContext } from "../kit/tools.ts";

const GUEST: Principal = { kind: "sender", id: "telegram:77" };

/** Calls a tool in the session `s1`. */
async function call(kit: ReturnType<typeof sessionToolsKit>, name: string, input: unknown, principal = OPERATOR) {
  const settings = agentSettings("/w");
  const backends = hostBackends({ settings, rights: "owner", deniedPaths: [] });
  const agent = { ...settings, id: agentId("main") };
  const scene = { ...backends, agent, acting: { principal, sessionKey: sessionKey("s1") } };
  const tool = toolsFor(kit.contributions, scene, unexpected).tools.find((one) => one.name === name);
  if (!tool) return expect.fail(`there is no tool ${name}`);
  return runTool(tool, input, toolContext("/w"));
}

it("keeps the plan of the run's session, in either spelling, and replaces it", async () => {
  const kit = sessionToolsKit();
  const plan = [
    { step: "look", status: "completed" },
    { step: "write", status: "in_progress" },
  ] as const;
  expect(textOf(await call(kit, "update_plan", { plan, explanation: "why" }))).toContain("1 of 2 steps completed");
  expect(kit.plans.get(sessionKey("s1"))).toEqual({ explanation: "why", steps: plan });
  await call(kit, "update_plan", { markdown: "# Plan\n- [x] look\n- [~] write\n- [ ] test\n" });
  expect(kit.plans.get(sessionKey("s1"))).toEqual({ steps: [...plan, { step: "test", status: "pending" }] });
});

it("refuses a plan that has two steps in progress, too many steps or bytes, or no steps in its markdown", async () => {
  const kit = sessionToolsKit();
  const step = (status: string, text = "x") => ({ step: text, status });
  const bad = [
    {},
    { plan: [step("in_progress"), step("in_progress")] },
    { plan: Array.from({ length: 51 }, () => step("pending")) },
    { plan: [step("pending", "x".repeat(9000))] },
    { plan: [step("done")] },
    { plan: [step("pending", " ")] },
    { markdown: "first this, then that" },
    { plan: [step("pending")], markdown: "- [ ] x" },
    { markdown: "- [ ] x\n".repeat(51) },
  ];
  for (const input of bad)
    expect((await call(kit, "update_plan", input)).isError, JSON.stringify(input).slice(0, 80)).toBe(true);
  expect(kit.plans.size).toBe(0);
});

it("shows and changes sessions for owners; others see their own session alone, and change no model", async () => {
  const kit = sessionToolsKit();
  expect(textOf(await call(kit, "session_status", { sessionKey: "s2", model: "a/b" }))).toContain("Session: s2");
  expect(kit.models.get(sessionKey("s2"))).toBe("a/b");
  const asClients = await call(kit, "session_status", { sessionKey: "agent:main:s2" });
  expect(asClients).toMatchObject({ details: { status: "ok", sessionKey: "agent:main:s2" } });
  expect(textOf(await call(kit, "session_status", { model: "forbidden" }))).toContain("may not be used");
  expect(textOf(await call(kit, "session_status", { sessionKey: "none" }))).toContain("no session");
  const hidden = await call(kit, "session_status", { sessionKey: "s3", model: "a/b" });
  expect([hidden.isError, textOf(hidden)]).toEqual([true, "It is hidden."]);
  const own = await call(kit, "session_status", {}, GUEST);
  expect(textOf(own)).toBe("Session: s1");
  for (const input of [{ sessionKey: "s2" }, { model: "a/b" }, { sessionKey: "s1", model: "default" }]) {
    const refused = await call(kit, "session_status", input, GUEST);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain("Only an owner's conversations");
  }
  expect([...kit.models.keys()]).toEqual(["s2"]);
});

it("lists the agent itself and those that the config lets it start", async () => {
  const ids = async (mayStart: readonly string[]) => {
    const { details } = await call(sessionToolsKit(mayStart), "agents_list", {});
    return JSON.stringify(details);
  };
  expect(await ids([])).toBe('{"requester":"main","allowAny":false,"agents":[{"id":"main"}]}');
  expect(await ids(["home"])).toContain('"agents":[{"id":"main"},{"id":"home"}]');
  expect(await ids(["*"])).toContain('{"id":"work","name":"Work"}');
});

import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { execTool } from "../../../src/tools/exec.ts";
import { withSessionExec } from "../../../src/tools/exec/elevation.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import type { ExecBackend } from "../../../src/types/run/backend.ts";
import { OPERATOR, type Acting } from "../../../src/types/run/principal.ts";
import type { ApprovalQuestion, Elevation } from "../../../src/types/run/tool.ts";
import type { ExecSettings } from "../../../src/types/settings.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "elevation-"));
  mkdirSync(join(workspace, "inside"));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const GUEST: Acting["principal"] = { kind: "member", id: "telegram:77" };

interface Wish {
  readonly level?: Elevation["level"];
  readonly elevated?: boolean;
  /** What else the call says. */
  readonly call?: Readonly<Record<string, string>>;
  /** The run's commands are on the machine, and a sandbox works, or none does. */
  readonly usual?: "machine" | "machine without a sandbox";
  readonly acting?: Partial<Acting>;
  readonly exec?: Partial<ExecSettings>;
}

/** Runs `pwd > where` in a sandbox, which is a directory of its own, or outside of it. */
async function run({ level, elevated, call = {}, usual, acting = {}, exec = {} }: Wish) {
  const asked: ApprovalQuestion[] = [];
  const settings = agentSettings(workspace, { exec: { security: "allowlist", ask: "on-miss", ...exec } });
  const machine = hostBackends({ settings, rights: "owner", deniedPaths: [] }).exec;
  const sandbox: ExecBackend = {
    ...machine,
    isSandbox: true,
    isIsolated: () => true,
    note: "Commands run in a sandbox.",
    directory: () => machine.directory("inside", workspace),
  };
  const whole: Acting = { principal: OPERATOR, sessionKey: sessionKey("s1"), ...acting };
  const tool = execTool({
    settings: settings.exec,
    rules: noRules,
    backend: usual === undefined ? sandbox : machine,
    ...(usual === "machine" && { sandboxed: () => sandbox }),
    hasOwnerRights: whole.principal.kind === "owner",
    ...(level && { elevation: { level, backend: machine, acting: whole } }),
  });
  const context = {
    ...toolContext(workspace),
    approvals: {
      ask: async (question: ApprovalQuestion) => {
        asked.push(question);
        return "allow-once" as const;
      },
    },
  };
  const result = await tool.run(
    { command: "pwd > where", ...call, ...(elevated !== undefined && { elevated }) },
    context,
  );
  const ran = (dir: string) => existsSync(join(workspace, dir, "where"));
  const where = { inside: ran("inside"), outside: ran(".") };
  for (const dir of ["inside", "."]) rmSync(join(workspace, dir, "where"), { force: true });
  return { text: textOf(result), asked, details: result.details, ...where };
}

describe("a command of a sandboxed run", () => {
  it("stays in the sandbox, without a question, unless the model asks for more", async () => {
    for (const level of [undefined, "off", "request"] as const)
      expect(await run({ ...(level && { level }) })).toMatchObject({ inside: true, outside: false, asked: [] });
  });

  it("is refused when nobody who wrote the turn may permit it, or it was forbidden", async () => {
    expect(await run({ elevated: true })).toMatchObject({ inside: false, outside: false, asked: [] });
    expect((await run({ elevated: true })).text).toContain("tools.elevated");
    expect((await run({ elevated: true, level: "off" })).text).toContain("/elevated");
    expect(await run({ elevated: true, level: "off" })).toMatchObject({ inside: false, outside: false });
  });

  it("leaves it one by one, each with a question that says so", async () => {
    const { asked, ...ran } = await run({ elevated: true, level: "request" });
    expect(ran).toMatchObject({ inside: false, outside: true, details: { elevated: "ask" } });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.reason).toMatch(/^Elevated: it runs on the machine, outside the sandbox\./);
  });

  it.each([
    ["on", 1],
    ["ask", 1],
    ["full", 0],
  ] as const)("with /elevated %s it is outside, after %i questions", async (level, questions) => {
    const { asked, ...ran } = await run({ level });
    expect(ran).toMatchObject({ inside: false, outside: true, details: { elevated: level } });
    expect(asked).toHaveLength(questions);
    expect((await run({ level, elevated: false })).inside).toBe(true);
  });

  it.each(["on", "full"] as const)("of somebody who is no owner is asked about with /elevated %s", async (level) => {
    const exec = { security: "full", ask: "off" } as const;
    expect((await run({ level, exec, acting: { principal: GUEST } })).asked).toHaveLength(1);
  });

  it("never runs where commands are switched off, and is asked about where the conversation wants that", async () => {
    expect(await run({ level: "full", exec: { security: "deny" } })).toMatchObject({ inside: false, outside: false });
    expect((await run({ level: "full", acting: { exec: { ask: "always" } } })).asked).toHaveLength(1);
    expect(await run({ level: "full", acting: { exec: { security: "deny" } } })).toMatchObject({ outside: false });
  });
});

describe("a call that says where or how strictly its command runs", () => {
  const inside = { inside: true, outside: false };
  const nowhere = { inside: false, outside: false };

  it("keeps it in the sandbox with host: sandbox, whatever else lets it out", async () => {
    for (const wish of [{}, { level: "full" }, { elevated: true, level: "on" }, { usual: "machine" }] as const)
      expect(await run({ ...wish, call: { host: "sandbox" } })).toMatchObject({ ...inside, asked: [] });
    const none = await run({ usual: "machine without a sandbox", call: { host: "sandbox" } });
    expect(none).toMatchObject(nowhere);
    expect(none.text).toContain("no sandbox works");
  });

  it("gets it out of no sandbox with host: gateway, and to no other machine", async () => {
    const refused = await run({ call: { host: "gateway" } });
    expect(refused).toMatchObject({ ...nowhere, asked: [] });
    expect(refused.text).toContain("elevated: true");
    expect(await run({ level: "on", call: { host: "gateway" } })).toMatchObject({ outside: true });
    expect((await run({ usual: "machine", call: { host: "node" } })).text).toContain("no other machine");
  });

  it("makes its command stricter and never looser", async () => {
    const open = { usual: "machine", exec: { security: "full", ask: "off" } } as const;
    expect((await run(open)).asked).toHaveLength(0);
    expect((await run({ ...open, call: { ask: "always" } })).asked).toHaveLength(1);
    expect((await run({ ...open, call: { security: "deny" } })).text).toContain("security: deny");
    expect(await run({ ...open, call: { security: "allowlist" } })).toMatchObject(nowhere);
    const strict = { usual: "machine", call: { security: "full", ask: "off" } } as const;
    expect((await run(strict)).asked).toHaveLength(1);
  });
});

it("a conversation makes the settings of commands stricter and never looser", () => {
  const { exec } = agentSettings("/w", { exec: { security: "allowlist", ask: "on-miss", host: "auto" } });
  expect(withSessionExec(exec, { host: "sandbox", security: "deny", ask: "always" })).toMatchObject({
    host: "sandbox",
    security: "deny",
    ask: "always",
  });
  expect(withSessionExec(exec, { host: "gateway", security: "full", ask: "off" })).toMatchObject({
    host: "auto",
    security: "allowlist",
    ask: "on-miss",
  });
});

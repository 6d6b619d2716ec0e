import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, vi } from "vitest";
import { ENGINES, useBackend } from "../../tools/sandbox/engines.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";

/** Calls the tool that each message names. */
function obey(world: World): void {
  world.model.answer((call) => {
    const [, tool, args] = /CALL (\w+) (\{.*\})/.exec(call.said) ?? [];
    return tool === undefined || args === undefined || call.isAfterTool
      ? { text: `told: ${call.toolText}` }
      : { tool, args: JSON.parse(args) as Record<string, unknown> };
  });
}
const ask = (tool: string, args: object) => `CALL ${tool} ${JSON.stringify(args)}`;

describe.for(ENGINES)("a gateway whose commands run in containers of %s", (name) => {
  const backend = useBackend(name);
  const ownEnv = () => {
    const { PATH, DOCKER_HOST } = backend().env;
    return {
      PATH: [PATH, process.env["PATH"]].join(delimiter),
      ...(DOCKER_HOST !== undefined && { DOCKER_HOST }),
    };
  };
  const start = (world: World, prefix: string) => {
    const { config } = backend();
    const docker = { ...config.docker, containerPrefix: prefix };
    const sandbox = { mode: "all", workspaceAccess: "rw", ...config, docker };
    const rules = { commands: { ownerAllowFrom: ["1001"] } };
    return world.start({ ...rules, agents: { defaults: { sandbox } } }, { env: ownEnv() });
  };
  const containers = (prefix: string) => {
    const args = ["ps", "--all", "--format", "{{.Names}}", "--filter", `name=${prefix}`];
    return execFileSync("/bin/sh", ["-c", '"$@"', "sh", name, ...args], {
      env: backend().env,
      encoding: "utf8",
    }).trim();
  };

  test("runs commands and file tools on the same files, and says so", async ({ world, expect }) => {
    obey(world);
    const { home } = await start(world, "walk-a-");
    const workspace = join(home.stateDir, "workspace");
    world.telegram.say(ask("exec", { command: "pwd; echo made > by-command; cat ~/.openclaw/openclaw.json" }));
    const { text } = await world.told(/told: [^]*No such file/);
    expect(text).toContain(workspace);
    expect(statSync(join(workspace, "by-command")).uid).toBe(process.getuid?.());
    world.telegram.say(ask("read", { path: "by-command" }));
    await world.told(/told: .*made/);
    world.telegram.say(ask("read", { path: join(home.stateDir, "openclaw.json") }));
    await world.told(/told: .*(?:outside|may not)/i);
    expect((await home.run(["doctor", "--json", "--only", "app.sandbox"], ownEnv())).stdout).toContain("It works.");
    expect((await home.run(["sandbox", "explain"], ownEnv())).stdout).toMatch(new RegExp(`Backend +${name}: works`));
    expect((await home.run(["status"], ownEnv())).stdout).toMatch(/Sandbox +main: all, works/);
  });

  test("types into a command in the background, and leaves none when it is stopped or killed", async ({
    world,
    expect,
  }) => {
    obey(world);
    const background = { command: "read x; echo got $x > got; sleep 600", background: true, yieldMs: 0 };
    const { home, gateway } = await start(world, "walk-b-");
    world.telegram.say(ask("exec", background));
    const { text } = await world.told(/told: .*[Ss]till running/s);
    const sessionId = /[0-9a-f]{8}/.exec(text)?.[0];
    world.telegram.say(ask("process", { action: "write", sessionId, data: "typed\n" }));
    const got = join(home.stateDir, "workspace/got");
    await vi.waitUntil(() => existsSync(got) && readFileSync(got, "utf8") === "got typed\n", PATIENCE);
    await gateway.kill("SIGKILL");
    expect(containers("walk-b-")).not.toBe("");
    const next = await home.start({ env: ownEnv() });
    await next.logged("containers of an earlier process removed");
    expect(containers("walk-b-")).toBe("");
    world.telegram.say(ask("exec", { ...background, command: "touch again; sleep 600" }));
    await vi.waitUntil(() => existsSync(join(home.stateDir, "workspace/again")), PATIENCE);
    expect(await next.kill("SIGTERM")).toBe(0);
    expect(containers("walk-b-")).toBe("");
  });

  test("refuses where the image is missing, and names it everywhere", async ({ world, expect }) => {
    obey(world);
    const { config } = backend();
    const sandbox = { mode: "all", ...config, docker: { ...config.docker, image: "localhost/missing:1" } };
    const { home, gateway } = await world.start({ agents: { defaults: { sandbox } } }, { env: ownEnv() });
    world.telegram.say(ask("exec", { command: "echo ran" }));
    expect((await world.told(/told: /)).text).toContain(`${name} has no image localhost/missing:1`);
    const doctor = await home.run(["doctor", "--json", "--only", "app.sandbox"], ownEnv());
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining(`${name} pull localhost/missing:1`)]);
    const ready = await fetch(`http://127.0.0.1:${gateway.port}/readyz`).then((answer) => answer.text());
    expect(ready).toContain("localhost/missing:1");
  });
});

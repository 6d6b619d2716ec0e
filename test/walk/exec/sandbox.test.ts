import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished, vi } from "vitest";
import { fakeProgram } from "../../tools/sandbox/fake-program.ts";
import { whyNoBwrap } from "../../tools/sandbox/fixture.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const OWNED = { commands: { ownerAllowFrom: ["1001"] } };
const sandboxed = (sandbox: object) => ({ ...OWNED, agents: { defaults: { sandbox } } });
const BOB = { from: { id: 2002, first_name: "Bob" } };

/** Makes the call of each message. */
function obey(world: World): void {
  world.model.answer((call) => {
    const [, tool = "", args] = /CALL (\w+) (\{.*\})/.exec(call.said) ?? [];
    return args === undefined || call.isAfterTool
      ? { text: `told: ${call.toolText}` }
      : { tool, args: JSON.parse(args) as Record<string, unknown> };
  });
}
const calls = (tool: string, args: object) => `CALL ${tool} ${JSON.stringify(args)}`;
const run = (command: string, more: object = {}) => calls("exec", { command, ...more });

describe("a sandbox that the config demands and that does not work", () => {
  test("runs nothing, and every place says so with what mends it", async ({ world, expect }) => {
    obey(world);
    const env = { OPENCLAW_BWRAP: "/missing/bwrap" };
    const { home, gateway } = await world.start(sandboxed({ mode: "all", workspaceAccess: "rw", backend: "bwrap" }), {
      env,
    });
    const WHY = "bubblewrap is not installed";
    world.telegram.say(run("touch made"));
    const { text } = await world.told(/told: The command was not run|told: The sandbox does not work/);
    expect(text).toContain(WHY);
    expect(text).toContain("apt install bubblewrap");
    expect(existsSync(join(home.stateDir, "workspace/made"))).toBe(false);
    expect((await home.run(["status"], env)).stdout).toMatch(/Sandbox +main: all, does not work here/);
    const doctor = await home.run(["doctor", "--json", "--only", "app.sandbox"], env);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toContain(WHY);
    expect(doctor.stdout).toContain("apt install bubblewrap");
    const ready = await fetch(`http://127.0.0.1:${gateway.port}/readyz`).then((answer) => answer.text());
    expect(ready).toContain(WHY);
  });
});

describe.skipIf(whyNoBwrap !== undefined)(
  `a guest's command in the sandbox (${whyNoBwrap ?? "bubblewrap works"})`,
  () => {
    test("types into no terminal of an owner's command outside, and finds no file that the gateway has open", async ({
      world,
      expect,
    }) => {
      obey(world);
      const full = { tools: { exec: { security: "full", ask: "off" } } };
      const { home } = await world.start({ ...sandboxed({ mode: "auto" }), ...full });
      const proof = join(home.dir, "proof");
      world.telegram.say(run("/bin/sh", { pty: true, background: true }));
      await world.told(/told: .*Still running/s, 1001);
      const script = [
        "import os",
        "for fd in range(3, 300):",
        "  try: print(fd, os.readlink(f'/proc/self/fd/{fd}')); os.write(fd, b'touch PROOF\\r')".replace("PROOF", proof),
        "  except OSError: pass",
        "print('tried')",
      ];
      world.telegram.say(run(`python3 -c "${script.join("\n")}"`), BOB);
      const { text } = await world.told(/told: .*tried/s, 2002);
      expect(text).not.toMatch(/ptmx|pts|socket|journal/);
      world.telegram.say(run("ls proof; echo looked", { workdir: home.dir }));
      await world.told(/looked/, 1001);
      expect(existsSync(proof)).toBe(false);
      expect((await home.run(["status"])).stdout).toMatch(/Sandbox +main: auto, works/);
      await vi.waitUntil(() => world.model.open === 0, PATIENCE);
    });

    test("shows nobody the owner's notes, neither in the history of the workspace nor to a command that waits for them", async ({
      world,
      expect,
    }) => {
      obey(world);
      const { home } = await world.start(sandboxed({ mode: "auto" }));
      const workspace = join(home.stateDir, "workspace");
      mkdirSync(join(workspace, "memory"), { recursive: true });
      writeFileSync(join(workspace, "memory/2026-05-05.md"), "an old SECRET");
      writeFileSync(join(workspace, "plan.md"), "an ordinary plan");
      const git = (...args: readonly string[]) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: workspace });
      git("init", "-q");
      git("add", "-f", "memory", "plan.md");
      git("commit", "-qm", "one");
      const show = "git -c safe.directory='*' show HEAD:memory/2026-05-05.md";
      world.telegram.say(run(`cat plan.md memory/*; ${show}; git --git-dir=.git log; echo looked`), BOB);
      const looked = await world.told(/told: .*looked/s, 2002);
      expect(looked.text).toContain("an ordinary plan");
      world.telegram.say(
        run(`read go; all=$(cat MEMORY.md memory/* plan.md); echo "$all waited"`, { background: true }),
        BOB,
      );
      const { text } = await world.told(/told: .*Still running in the background/s, 2002);
      const sessionId = /session (\S+),/.exec(text)?.[1];
      world.telegram.say(calls("write", { path: "MEMORY.md", content: "a new SECRET" }));
      await world.told(/told: Wrote/, 1001);
      expect(readFileSync(join(workspace, "MEMORY.md"), "utf8")).toBe("a new SECRET");
      world.telegram.say(calls("process", { action: "write", sessionId, data: "go\n" }), BOB);
      await vi.waitUntil(() => world.telegram.shown(2002).length > 2, PATIENCE);
      world.telegram.say(calls("process", { action: "poll", sessionId, timeout: 30_000 }), BOB);
      const waited = await world.told(/told: .*waited/s, 2002);
      expect(waited.text).toContain("an ordinary plan");
      world.telegram.say(calls("read", { path: "memory/2026-05-05.md" }));
      await world.told(/told: .*an old SECRET/s, 1001);
      expect(world.telegram.shown(2002).join()).not.toContain("SECRET");
    });

    test("is in it also when the message waits for the gateway's start, and the trial of the sandbox takes long", async ({
      world,
      expect,
    }) => {
      obey(world);
      const dir = mkdtempSync(join(tmpdir(), "slow-"));
      onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
      writeFileSync(join(dir, "secret"), "of the machine");
      const slow = fakeProgram(dir, "slow-bwrap", 'sleep 0.7; exec bwrap "$@"');
      world.telegram.say(run(`cat ${dir}/secret; echo looked`), BOB);
      const full = { tools: { exec: { security: "full", ask: "off" } } };
      await world.start({ ...sandboxed({ mode: "auto" }), ...full }, { env: { OPENCLAW_BWRAP: slow } });
      const { text } = await world.told(/told: .*looked/s, 2002);
      expect(text).not.toContain("of the machine");
    });
  },
);

describe.skipIf(whyNoBwrap !== undefined)(
  `the prompt of a sandboxed session (${whyNoBwrap ?? "bubblewrap works"})`,
  () => {
    test.for(["none", "ro", "rw"])(
      "names only what its tools find, with the workspace access %s",
      async (workspaceAccess, { world, expect }) => {
        obey(world);
        const home = await world.home(world.config(sandboxed({ mode: "all", workspaceAccess })));
        const skill = join(home.stateDir, "workspace/skills/mine");
        mkdirSync(skill, { recursive: true });
        writeFileSync(join(skill, "SKILL.md"), "---\nname: mine\ndescription: d\n---\nThe words of a skill.\n");
        await home.start();
        for (const [chat, speaker] of [
          [1001, {}],
          [2002, BOB],
        ] as const) {
          world.telegram.say("hello", speaker);
          await vi.waitUntil(() => world.telegram.shown(chat).length > 0, PATIENCE);
          const { system } = world.model.calls.at(-1) ?? { system: "" };
          expect(system).toContain(`the workspace access "${workspaceAccess}"`);
          const told = async (call: string) => {
            const before = world.telegram.shown(chat).length;
            world.telegram.say(call, speaker);
            await vi.waitUntil(() => world.telegram.shown(chat).length > before, PATIENCE);
            return world.telegram.shown(chat).at(-1) ?? "";
          };
          const [, directory = "(none)"] = /You work in: (.*)/.exec(system) ?? [];
          expect(await told(calls("ls", { path: directory }))).not.toMatch(/outside|no such|cannot/i);
          expect(await told(run("pwd"))).toContain(directory);
          const named = [...system.matchAll(/<location>(.*)<\/location>/g)].map(([, path = ""]) => path);
          expect(named.length).toBeGreaterThan(1);
          for (const path of named) {
            const [name = "(none)"] = /name: .*/.exec(readFileSync(path, "utf8")) ?? [];
            expect(await told(calls("read", { path }))).toContain(name);
            expect(await told(run(`cat ${path}`))).toContain(name);
          }
        }
      },
    );
  },
);

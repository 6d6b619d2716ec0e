import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import { SandboxMachine } from "../../../src/tools/sandbox/machine.ts";
import { sandboxSettings } from "../../../src/tools/sandbox/settings.ts";
import type { CommandLine } from "../../../src/types/run/backend.ts";
import { until } from "../../../test/kit/until.ts";
import { ENGINES, useBackend } from "../../../test/tools/sandbox/engines.ts";
import { fakeProgram } from "../../../test/tools/sandbox/fake-program.ts";
import { openGround, SECRET, type Ground } from "../../../test/tools/sandbox/fixture.ts";

const NEVER_ENDS = "trap '' TERM INT HUP; touch ready; sleep 60; touch late";

/** Whether any process of this machine shows a text in its arguments. */
const isShown = (text: string): boolean =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });

describe.for(ENGINES)("a container of %s", (name) => {
  const backend = useBackend(name);
  let ground: Ground;
  let prefix = "";
  const own = () => {
    const { config } = backend();
    return { ...config, docker: { ...config.docker, containerPrefix: prefix } };
  };
  beforeEach(() => {
    prefix = `test-${randomUUID().slice(0, 8)}-`;
    ground = openGround(backend().env, own());
    vi.stubEnv("HOME", ground.home);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.useRealTimers();
    ground.close();
  });

  const engine = (...args: readonly string[]) =>
    execFileSync("/bin/sh", ["-c", '"$@"', "sh", name, ...args], { env: backend().env, encoding: "utf8" }).trim();
  /** The names of this test's containers, whatever they do. */
  const containers = () => engine("ps", "--all", "--format", "{{.Names}}", "--filter", `name=${prefix}`);
  const start = async (command: string, more: Partial<CommandLine> = {}) => {
    const { exec } = ground.backends();
    const cwd = await exec.directory(".", ground.workspace);
    return exec.start({ command, cwd, timeoutMs: 20_000, input: "none", ...more });
  };
  const isReady = () => existsSync(join(ground.workspace, "ready"));

  it("reads what is typed into it, by a pipe and in a terminal", async () => {
    const piped = await start("read x; echo got $x", { input: "pipe" });
    await piped.write(Buffer.from("this\n"));
    expect((await piped.ended).output.text).toContain("got this");
    const typed = await start("tty; read x; echo got $x", { input: "terminal" });
    await until(() => typed.output.text().includes("/dev/pts"));
    // What makes a terminal let go of a container, where nobody says otherwise.
    await typed.write(Buffer.from("\u0010\u0011that\r"));
    expect((await typed.ended).output.text).toMatch(/got.*that/);
    expect(containers()).toBe("");
  });

  it.each(["abort", "timeout"] as const)("is gone after the %s of a command that ignores it", async (because) => {
    const running = await start(NEVER_ENDS);
    await until(isReady);
    expect(containers()).not.toBe("");
    running.end(because);
    expect(await running.ended).toMatchObject({ because, left: [] });
    expect(containers()).toBe("");
  });

  it("can be removed by hand while the command runs", async () => {
    const running = await start(NEVER_ENDS);
    await until(isReady);
    engine("rm", "--force", ...(name === "podman" ? ["--time", "0"] : []), containers());
    expect((await running.ended).code).not.toBe(0);
    expect((await ground.run("echo again")).output.text).toBe("again\n");
  });

  it("is removed by the next gateway when this one was killed, and by no other", async () => {
    const settings = sandboxSettings(own(), {}, { home: ground.home, stateDir: ground.state });
    const next = async (dir: string) => {
      const machine = new SandboxMachine({ env: backend().env, dir, contributions: bundledContributions() });
      await machine.probe(settings);
      return machine.removeLeft(settings);
    };
    const running = await start(NEVER_ENDS);
    await until(isReady);
    expect(await next(join(ground.state, "other"))).toEqual([]);
    expect(await ground.machine.removeLeft(settings)).toEqual([]);
    expect(await next(join(ground.state, "state"))).toEqual([expect.stringContaining(prefix)]);
    expect((await running.ended).code).not.toBe(0);
    expect(containers()).toBe("");
  });

  it("has the variables of its command, which nobody else of the machine can read", async () => {
    const value = `${SECRET} "quoted" $HOME\n'end'`;
    const running = await start('printf %s "$TOKEN"; echo; env | grep -c OPENCLAW_VARIABLE; touch ready; sleep 1', {
      env: { TOKEN: value },
    });
    await until(isReady);
    expect(isShown(SECRET)).toBe(false);
    expect((await running.ended).output.text).toBe(`${value}\n0\n`);
  });

  it("is named with its limit when it takes more memory, and ended when it writes more", async () => {
    const hungry = await ground.run("python3 -c 'x = bytearray(300_000_000)'; exit $?", { docker: { memory: "64m" } });
    expect(hungry).toMatchObject({ code: 137, note: expect.stringContaining("docker.memory") });
    const script = `f = open("big", "wb"); import os, time; os.unlink("big")\nfor i in range(150): f.write(bytes(1_000_000))\nf.flush()\ntime.sleep(45)`;
    const greedy = await ground.run(`python3 -c '${script}'`, { bwrap: { totalWriteMb: 20 } });
    expect(greedy).toMatchObject({ because: "limit", note: expect.stringContaining("wrote more than 20 MiB") });
  });

  it("has its folder by a name with any characters, and by a link to it", async () => {
    const odd = join(ground.home, 'a,b "c":d');
    mkdirSync(odd);
    symlinkSync(odd, join(ground.home, "named"));
    const none = { workspaceAccess: "none", workspaceRoot: join(ground.home, "named"), scope: "shared" } as const;
    expect(await ground.says(`cd ${ground.home}/named/shared && echo by-link > file; pwd -P; id -u`, none)).toBe(
      `${ground.home}/named/shared\n${process.getuid?.()}`,
    );
    expect(readFileSync(join(odd, "shared/file"), "utf8")).toBe("by-link\n");
  });

  it("can write what its binds say, so that its marks are there too", async () => {
    const [rw, ro] = ["rw", "ro"].map((dir) => join(ground.home, "outside", dir));
    for (const dir of [rw, ro]) mkdirSync(String(dir));
    const config = { docker: { ...own().docker, binds: [...(own().docker?.binds ?? []), `${rw}:/a`, `${ro}:/b:ro`] } };
    expect((await ground.run("echo x > /a/file", config)).code).toBe(0);
    expect(await ground.backends(config).exec.writable?.()).toEqual([ground.workspace, rw]);
  });

  it("is not downloaded: where the image is missing, nothing runs and everybody is told what mends it", async () => {
    const docker = { ...own().docker, image: "localhost/not-there:1" };
    await expect(ground.run("touch made", { docker })).rejects.toThrow(`has no image localhost/not-there:1`);
    expect(existsSync(join(ground.workspace, "made"))).toBe(false);
  });

  it("is tried anew when its engine has failed, and again once that was mended", async () => {
    const { env } = backend();
    vi.useFakeTimers({ toFake: ["Date"] });
    const dir = join(ground.home, "bin");
    const down = join(dir, "down");
    const lines = `if [ -e ${down} ]; then echo "Cannot connect to the engine" >&2; exit 125; fi\nPATH=${env["PATH"]} exec ${name} "$@"`;
    fakeProgram(dir, name, lines);
    ground.close();
    ground = openGround({ ...env, PATH: [dir, env["PATH"]].join(delimiter) }, own());
    fakeProgram(dir, name, lines);
    expect((await ground.run("echo 1")).output.text).toBe("1\n");
    writeFileSync(down, "");
    expect((await ground.run("echo 2")).note).toContain(`${name} may have failed to start it`);
    await expect(ground.run("echo 3")).rejects.toThrow(`${name}'s engine does not run`);
    rmSync(down);
    await expect(ground.run("echo 4")).rejects.toThrow(`${name}'s engine does not run`);
    vi.setSystemTime(Date.now() + 10_001);
    expect((await ground.run("echo 5")).output.text).toBe("5\n");
  });
});

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DOMParser } from "linkedom";
import { describe, expect, it, onTestFinished } from "vitest";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import type { Ran, ServicePlan } from "../../../src/app/service/manager.ts";
import { managerFor, servicePlan, profileOf } from "../../../src/app/service/service.ts";

const HOME = "/home/ada lovelace";
const ODD = `50% of "$HOME" & <more> it's`;

/** A machine whose service manager answers as told. */
function machine(answers: Readonly<Record<string, Partial<Ran>>> = {}) {
  const calls: string[] = [];
  const run = async (argv: readonly string[]): Promise<Ran> => {
    const call = argv.join(" ");
    calls.push(call);
    const found = Object.entries(answers).find(([begin]) => call.startsWith(begin))?.[1];
    return { code: 0, out: "", ...found };
  };
  return { calls, scene: { env: {}, home: HOME, uid: 501, user: "ada", run } };
}

const PLAN: ServicePlan = {
  stateDir: `${HOME}/.openclaw`,
  argv: ["/opt/node", "/opt/claw gateway/openclaw.mjs", "gateway", "run", ODD],
  env: { HOME, ODD },
  secretsFile: `${HOME}/.openclaw/service-env/gateway.env`,
};
const fileOf = (platform: NodeJS.Platform, end: string) => {
  const found = managerFor(platform, PLAN, machine().scene)
    .files(PLAN)
    .find(({ path }) => path.endsWith(end));
  if (!found) throw new Error(`no file ${end}`);
  return found;
};

const xmlOf = (text: string) => new DOMParser().parseFromString(text, "text/xml");

describe("a service", () => {
  it("is that of one state directory", () => {
    expect(profileOf("/home/a/.openclaw", "/home/a")).toBeUndefined();
    expect(profileOf("/home/a/.openclaw-try", "/home/a")).toBe("try");
    expect(profileOf("/srv/.openclaw-try", "/home/a")).toMatch(/^[0-9a-f]{8}$/);
    expect(profileOf("/srv/one", "/home/a")).not.toBe(profileOf("/srv/two", "/home/a"));
    const names = (["linux", "darwin", "win32"] as const).map(
      (platform) => managerFor(platform, { stateDir: "/s", profile: "try" }, machine().scene).name,
    );
    expect(names).toEqual(["openclaw-gateway-try.service", "ai.openclaw.try", "OpenClaw Gateway (try)"]);
    expect(() => managerFor("aix", PLAN, machine().scene)).toThrow("no service for aix");
  });

  it("has absolute programs, the state directory and no secrets in its plan", () => {
    const env = { HOME, OPENCLAW_STATE_DIR: "/srv/state", OPENCLAW_CONFIG_PATH: "/etc/c.json", OPENAI_API_KEY: "sk-1" };
    const plan = servicePlan(resolvePaths(env), { env, home: HOME }, { port: 4711, wrapper: "/usr/bin/nice" });
    expect(plan.argv).toEqual([
      "/usr/bin/nice",
      expect.stringMatching(/^\/.*node$/),
      expect.stringMatching(/^\/.*openclaw.mjs$/),
      "gateway",
      "run",
      "--port",
      "4711",
    ]);
    expect(plan.env).toMatchObject({
      HOME,
      OPENCLAW_STATE_DIR: "/srv/state",
      OPENCLAW_CONFIG_PATH: "/etc/c.json",
      NODE_OPTIONS: "",
    });
    expect(JSON.stringify(plan)).not.toContain("sk-1");
    const broken = resolvePaths({ HOME, OPENCLAW_STATE_DIR: "/srv/a\nExecStartPre=/bin/evil" });
    expect(() => servicePlan(broken, { env, home: HOME })).toThrow("control character");
  });
});

describe("on Linux", () => {
  it("odd texts mean themselves to systemd", () => {
    const { text, mode } = fileOf("linux", ".service");
    expect(mode).toBe(0o600);
    expect(text).toContain(`"50%% of \\"$$HOME\\" & <more> it's"`);
    expect(text).toContain(`Description=OpenClaw gateway (${HOME}/.openclaw)`);
    for (const line of [
      "Type=notify",
      "RestartPreventExitStatus=78",
      "SuccessExitStatus=0 143",
      "TimeoutStopSec=330",
      "RestartSec=5",
    ])
      expect(text.split("\n")).toContain(line);
  });

  it("a failed unit is started again, and its state is read from what systemd shows", async () => {
    const shown =
      "LoadState=loaded\nActiveState=failed\nSubState=failed\nMainPID=0\nResult=exit-code\nUnitFileState=enabled\nNRestarts=9\n";
    const { scene, calls } = machine({ "systemctl --user show": { out: shown } });
    const manager = managerFor("linux", PLAN, scene);
    expect(await manager.state()).toEqual({
      running: false,
      enabled: true,
      detail: "failed (failed), exit-code, restarted 9 times",
    });
    await manager.start();
    expect(calls.slice(1)).toEqual([
      "systemctl --user reset-failed openclaw-gateway.service",
      "systemctl --user start openclaw-gateway.service",
    ]);
    const broken = managerFor(
      "linux",
      PLAN,
      machine({ "systemctl --user start": { code: 5, out: "Unit not found." } }).scene,
    );
    await expect(broken.start()).rejects.toMatchObject({
      code: "SERVICE_FAILED",
      message: expect.stringContaining("Unit not found."),
    });
  });

  it("a person is told when the service ends with the login", async () => {
    const notes = (answers: Parameters<typeof machine>[0]) =>
      managerFor("linux", PLAN, machine(answers).scene).enable();
    expect(await notes({ "loginctl show-user": { out: "Linger=yes\n" } })).toEqual([]);
    expect(await notes({ "loginctl show-user": { out: "Linger=no\n" } })).toEqual([]);
    const refused = { "loginctl show-user": { out: "Linger=no\n" }, "loginctl enable-linger": { code: 1 } };
    expect(await notes(refused)).toEqual(["It ends when you log out, until you run: sudo loginctl enable-linger ada"]);
  });
});

describe("on macOS", () => {
  it("the agent starts a private script that reads the secrets, and odd texts mean themselves", () => {
    const document = xmlOf(fileOf("darwin", ".plist").text);
    const texts = [...document.querySelectorAll("dict > key")].map((key) => [
      key.textContent,
      key.nextElementSibling?.textContent,
    ]);
    expect(Object.fromEntries(texts)).toMatchObject({
      Label: "ai.openclaw.gateway",
      ODD,
      ThrottleInterval: "10",
      ExitTimeOut: "20",
      Umask: "63",
    });
    const script = fileOf("darwin", ".sh");
    expect(script.mode).toBe(0o700);
    const dir = mkdtempSync(join(tmpdir(), "service-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const secretsFile = join(dir, "it's a file.env");
    writeFileSync(secretsFile, 'KEY="a \\"quoted\\" \\$key"\n');
    const plan = {
      ...PLAN,
      stateDir: dir,
      secretsFile,
      argv: ["/bin/sh", "-c", `printf '%s|%s' "$KEY" "$1" > "$2"`, "x", ODD, join(dir, "out")],
    };
    const [wrapper] = managerFor("darwin", plan, machine().scene).files(plan);
    writeFileSync(join(dir, "run.sh"), (wrapper?.text ?? "").replace(/2>\S+$/m, "2>/dev/null"));
    execFileSync("sh", [join(dir, "run.sh")]);
    expect(execFileSync("cat", [join(dir, "out")], { encoding: "utf8" })).toBe(`a "quoted" $key|${ODD}`);
  });

  it("is stopped by being unloaded, because it would be started again", async () => {
    const { scene, calls } = machine({
      "launchctl print gui": { out: "\tstate = running\n\tpid = 77\n\tlast exit code = (never exited)\n" },
    });
    const manager = managerFor("darwin", PLAN, scene);
    expect(await manager.state()).toEqual({
      running: true,
      enabled: true,
      pid: 77,
      detail: "running",
    });
    await manager.stop();
    await manager.restart();
    expect(calls.filter((call) => !call.includes("print"))).toEqual([
      "launchctl bootout gui/501/ai.openclaw.gateway",
      "launchctl enable gui/501/ai.openclaw.gateway",
      "launchctl kickstart -k gui/501/ai.openclaw.gateway",
    ]);
    const unloaded = machine({ "launchctl print gui": { code: 113 } });
    await managerFor("darwin", PLAN, unloaded.scene).start();
    expect(unloaded.calls).toContain(
      `launchctl bootstrap gui/501 ${HOME}/Library/LaunchAgents/ai.openclaw.gateway.plist`,
    );
  });
});

describe("on Windows", () => {
  it("the task starts once, at the login, without more rights", () => {
    const { text } = fileOf("win32", ".xml");
    const document = xmlOf(text);
    const of = (name: string) => document.querySelector(name)?.textContent;
    expect([
      of("MultipleInstancesPolicy"),
      of("RunLevel"),
      of("ExecutionTimeLimit"),
      of("Interval"),
      of("Count"),
      of("Command"),
    ]).toEqual(["IgnoreNew", "LeastPrivilege", "PT0S", "PT1M", "3", `${HOME}/.openclaw/service-env/gateway.cmd`]);
    const script = fileOf("win32", ".cmd").text.split("\r\n");
    expect(script.at(-2)).toBe(
      `"/opt/node" "/opt/claw gateway/openclaw.mjs" "gateway" "run" "50%% of "$HOME" & <more> it's"`,
    );
  });

  it("its state is that of the scheduler", async () => {
    const { scene, calls } = machine({ "schtasks /Query": { out: '"\\OpenClaw Gateway","N/A","Running"\r\n' } });
    const manager = managerFor("win32", PLAN, scene);
    expect(await manager.state()).toMatchObject({ running: true, enabled: true, detail: "Running" });
    await manager.enable();
    await manager.restart();
    await manager.forget();
    expect(calls.slice(1)).toEqual([
      `schtasks /Create /TN OpenClaw Gateway /XML ${HOME}/.openclaw/service-env/gateway-task.xml /F`,
      "schtasks /End /TN OpenClaw Gateway",
      "schtasks /Run /TN OpenClaw Gateway",
      "schtasks /Delete /TN OpenClaw Gateway /F",
    ]);
  });
});

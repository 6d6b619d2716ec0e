import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeModel } from "../../fakes/model.ts";
import { COMPILED } from "../../kit/gateway/compiled.ts";
import { until } from "../../kit/until.ts";

/** A user manager needs root for its namespace and its control groups. */
function canRunManager(): boolean {
  const groups = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup"].find((dir) => existsSync(join(dir, "cgroup.procs")));
  if (process.getuid?.() !== 0 || !existsSync("/usr/lib/systemd/systemd") || groups === undefined) return false;
  try {
    accessSync(groups, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const UNIT = "openclaw-gateway.service";
const MS = 120_000;
const TOKEN = "a-token-of-the-service-test";

describe.skipIf(!canRunManager())("the gateway as a service of systemd", () => {
  let home: string;
  let port: number;
  let manager: ChildProcess;
  const group = `claw-gateway-test-${process.pid}`;
  const places = ["systemd", "unified", "."].map((root) => join("/sys/fs/cgroup", root, group));

  const env = () => ({
    PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
    HOME: home,
    XDG_RUNTIME_DIR: "/run/user/0",
    OPENAI_API_KEY: `sk-"odd'$key`,
    CUSTOM_API_KEY: "key-of-the-terminal",
    ...COMPILED,
  });
  /** Runs a program where the manager is. */
  const inside = async (...argv: readonly string[]): Promise<{ code: number; out: string }> => {
    const args = ["-t", String(manager.pid), "-m", ...argv];
    const ended = await promisify(execFile)("nsenter", args, { env: env() }).catch((error: unknown) => error as Failed);
    return { code: "code" in ended ? Number(ended.code) : 0, out: ended.stdout + ended.stderr };
  };
  interface Failed {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
  }
  const program = join(import.meta.dirname, "../../../bin/openclaw.mjs");
  const openclaw = (...args: readonly string[]) => inside(process.execPath, program, ...args);
  const systemctl = (...args: readonly string[]) => inside("systemctl", "--user", ...args);
  const mainPid = async () => Number((await systemctl("show", UNIT, "-p", "MainPID", "--value")).out);
  const health = async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.status;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "service home-"));
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    port = (probe.address() as { port: number }).port;
    probe.close();
    await mkdir(join(home, ".openclaw"), { mode: 0o700 });
    await writeFile(join(home, ".openclaw", "openclaw.json"), JSON.stringify({ gateway: { port } }), { mode: 0o600 });
    const script = join(import.meta.dirname, "user-manager.sh");
    manager = spawn("unshare", ["-m", "sh", script, group], { env: env(), stdio: "ignore" });
    await until(async () => (await systemctl("is-system-running")).out.trim() === "running", "the user manager", MS);
  }, MS);

  afterAll(async () => {
    const ended = once(manager, "exit");
    manager.kill("SIGTERM");
    await ended;
    for (const place of places) if (existsSync(place)) await rm(place, { recursive: true }).catch(() => undefined);
    await rm(home, { recursive: true, force: true });
  });

  it(
    "is installed, answers, and gets the secrets of the terminal from a private file",
    async () => {
      expect(await openclaw("gateway", "start")).toMatchObject({
        code: 1,
        out: expect.stringContaining("SERVICE_MISSING"),
      });
      const { code, out } = await openclaw("gateway", "install", "--token", TOKEN);
      expect(out).toContain(`Installed ${UNIT}`);
      expect(out).toContain("OPENAI_API_KEY: written into");
      expect([code, out.includes("sk-")]).toEqual([0, false]);
      expect(await health()).toBe(200);
      const models = (token: string) =>
        fetch(`http://127.0.0.1:${port}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
      expect([(await models(TOKEN)).status, (await models("another")).status]).toEqual([200, 401]);
      expect((await systemctl("show", UNIT, "-p", "StatusText", "--value")).out).toContain(`Port ${port}`);
      const variables = readFileSync(`/proc/${await mainPid()}/environ`, "utf8").split("\0");
      expect(variables).toContain(`OPENAI_API_KEY=sk-"odd'$key`);
      const unit = join(home, ".config", "systemd", "user", UNIT);
      expect(readFileSync(unit, "utf8")).not.toContain("sk-");
      expect(await inside("systemd-analyze", "--user", "verify", unit)).toMatchObject({ code: 0 });
      expect(await openclaw("gateway", "status")).toMatchObject({
        code: 0,
        out: expect.stringContaining("active (running)"),
      });
    },
    MS,
  );

  it(
    "is there again after kill -9, and after a hang",
    async () => {
      const first = await mainPid();
      process.kill(first, "SIGKILL");
      await until(
        async () => ![0, first].includes(await mainPid()) && (await health()) === 200,
        "the next process",
        MS,
      );
      const dropIn = join(home, ".config", "systemd", "user", `${UNIT}.d`);
      await mkdir(dropIn, { recursive: true });
      await writeFile(join(dropIn, "watchdog.conf"), "[Service]\nWatchdogSec=5\n");
      await systemctl("daemon-reload");
      expect(await openclaw("gateway", "restart")).toMatchObject({ code: 0 });
      const hung = await mainPid();
      process.kill(hung, "SIGSTOP");
      await until(async () => ![0, hung].includes(await mainPid()) && (await health()) === 200, "the next process", MS);
      expect((await systemctl("show", UNIT, "-p", "NRestarts", "--value")).out.trim()).not.toBe("0");
      await rm(dropIn, { recursive: true });
      await systemctl("daemon-reload");
      expect(await openclaw("gateway", "restart")).toMatchObject({ code: 0 });
    },
    MS,
  );

  it(
    "stays stopped, is started once, and leaves its state when it is uninstalled",
    async () => {
      expect(await openclaw("gateway", "stop")).toMatchObject({ code: 0, out: `Stopped ${UNIT}.\n` });
      expect(await health()).toBeUndefined();
      const stopped = await openclaw("gateway", "status", "--json");
      expect(JSON.parse(stopped.out)).toMatchObject({
        running: false,
        service: { name: UNIT, running: false, enabled: true },
      });
      for (let times = 0; times < 2; times += 1) expect(await openclaw("gateway", "start")).toMatchObject({ code: 0 });
      const running = await mainPid();
      expect(await openclaw("gateway", "restart", "--wait", "5s")).toMatchObject({ code: 0 });
      expect(await mainPid()).not.toBe(running);
      expect(await openclaw("gateway", "uninstall")).toMatchObject({
        code: 0,
        out: expect.stringContaining("Removed"),
      });
      expect(await health()).toBeUndefined();
      expect(existsSync(join(home, ".openclaw", "state", "journal.sqlite"))).toBe(true);
      expect(await openclaw("gateway", "uninstall")).toMatchObject({ code: 0, out: `${UNIT} is not installed.\n` });
    },
    MS,
  );

  it(
    "is installed by the set-up, and answers with a key that only the terminal knew",
    async () => {
      const model = await startFakeModel();
      try {
        const how = ["--non-interactive", "--accept-risk", "--secret-input-mode", "ref", "--install-daemon"];
        const which = ["--custom-base-url", model.url, "--custom-model-id", "fake-1", "--skip-channels", "--skip-ui"];
        const done = await openclaw("onboard", ...how, ...which);
        expect(done).toMatchObject({ code: 0, out: expect.stringContaining(UNIT) });
        expect(await openclaw("agent", "-m", "who runs you?")).toMatchObject({
          code: 0,
          out: expect.stringContaining("who runs you?"),
        });
        expect(model.calls.at(-1)?.key).toBe("key-of-the-terminal");
        const folder = join(home, ".openclaw");
        expect(readFileSync(join(folder, "openclaw.json"), "utf8")).not.toContain("key-of-the-terminal");
        expect(await openclaw("gateway", "uninstall")).toMatchObject({ code: 0 });
      } finally {
        await model.close();
      }
    },
    MS,
  );

  it(
    "whose config is wrong says so and is not started for ever, and another program's unit is left alone",
    async () => {
      const file = join(home, ".openclaw", "openclaw.json");
      const config = readFileSync(file, "utf8");
      await writeFile(file, '{ gateway: { port: "none" } }');
      expect(await openclaw("gateway", "install")).toMatchObject({
        code: 78,
        out: expect.stringContaining("CONFIG_INVALID"),
      });
      await writeFile(file, config);
      expect(await openclaw("gateway", "install")).toMatchObject({ code: 0 });
      await writeFile(file, '{ gateway: { port: "none" } }');
      const failed = await openclaw("gateway", "restart");
      expect(failed).toMatchObject({ code: 1, out: expect.stringContaining(`journalctl --user -u ${UNIT}`) });
      expect((await systemctl("show", UNIT, "-p", "ExecMainStatus", "--value")).out.trim()).toBe("78");
      await writeFile(file, config);
      expect(await openclaw("gateway", "start")).toMatchObject({ code: 0 });
      expect(await openclaw("gateway", "uninstall")).toMatchObject({ code: 0 });

      const unit = join(home, ".config", "systemd", "user", UNIT);
      await writeFile(unit, "[Service]\nExecStart=/bin/true\n");
      await chmod(unit, 0o644);
      for (const command of ["install", "uninstall"])
        expect(await openclaw("gateway", command)).toMatchObject({
          code: 78,
          out: expect.stringContaining("SERVICE_FOREIGN"),
        });
      expect(readFileSync(unit, "utf8")).toContain("/bin/true");
      expect(await openclaw("gateway", "status")).toMatchObject({ out: expect.not.stringContaining("Service") });
    },
    MS,
  );
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ADDS, makeNextRelease, type NextRelease, packRelease } from "../../kit/gateway/next-release.ts";
import { makeHome, PATIENCE, PATIENCE_MS, type Home } from "../../kit/gateway/process.ts";
import { until } from "../../kit/until.ts";

/** Ends a version in the place of its gateway, where the condition holds. */
const endsWhere = (condition: string): string =>
  `if (process.argv[2] === "gateway" && process.argv[3] === "run" && (${condition})) { console.error("it ends at once"); process.exit(1); }\n`;
const isTrial = `String(process.env.OPENCLAW_STATE_DIR).includes(".trial-")`;

const RELEASES = {
  sound: { version: "0.2.0", step: { isAdditive: true, sql: ADDS } },
  startsNowhere: { version: "0.3.0", prelude: endsWhere("true") },
  startsOnCopiesOnly: { version: "0.4.0", prelude: endsWhere(`!${isTrial}`) },
  changes: { version: "0.5.0", step: { isAdditive: false, sql: ADDS } },
} satisfies Record<string, NextRelease>;
const INSTALLED = "0.1.0";

let folder: string;
const packageOf = (name: keyof typeof RELEASES) => join(folder, `${name}.tgz`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openclaw-update-"));
  await makeNextRelease(join(folder, "installed"), { version: INSTALLED });
  for (const [name, release] of Object.entries(RELEASES)) {
    const dir = join(folder, name);
    await makeNextRelease(dir, release);
    await packRelease(dir, join(folder, `${name}.tgz`));
    await rm(dir, { recursive: true });
  }
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A registry with the sound release. */
async function startRegistry(): Promise<Server> {
  const server = createServer((request, response) => {
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (request.url === "/claw-gateway") {
      const { version } = RELEASES.sound;
      const dist = { tarball: `${at}/claw-gateway-${version}.tgz` };
      const versions = { [version]: { name: "claw-gateway", version, bin: { openclaw: "bin/openclaw.mjs" }, dist } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ name: "claw-gateway", "dist-tags": { latest: version }, versions }));
    } else if (request.url?.endsWith(".tgz")) response.end(readFileSync(packageOf("sound")));
    else response.writeHead(404).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

vi.setConfig({ testTimeout: 900_000 });

let home: Home;
let programs: string;

beforeEach(async () => {
  home = await makeHome({});
  home.program = join(folder, "installed", "bin", "openclaw.mjs");
  // An update fetches a package, and starts the doctor of two versions and a gateway.
  home.patienceMs = 300_000;
  programs = join(home.dir, "programs");
  await mkdir(programs);
  await symlink(join(import.meta.dirname, "systemctl.mjs"), join(programs, "systemctl"));
  // Lingering is the machine's own matter.
  await writeFile(join(programs, "loginctl"), "#!/bin/sh\necho Linger=yes\n", { mode: 0o755 });
});
afterEach(async () => {
  const pid = servicePid();
  if (pid > 0) process.kill(pid, "SIGKILL");
  await home.remove();
});

const env = () => ({
  PATH: `${programs}:${dirname(process.execPath)}:${process.env["PATH"]}`,
  npm_config_registry: "http://127.0.0.1:9",
});
const run = (args: readonly string[], more = {}) => home.run(args, { ...env(), ...more });

function servicePid(): number {
  const file = join(home.dir, "service.pid");
  const pid = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
  try {
    process.kill(pid, 0);
    return pid;
  } catch {
    return 0;
  }
}

const versionsDir = () => join(home.stateDir, "versions");

interface Status {
  readonly version: string;
  readonly interrupted: boolean;
  readonly updates: readonly { readonly outcome?: string; readonly why?: string; readonly steps: { step: string }[] }[];
}

async function status(): Promise<Status> {
  return JSON.parse((await run(["update", "status", "--json"])).stdout);
}

/** The version of the gateway that answers. */
async function answering(): Promise<string | undefined> {
  const { stdout } = await run(["status", "--json"]);
  return JSON.parse(stdout).status?.version;
}

const foldersLeft = () => readdirSync(versionsDir()).filter((name) => !/^(?:current|updates)\.json/.test(name));

async function installService(): Promise<void> {
  const { code, stderr } = await run(["gateway", "install"]);
  expect(code, stderr).toBe(0);
  expect(await answering()).toBe(INSTALLED);
}

describe("openclaw update", () => {
  test("lets a service run a version of the registry, and goes back by one command", async () => {
    const registry = await startRegistry();
    try {
      await installService();
      const at = { npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}` };
      const plan = await run(["update", "--dry-run", "--json"], at);
      expect(JSON.parse(plan.stdout)).toMatchObject({ from: INSTALLED, to: "0.2.0", isSame: false });
      expect(existsSync(join(versionsDir(), "current.json"))).toBe(false);

      const updated = await run(["update"], at);
      expect(updated.code, updated.stderr).toBe(0);
      expect(await answering()).toBe("0.2.0");
      expect((await run(["--version"])).stdout).toBe("0.2.0\n");
      const { updates } = await status();
      const steps = ["requested", "staging", "validating", "activating", "restarting", "verifying", "finished"];
      expect(updates[0]?.steps.map(({ step }) => step)).toEqual(steps);
      const again = await run(["update"], at);
      expect(again.stdout).toContain("0.2.0 runs already");

      // The service names the installed program, which follows the choice, also after it was written again.
      expect((await run(["gateway", "install", "--force"])).code).toBe(0);
      const units = join(home.dir, ".config/systemd/user");
      const [unit = ""] = readdirSync(units);
      expect(readFileSync(join(units, unit), "utf8")).toContain(join(folder, "installed", "bin", "openclaw.mjs"));
      expect((await run(["update", "back"])).code).toBe(0);
      expect(await answering()).toBe(INSTALLED);
    } finally {
      registry.close();
    }
  });

  test("changes nothing when the version does not start on a copy of the state", async () => {
    await installService();
    const pid = servicePid();
    const failed = await run(["update", "--tag", packageOf("startsNowhere")]);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/0\.3\.0 does not start on a copy of the state: it ends at once/);
    expect([await answering(), servicePid()]).toEqual([INSTALLED, pid]);
    expect(foldersLeft()).toEqual([]);
  });

  test("takes a version back that does not answer, and starts the earlier one", async () => {
    await installService();
    const failed = await run(["update", "--tag", packageOf("startsOnCopiesOnly")]);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(`Rolled back to ${INSTALLED}`);
    expect(await answering()).toBe(INSTALLED);
    expect((await status()).updates.at(-1)).toMatchObject({ outcome: "rolled-back" });
    expect(foldersLeft()).toEqual([]);
  });

  test("asks first where there would be no way back, and says later that there is none", async () => {
    await installService();
    const refused = await run(["update", "--tag", packageOf("changes")]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/no way back[^]*--one-way/);
    expect(await answering()).toBe(INSTALLED);
    const updated = await run(["update", "--one-way", "--tag", packageOf("changes")]);
    expect(updated.code, updated.stderr).toBe(0);
    expect(await answering()).toBe("0.5.0");
    const back = await run(["update", "back"]);
    expect(back.code).toBe(1);
    expect(back.stderr).toMatch(/JOURNAL_NEWER|has schema/);
    expect(await answering()).toBe("0.5.0");
  });

  test("refuses a package that is another one, and a checkout", async () => {
    const other = join(home.dir, "other");
    await mkdir(other);
    await writeFile(join(other, "package.json"), JSON.stringify({ name: "left-pad", version: "1.0.0" }));
    await packRelease(other, join(home.dir, "other.tgz"));
    const refused = await run(["update", "--tag", join(home.dir, "other.tgz")]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/is (?:the package left-pad, not|no built package of) claw-gateway/);
    delete home.program;
    const checkout = await run(["update"]);
    expect(checkout.code).toBe(78);
    expect(checkout.stderr).toMatch(/git pull && npm ci/);
  });
});

/** Starts an update, and kills it and what it has started when it has reached a step. */
async function killedAt(step: string, more: () => boolean = () => true): Promise<void> {
  const args = [String(home.program), "update", "--tag", packageOf("sound")];
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...env(), HOME: home.dir, OPENCLAW_STATE_DIR: home.stateDir, OPENCLAW_CONFIG_PATH: home.configPath },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const isThere = async () => {
    const text = await readFile(join(versionsDir(), "updates.json"), "utf8").catch(() => "{}");
    return JSON.parse(text).updates?.at(-1)?.steps.at(-1)?.step === step && more();
  };
  await until(isThere, `the step ${step}`, home.patienceMs ?? PATIENCE_MS);
  child.kill("SIGKILL");
  await ended;
}

const trialLock = (): string | undefined => {
  const [trial] = readdirSync(versionsDir()).filter((name) => name.startsWith(".trial-"));
  const file = join(versionsDir(), String(trial), "state", "gateway.lock");
  return trial === undefined || !existsSync(file) ? undefined : file;
};

const KILL = join(import.meta.dirname, "../../kit/gateway/kill-at-step.mjs");
const STEPS = ["requested", "staging", "validating", "activating", "restarting", "verifying"];

describe("an update that is killed", () => {
  test.each(STEPS)("at the step %s is made or undone by a cleanup", async (step) => {
    await installService();
    const how = { NODE_OPTIONS: `--import=${KILL}`, KILL_AT_STEP: step };
    const doomed = await run(["update", "--tag", packageOf("sound")], how);
    expect(doomed.code, doomed.stderr).toBe("SIGKILL");
    await vi.waitFor(async () => expect([INSTALLED, "0.2.0"]).toContain(await answering()), PATIENCE);
    expect(await status()).toMatchObject({ interrupted: true });
    const cleaned = await run(["update", "cleanup"]);
    expect(cleaned.code, cleaned.stderr).toBe(0);
    const { updates, interrupted } = await status();
    const isMade = STEPS.indexOf(step) > STEPS.indexOf("activating");
    expect([updates.at(-1)?.outcome, interrupted]).toEqual([isMade ? "succeeded" : "failed", false]);
    expect(await answering()).toBe(isMade ? "0.2.0" : INSTALLED);
    if (!isMade) expect(foldersLeft()).toEqual([]);
    // The ways to the other version are free after kills at a step before and behind the switch.
    const next = { activating: ["update", "--tag", packageOf("sound")], restarting: ["update", "back"] }[step];
    if (next === undefined) return;
    const went = await run(next);
    expect(went.code, went.stderr).toBe(0);
    expect(await answering()).toBe(isMade ? INSTALLED : "0.2.0");
  });

  test("while it tries the version leaves no second gateway, and nothing after a cleanup", async () => {
    await installService();
    await killedAt("validating", () => trialLock() !== undefined);
    const pid = Number(JSON.parse(readFileSync(String(trialLock()), "utf8")).pid);
    await until(() => !existsSync(`/proc/${pid}`), "the end of the trial", PATIENCE_MS);
    expect(await answering()).toBe(INSTALLED);
    expect((await run(["update", "cleanup"])).code).toBe(0);
    expect(foldersLeft()).toEqual([]);
    expect((await status()).updates.at(-1)).toMatchObject({ outcome: "failed" });
  });

  test("after the switch, and whose files are lost then, still leaves a gateway that starts", async () => {
    await installService();
    writeFileSync(join(home.dir, "hang-restart"), "");
    await killedAt("restarting");
    for (const name of foldersLeft()) rmSync(join(versionsDir(), name), { recursive: true });
    rmSync(join(home.dir, "hang-restart"));
    const started = await run(["gateway", "restart"]);
    expect(started.code, started.stderr).toBe(0);
    expect(started.stderr).toContain("is missing or incomplete");
    expect(await answering()).toBe(INSTALLED);
  });
});

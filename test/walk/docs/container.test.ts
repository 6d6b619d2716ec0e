import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { parse } from "yaml";
import { bwrap } from "../../tools/sandbox/real-backend.ts";
import { makeNextRelease } from "../../kit/gateway/next-release.ts";
import { PATIENCE_MS, type Home } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

const ROOT = join(import.meta.dirname, "../../..");
const RECIPE = join(ROOT, "scripts/container/Containerfile");
const recipe = readFileSync(RECIPE, "utf8");

/** The parts of the compose file that this file reads. */
interface Service {
  readonly user: string;
  readonly init: boolean;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly pids_limit: number;
  readonly tmpfs: readonly string[];
  readonly volumes: readonly string[];
  readonly ports: readonly string[];
  readonly stop_grace_period: string;
}
const compose = parse(readFileSync(join(ROOT, "scripts/container/compose.yaml"), "utf8")) as {
  readonly services: { readonly gateway: Service };
  readonly volumes: Record<string, unknown>;
};
const { gateway: service } = compose.services;

/** The command that says whether the gateway in the container is well, for a gateway with this port. */
function healthCheck(port: number): { readonly program: string; readonly args: readonly string[] } {
  const [, list = "[]"] = /^HEALTHCHECK [\s\S]*?CMD (\[.*\])$/m.exec(recipe) ?? [];
  const [program = "", ...args] = JSON.parse(list.replaceAll("18789", String(port))) as string[];
  return { program: program === "node" ? process.execPath : program, args };
}

describe("the recipe of a container", () => {
  test("lets the gateway write nothing but its volume and a /tmp in memory, and gives it no rights", ({ expect }) => {
    const { user, read_only, cap_drop, security_opt, tmpfs, volumes, ports } = service;
    expect({ user, read_only, cap_drop, security_opt }).toEqual({
      user: "1000:1000",
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    expect(tmpfs.map((mount) => mount.split(":")[0])).toEqual(["/tmp"]);
    expect(volumes.map((mount) => mount.split(":")[1])).toEqual(["/home/node"]);
    expect(Object.keys(compose.volumes)).toHaveLength(1);
    expect(ports.every((port) => port.startsWith("127.0.0.1:"))).toBe(true);
    expect(recipe.match(/^USER .*$/gm)).toEqual(["USER 1000:1000"]);
  });

  test("gives the gateway longer to stop than it takes for runs that go on", async ({ expect, world }) => {
    const { gateway } = await world.start();
    gateway.signal("SIGTERM");
    const { graceMs } = await gateway.logged("stopping");
    expect(Number.parseInt(service.stop_grace_period, 10) * 1000).toBeGreaterThan(Number(graceMs));
    expect(service.stop_grace_period).toMatch(/^\d+s$/);
  });

  test("tells a gateway that answers from one that does not", async ({ expect, world }) => {
    const { gateway } = await world.start();
    const { program, args } = healthCheck(gateway.port);
    const well = spawnSync(program, args, { timeout: PATIENCE_MS });
    await gateway.kill("SIGKILL");
    const dead = spawnSync(program, args, { timeout: PATIENCE_MS });
    expect([well.status, dead.status]).toEqual([0, 1]);
  });

  test.skipIf(bwrap.why !== undefined)(
    "answers from a file system in which only its home can be written",
    async ({ expect, world }) => {
      const home = await world.home();
      const seen = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", home.dir, home.dir];
      const without = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--die-with-parent"];
      const node = [process.execPath, join(ROOT, "bin/openclaw.mjs")];
      await home.start({ command: ["bwrap", ...seen, ...without, ...node], args: ["--bind", "lan"] });
      world.telegram.say("anything to write?");
      expect((await world.told(/anything to write\?/)).ok).toBe(true);
    },
  );
});

/** A podman with images and settings of its own, on a machine with or without systemd. */
function ownPodman(): { readonly podman: string; readonly close: () => void } {
  const dir = mkdtempSync(join(tmpdir(), "container-podman-"));
  const podman = join(dir, "podman");
  const settings = join(dir, "containers.conf");
  const limits = 'default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]';
  writeFileSync(settings, `[containers]\n${limits}\n[engine]\nlock_type = "file"\ncgroup_manager = "cgroupfs"\n`);
  const own = `--root ${dir}/root --runroot ${dir}/runroot --tmpdir ${dir}/tmp --storage-driver vfs`;
  const runtime = existing("runc") ? "--runtime runc" : "";
  writeFileSync(podman, `#!/bin/sh\nexport CONTAINERS_CONF=${settings}\nexec /usr/bin/podman ${own} ${runtime} "$@"\n`);
  chmodSync(podman, 0o755);
  const close = () => {
    spawnSync(podman, ["rm", "--force", "--all", "--time", "0"], { stdio: "ignore" });
    rmSync(dir, { recursive: true, force: true });
  };
  return { podman, close };
}

const existing = (program: string): boolean => spawnSync("which", [program], { stdio: "ignore" }).status === 0;

/** An image with the programs of this machine, which its containers see by a mount of /usr. */
function importMachine(podman: string, name: string): void {
  const dir = mkdtempSync(join(tmpdir(), "container-image-"));
  chmodSync(dir, 0o755);
  for (const folder of ["usr", "tmp", "etc", "proc", "sys", "dev", "var/tmp", "run", "home"])
    mkdirSync(join(dir, folder), { recursive: true });
  for (const link of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${link}`, join(dir, link));
  try {
    execFileSync("/bin/sh", ["-c", 'tar -c -C "$1" . | "$2" import - "$3"', "sh", dir, podman, name], {
      stdio: "pipe",
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** What the first stage of the recipe leaves, made from the built program without a registry. */
async function firstStage(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "container-stage-"));
  const modules = join(dir, "opt/gateway/node_modules");
  await makeNextRelease(join(modules, "claw-gateway"), { version: "0.1.0" });
  rmSync(join(modules, "claw-gateway/docs"));
  cpSync(join(ROOT, "docs"), join(modules, "claw-gateway/docs"), { recursive: true });
  mkdirSync(join(modules, ".bin"));
  symlinkSync("../claw-gateway/bin/openclaw.mjs", join(modules, ".bin/openclaw"));
  copyFileSync(process.execPath, join(modules, ".bin/node"));
  return dir;
}

const IMAGE = "localhost/claw-gateway-test";
const MACHINE = "localhost/machine";
const USR = ["--volume", "/usr:/usr:ro"];

/** The flags of `podman run` that stand for the settings of the compose file, over this home. */
const asFlags = (home: Home): readonly string[] => [
  ...(service.init && existing("catatonit") ? ["--init"] : []),
  `--user=${service.user}`,
  `--read-only=${service.read_only}`,
  `--pids-limit=${service.pids_limit}`,
  ...service.cap_drop.flatMap((right) => ["--cap-drop", right]),
  ...service.security_opt.flatMap((option) => ["--security-opt", option.replace(":true", "")]),
  ...service.tmpfs.flatMap((mount) => ["--tmpfs", mount]),
  `--volume=${home.stateDir}:/home/node/.openclaw`,
];

const canRun = process.platform === "linux" && process.getuid?.() === 0 && existing("podman");

describe.skipIf(!canRun)("a container of the recipe, by podman", () => {
  test(
    "answers, and after a kill answers what came in meanwhile",
    { timeout: 6 * PATIENCE_MS },
    async ({ expect, world, skip }) => {
      const { podman, close } = ownPodman();
      onTestFinished(close);
      const stage = await firstStage();
      onTestFinished(() => rmSync(stage, { recursive: true, force: true }));
      importMachine(podman, MACHINE);
      const ran = spawnSync(podman, ["run", "--rm", "--network", "none", ...USR, MACHINE, "/usr/bin/true"]);
      if (ran.status !== 0) return skip(`podman runs no container here: ${ran.stderr.toString()}`);
      const built = ["--network", "none", "--build-arg", `NODE_IMAGE=${MACHINE}`, "--build-context", `build=${stage}`];
      execFileSync(podman, ["build", "--layers=false", ...USR, ...built, "--tag", IMAGE, "--file", RECIPE, stage], {
        stdio: "pipe",
      });

      const home = await world.home();
      execFileSync("chown", ["-R", "1000:1000", home.stateDir]);
      const start = (name: string) =>
        home.start({
          command: [podman, "run", "--name", name, "--network", "host", ...USR, ...asFlags(home), IMAGE],
          args: ["--bind", "lan"],
        });
      const first = await start("first");
      world.telegram.say("are you in a box?");
      await world.told(/are you in a box\?/);
      // Until the gateway has noted that, it may send the answer once more.
      await first.logged("delivered");
      execFileSync(podman, ["kill", "--signal", "KILL", "first"], { stdio: "pipe" });
      await first.ended;
      world.telegram.say("and now?");
      const second = await start("second");
      await world.told(/and now\?/);
      expect(world.telegram.sent.filter(({ text }) => text.includes("are you in a box?"))).toHaveLength(1);
      const id = execFileSync(podman, ["exec", "second", "/usr/bin/id", "-u"], { encoding: "utf8" });
      const written = spawnSync(podman, ["exec", "second", "/usr/bin/touch", "/opt/gateway/x"]);
      expect([id.trim(), written.status]).toEqual(["1000", 1]);
      execFileSync(podman, ["stop", "--time", "45", "second"], { stdio: "pipe" });
      expect(await second.ended).toBe(0);
    },
  );
});

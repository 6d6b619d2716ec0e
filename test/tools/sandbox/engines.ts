import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import { programOnPath } from "../../../src/tools/sandbox/probe.ts";
import { fakeProgram } from "./fake-program.ts";
import { bwrap, PLAIN, whyNot, type RealBackend } from "./real-backend.ts";

/** An image without programs: those of this machine are shown in it, as in a sandbox of bubblewrap. */
function imageFolder(dir: string): string {
  const root = join(dir, "image");
  for (const name of ["usr", "sbin", "tmp", "etc", "proc", "sys", "dev", "var/tmp", "run"])
    mkdirSync(join(root, name), { recursive: true });
  for (const name of ["bin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name));
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  return root;
}

const configOf = (backend: "podman" | "docker", image: string): SandboxConfig => ({
  backend,
  docker: { image, binds: ["/usr:/usr:ro"] },
});

/** Imports the image into an engine. Throws when the engine does not take it. */
function importImage(
  program: string,
  { dir, image, env }: { dir: string; image: string; env: NodeJS.ProcessEnv },
): void {
  execFileSync("/bin/sh", ["-c", 'tar -c -C "$1" . | "$2" import - "$3"', "sh", imageFolder(dir), program, image], {
    env,
    stdio: "pipe",
    timeout: 30_000,
  });
}

/** Locks in shared memory would be those of all podmans of this machine. */
const LOCKS = '[engine]\nlock_type = "file"\n';

/** Settings for a podman in a machine without systemd, with fewer rights than it expects, or with both kinds of control groups. */
const PODMAN_SETTINGS = [
  LOCKS,
  `${LOCKS}cgroup_manager = "cgroupfs"\n`,
  `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n${LOCKS}cgroup_manager = "cgroupfs"\nruntime = "runc"\n`,
];

/** Podman with a storage of its own, so that nothing of the machine's is touched. */
async function podman(): Promise<RealBackend> {
  const dir = mkdtempSync(join(tmpdir(), "sandbox-podman-"));
  const wrapper = join(dir, "bin/podman");
  const close = () => {
    // What a killed gateway left keeps files open.
    spawnSync(wrapper, ["rm", "--force", "--all", "--time", "0"], { stdio: "ignore" });
    rmSync(dir, { recursive: true, force: true });
  };
  const program = await programOnPath("podman", PLAIN);
  const image = "localhost/sandbox-test:1";
  const config = configOf("podman", image);
  const env = { PATH: [join(dir, "bin"), PLAIN.PATH].join(delimiter) };
  let why: string | undefined = "podman is not installed";
  for (const [at, settings] of program === undefined ? [] : PODMAN_SETTINGS.entries()) {
    const file = join(dir, `containers-${at}.conf`);
    writeFileSync(file, settings);
    const own = `--root ${dir}/root --runroot ${dir}/runroot --tmpdir ${dir}/tmp --storage-driver vfs`;
    const lines = `export CONTAINERS_CONF=${file}\nexec ${program} ${own} "$@"`;
    fakeProgram(join(dir, "bin"), "podman", lines);
    try {
      importImage(wrapper, { dir: mkdtempSync(join(dir, "import-")), image, env });
      why = await whyNot(env, config);
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    if (why === undefined) break;
  }
  if (why !== undefined) close();
  return { name: "podman", why, env, config, close };
}

/** The machine's docker, where its engine runs. */
async function docker(): Promise<RealBackend> {
  const { DOCKER_HOST } = process.env;
  const env = { ...PLAIN, ...(DOCKER_HOST !== undefined && { DOCKER_HOST }) };
  const image = `sandbox-test:${process.pid}`;
  const config = configOf("docker", image);
  const none = (why: string): RealBackend => ({ name: "docker", why, env, config, close: () => undefined });
  const program = await programOnPath("docker", env);
  if (program === undefined) return none("docker is not installed");
  const dir = mkdtempSync(join(tmpdir(), "sandbox-docker-"));
  const close = () => {
    const left = execFileSync(program, ["ps", "--all", "--quiet", "--filter", `ancestor=${image}`], {
      env,
      encoding: "utf8",
    });
    for (const id of left.split("\n"))
      if (id !== "") execFileSync(program, ["rm", "--force", id], { env, stdio: "ignore" });
    execFileSync(program, ["rmi", "--force", image], { env, stdio: "ignore" });
  };
  try {
    execFileSync(program, ["version"], { env, stdio: "ignore", timeout: 5000 });
    importImage(program, { dir, image, env });
  } catch {
    return none("its engine does not answer");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  const why = await whyNot(env, config);
  if (why !== undefined) close();
  return { name: "docker", why, env, config, close: why === undefined ? close : () => undefined };
}

export const ENGINES = ["podman", "docker"] as const;
/** All programs that make sandboxes. */
export const BACKENDS = ["bwrap", ...ENGINES] as const;

/** The backend for the tests of a suite, and what they need of it; they are left out, with the reason, where it does not work. */
export function useBackend(name: (typeof BACKENDS)[number]): () => RealBackend {
  const opened: RealBackend[] = [];
  beforeAll(async () => {
    opened.push(name === "bwrap" ? bwrap : await (name === "podman" ? podman() : docker()));
  }, 60_000);
  afterAll(() => {
    for (const backend of opened) if (backend.why === undefined) backend.close();
  });
  beforeEach(({ skip }) => skip(opened[0]?.why !== undefined, opened[0]?.why));
  return () => {
    const [backend] = opened;
    if (!backend) throw new Error("The backend is there when the tests begin.");
    return backend;
  };
}

import { mkdir, mkdtemp, readlink, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import type { SandboxBackend, SandboxSettings } from "../../types/sandbox.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { bwrapLaunch, type BwrapFacts } from "./bwrap.ts";
import { OpenViews } from "./open-views.ts";
import { findProgram, runBriefly, whyBwrapFails, type Unusable } from "./probe.ts";
import { SANDBOX_EXEC, seatbeltLaunch } from "./seatbelt.ts";
import { seccompFilter } from "./seccomp.ts";

/** Whether a backend works on this machine, and what is needed to use it; otherwise what the operator can do. */
export type Probe = { readonly ok: true; readonly facts: Facts } | Unusable;

export type Facts =
  | ({ readonly backend: "bwrap"; readonly version: string } & BwrapFacts)
  | { readonly backend: "docker" | "podman"; readonly program: string }
  | { readonly backend: "sandbox-exec"; readonly program: string };

interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A directory of the gateway's own; the filter of system calls is written to it. */
  readonly dir: string;
  readonly platform?: NodeJS.Platform;
}

/** What the plain settings mean on a platform; undefined where there is no sandbox. */
function backendFor(
  backend: SandboxSettings["backend"],
  platform: NodeJS.Platform = process.platform,
): SandboxBackend | undefined {
  if (backend !== "auto") return backend;
  const own: Partial<Record<NodeJS.Platform, SandboxBackend>> = { linux: "bwrap", darwin: "sandbox-exec" };
  return own[platform];
}

const NO_BACKEND: Unusable = {
  ok: false,
  why: "this system has no program for it",
  fix: "Set agents.defaults.sandbox.backend to docker or podman, or agents.defaults.sandbox.mode to off.",
};

/** Tries each backend once, by starting a program in it, and remembers the result. */
export class SandboxMachine {
  readonly #place: Place;
  readonly #probes = new Map<SandboxBackend, Promise<Probe>>();
  readonly #known = new Map<SandboxBackend, Probe>();
  /** What the commands that run here see. */
  readonly views = new OpenViews();

  constructor(place: Place) {
    this.#place = place;
  }

  /** Never rejects. */
  async probe(wanted: SandboxSettings["backend"]): Promise<Probe> {
    const backend = backendFor(wanted, this.#place.platform);
    if (backend === undefined) return NO_BACKEND;
    const running = this.#probes.get(backend) ?? this.#start(backend);
    this.#probes.set(backend, running);
    return running;
  }

  /** The result, or undefined before the first probe has ended. */
  known(wanted: SandboxSettings["backend"]): Probe | undefined {
    const backend = backendFor(wanted, this.#place.platform);
    return backend === undefined ? NO_BACKEND : this.#known.get(backend);
  }

  async #start(backend: SandboxBackend): Promise<Probe> {
    const found = await this.#try(backend).catch((error: unknown): Unusable => ({
      ok: false,
      why: errorText(error),
      fix: `Mend that, or set agents.defaults.sandbox.mode to off.`,
    }));
    this.#known.set(backend, found);
    return found;
  }

  #try(backend: SandboxBackend): Promise<Probe> {
    if (backend === "bwrap") return this.#tryBwrap();
    return backend === "sandbox-exec" ? this.#trySeatbelt() : this.#tryEngine(backend);
  }

  async #tryBwrap(): Promise<Probe> {
    const program = await findProgram(this.#place.env["OPENCLAW_BWRAP"] ?? "bwrap", this.#place.env);
    if (program === undefined) {
      return {
        ok: false,
        why: "bubblewrap is not installed",
        fix: "Run: sudo apt install bubblewrap (or dnf, pacman, apk add bubblewrap), then restart the gateway.",
      };
    }
    const [said, system, filter] = await Promise.all([
      runBriefly({ argv: [program, "--version"], cwd: "/", env: {} }),
      systemDirectories(),
      this.#filter(),
    ]);
    const version = /\d+(?:\.\d+)+/.exec(said.text)?.[0] ?? "0";
    const facts = { program, canSize: isAtLeast(version, [0, 7]), system, ...filter };
    const launch = { argv: ["/bin/sh", "-c", "exit 0"], cwd: "/", env: {} } as const;
    const tried = await runBriefly(bwrapLaunch(launch, { mounts: [], links: [] }, facts, PLAIN));
    if (tried.code === 0) return { ok: true, facts: { backend: "bwrap", version, ...facts } };
    return whyBwrapFails(tried.text);
  }

  /** A program that may write only its own directory, and must not read the gateway's. */
  async #trySeatbelt(): Promise<Probe> {
    const { env, dir } = this.#place;
    const program = await findProgram(env["OPENCLAW_SANDBOX_EXEC"] ?? SANDBOX_EXEC, env);
    const fix = "Set agents.defaults.sandbox.backend to docker or podman, or agents.defaults.sandbox.mode to off.";
    if (program === undefined) return { ok: false, why: `${SANDBOX_EXEC} is not there`, fix };
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const own = await mkdtemp(join(await realpath(tmpdir()), "openclaw-"));
    try {
      const command = 'echo 1 > "$HOME/made" && cat "$HOME/made" && ! ls "$0"';
      const launch = { argv: ["/bin/sh", "-c", command, await realpath(dir)], cwd: "/", env: {} } as const;
      const tried = await runBriefly(seatbeltLaunch(launch, { mounts: [], links: [] }, { program, own }, PLAIN));
      if (tried.code === 0) return { ok: true, facts: { backend: "sandbox-exec", program } };
      return { ok: false, why: `sandbox-exec failed: ${tried.text.split("\n").at(-1) ?? ""}`, fix };
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  }

  /** Writes the filter where `bwrap` finds it. Its name is that of its content, so that one of an older version is not used. */
  async #filter(): Promise<{ filter?: string }> {
    const bytes = seccompFilter(process.arch);
    if (bytes === undefined) return {};
    const path = join(this.#place.dir, `seccomp-${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}.bpf`);
    const found = await stat(path).catch(() => undefined);
    if (found?.size === bytes.length) return { filter: path };
    await mkdir(this.#place.dir, { recursive: true, mode: 0o700 });
    const draft = `${path}.${randomUUID()}`;
    await writeFile(draft, bytes, { mode: 0o600 });
    await rename(draft, path);
    return { filter: path };
  }

  async #tryEngine(backend: "docker" | "podman"): Promise<Probe> {
    const program = await findProgram(backend, this.#place.env);
    const fix = `Install ${backend} and start it, or set agents.defaults.sandbox.backend to bwrap.`;
    if (program === undefined) return { ok: false, why: `${backend} is not installed`, fix };
    const { code, text } = await runBriefly({ argv: [program, "version"], cwd: "/", env: engineEnv(this.#place.env) });
    if (code === 0) return { ok: true, facts: { backend, program } };
    return { ok: false, why: `${backend} does not answer: ${text}`, fix };
  }
}

/** What the engine's client needs of the gateway's environment: where the engine is. */
export const engineEnv = (env: Place["env"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST"].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** The probe's own settings; what they limit does not matter to a program that ends at once. */
const PLAIN: SandboxSettings["bwrap"] = {
  network: "none",
  binds: [],
  processes: 64,
  memoryMb: 1024,
  totalMemoryMb: 1024,
  totalWriteMb: 1,
  cpuSeconds: 10,
  fileSizeMb: 1,
  tmpMb: 1,
};

function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  const at = least.findIndex((number, index) => (parts[index] ?? 0) !== number);
  return at === -1 || (parts[at] ?? 0) > (least[at] ?? 0);
}

/** Newer systems have links into `/usr`; NixOS and Guix keep programs elsewhere. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

async function systemDirectories(): Promise<BwrapFacts["system"]> {
  const found = await Promise.all(
    SYSTEM.map(async (path) => {
      const target = await readlink(path).catch(() => undefined);
      if (target !== undefined) return { path, target };
      return (await stat(path).catch(() => undefined))?.isDirectory() === true ? { path } : undefined;
    }),
  );
  return found.filter((directory) => directory !== undefined);
}

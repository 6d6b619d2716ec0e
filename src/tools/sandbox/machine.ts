import { createHash, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readlink, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isContainer, type ContainerBackend, type SandboxBackend, type SandboxSettings } from "../../types/sandbox.ts";
import type {
  EngineFacts,
  SandboxEngine,
  SandboxEngineContribution,
  Unusable,
  View,
} from "../../types/sandbox-engine.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { bwrapLaunch, type BwrapFacts } from "./bwrap.ts";
import { GuestCopies } from "./guest-copy.ts";
import { programOnPath, runBriefly, whyBwrapFails } from "./probe.ts";
import { SANDBOX_EXEC, seatbeltLaunch } from "./seatbelt.ts";
import { treeOf } from "./totals/process-tree.ts";
import { seccompFilter, CLONE_NEWUSER, DATAGRAM, EAFNOSUPPORT, ENOSYS, EPERM, FAMILIES, REFUSED } from "./seccomp.ts";
import { isInside } from "../../utils/real-path.ts";
import type { IsSteady } from "./view.ts";

/** The view of a command that is about to start. */
export interface OpenView {
  readonly view: View;
  /** Called when the command has ended, or could not be started. */
  close(): void;
}

interface Running {
  readonly roots: readonly string[];
  readonly mounts: ReadonlySet<string>;
}

/**
 * The views of the running commands. A program mounts a path by its name some time after the path was looked at; until
 * then a command that may write the directory above can replace the path by a link to a file that a sandbox must not
 * have. A path that such a command has itself mounted cannot be replaced by it.
 */
class OpenViews {
  readonly #running = new Set<Running>();
  #last: Promise<unknown> = Promise.resolve();

  /** Looks up one view after the other, so that each lookup knows the earlier views. Rejects as `look` does. */
  open(look: (isSteady: IsSteady) => Promise<View>): Promise<OpenView> {
    const opened = this.#last.then(async () => this.#add(await look((path) => this.#isSteady(path))));
    this.#last = opened.catch(() => undefined);
    return opened;
  }

  #add(view: View): OpenView {
    const running: Running = {
      roots: view.mounts.flatMap(({ path, as }) => (as === "rw" ? [path] : [])),
      mounts: new Set(view.mounts.map(({ path }) => path)),
    };
    this.#running.add(running);
    return { view, close: () => void this.#running.delete(running) };
  }

  #isSteady(path: string): boolean {
    return [...this.#running].every(
      ({ roots, mounts }) => mounts.has(path) || !roots.some((root) => isInside(path, root)),
    );
  }
}

/** Result of a backend's trial on this machine: the facts for its use, or else a remedy for the operator. */
export type BackendProbe = { readonly ok: true; readonly facts: MachineFacts } | Unusable;

export type MachineFacts =
  | ({ readonly backend: "bwrap"; readonly version: string } & BwrapFacts)
  | EngineFacts
  | { readonly backend: "sandbox-exec"; readonly program: string };

interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A directory of the gateway; the filter of system calls is written to it. */
  readonly dir: string;
  readonly platform?: NodeJS.Platform;
  /** Where the engines of containers are. A backend that is missing there does not work. */
  readonly contributions: { readonly sandboxEngines: readonly SandboxEngineContribution[] };
}

/** The backend that a setting selects on a platform; undefined where there is no sandbox. */
function backendFor(
  backend: SandboxSettings["backend"],
  platform: NodeJS.Platform = process.platform,
): SandboxBackend | undefined {
  if (backend !== "auto") return backend;
  const own: Partial<Record<NodeJS.Platform, SandboxBackend>> = { linux: "bwrap", darwin: "sandbox-exec" };
  return own[platform];
}

const OTHER_BACKEND = "Set agents.defaults.sandbox.backend to auto, or agents.defaults.sandbox.mode to off.";

const NO_BACKEND: Unusable = {
  ok: false,
  why: "this system has no program for it",
  fix: "Set agents.defaults.sandbox.backend to docker or podman, or agents.defaults.sandbox.mode to off.",
};

type Wanted = Pick<SandboxSettings, "backend" | "docker" | "bwrap">;

/** A trial with its result. */
interface Tried {
  readonly running: Promise<BackendProbe>;
  /** Epoch milliseconds from which on the backend is tried anew. */
  until: number;
}

/**
 * Milliseconds for which an engine's failure is believed: an engine may be started at any time, bubblewrap is no such
 * service.
 */
const BELIEVED_MS = 10_000;

/**
 * Tries each backend by starting a program in it, and remembers the result: for ever, except the failure of an engine.
 */
export class SandboxMachine {
  readonly #place: Place;
  readonly #trials = new Map<string, Tried>();
  readonly #known = new Map<string, BackendProbe>();
  readonly #engines = new Map<ContainerBackend, Promise<SandboxEngine>>();
  /** Views of the commands that run here. */
  readonly views = new OpenViews();
  /** Copies of workspaces for guests. */
  readonly copies: GuestCopies;

  constructor(place: Place) {
    this.#place = place;
    this.copies = new GuestCopies(join(place.dir, "guest-copies"));
  }

  /** Tries the backend of the settings, or returns the remembered result. Never rejects. */
  async probe(wanted: Wanted): Promise<BackendProbe> {
    const backend = backendFor(wanted.backend, this.#place.platform);
    if (backend === undefined) return NO_BACKEND;
    const key = keyOf(backend, wanted);
    const earlier = this.#trials.get(key);
    if (earlier && Date.now() < earlier.until) return earlier.running;
    const trial: Tried = { running: this.#start(backend, wanted), until: Infinity };
    this.#trials.set(key, trial);
    const found = await trial.running;
    if (!found.ok && isContainer(backend)) trial.until = Date.now() + BELIEVED_MS;
    return found;
  }

  /** The result of the last trial, or undefined before the first one has ended. */
  known(wanted: Wanted): BackendProbe | undefined {
    const backend = backendFor(wanted.backend, this.#place.platform);
    return backend === undefined ? NO_BACKEND : this.#known.get(keyOf(backend, wanted));
  }

  /** Removes containers that an earlier process of this gateway left. Resolves with their names. Never rejects. */
  async removeLeft(wanted: Wanted): Promise<readonly string[]> {
    const probe = this.known(wanted);
    if (probe?.ok !== true || !("profile" in probe.facts)) return [];
    const engine = await this.engine(probe.facts.backend);
    return engine ? engine.removeLeft(probe.facts) : [];
  }

  /** Undefined when no extension has added it. Rejects when its code cannot be loaded. */
  async engine(backend: ContainerBackend): Promise<SandboxEngine | undefined> {
    const { contributions, env, dir } = this.#place;
    const added = contributions.sandboxEngines.find((one) => one.backend === backend);
    if (!added) return undefined;
    const opened = this.#engines.get(backend);
    if (opened) return opened;
    const engine = added.open({ env, dir, findProgram: (name) => programOnPath(name, env), runBriefly, treeOf });
    this.#engines.set(backend, engine);
    return engine;
  }

  /** Forgets a backend's result, so that the next command tries the backend anew. */
  doubt(wanted: Wanted): void {
    const backend = backendFor(wanted.backend, this.#place.platform);
    if (backend !== undefined) this.#trials.delete(keyOf(backend, wanted));
  }

  async #start(backend: SandboxBackend, wanted: Wanted): Promise<BackendProbe> {
    const found = await this.#try(backend, wanted).catch((error: unknown): Unusable => ({
      ok: false,
      why: errorText(error),
      fix: `Mend that, or set agents.defaults.sandbox.mode to off.`,
    }));
    this.#known.set(keyOf(backend, wanted), found);
    return found;
  }

  async #try(backend: SandboxBackend, settings: Wanted): Promise<BackendProbe> {
    if (backend === "bwrap") return this.#tryBwrap();
    if (backend === "sandbox-exec") return this.#trySeatbelt();
    const engine = await this.engine(backend);
    if (!engine) return { ok: false, why: `no extension runs ${backend}`, fix: OTHER_BACKEND };
    const profile = await keepFile(this.#place.dir, "json", Buffer.from(seccompProfile()));
    return engine.try({ settings, profile });
  }

  async #tryBwrap(): Promise<BackendProbe> {
    const program = await programOnPath(this.#place.env["OPENCLAW_BWRAP"] ?? "bwrap", this.#place.env);
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

  /** Tries `sandbox-exec` with a program that may write only its own directory, and must not read the gateway's. */
  async #trySeatbelt(): Promise<BackendProbe> {
    const { env, dir } = this.#place;
    const program = await programOnPath(env["OPENCLAW_SANDBOX_EXEC"] ?? SANDBOX_EXEC, env);
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

  async #filter(): Promise<{ filter?: string }> {
    const bytes = seccompFilter(process.arch);
    return bytes === undefined ? {} : { filter: await keepFile(this.#place.dir, "bpf", bytes) };
  }
}

/**
 * Writes a filter of system calls to a file for the backend. The file is named after its content, so that one of an
 * older version is not used.
 */
async function keepFile(dir: string, kind: "bpf" | "json", bytes: Uint8Array): Promise<string> {
  const path = join(dir, `seccomp-${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}.${kind}`);
  const found = await stat(path).catch(() => undefined);
  if (found?.size === bytes.length) return path;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, bytes, { mode: 0o600 });
  await rename(draft, path);
  return path;
}

/**
 * Name of a trial. The container's settings are part of it; bubblewrap has no setting whose program or image may be
 * missing.
 */
const keyOf = (backend: SandboxBackend, { docker }: Pick<Wanted, "docker">): string =>
  isContainer(backend) ? `${backend} ${JSON.stringify(docker)}` : backend;

/** Settings of the trial itself; their limits do not matter to a program that ends at once. */
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

/** The system's directories. Newer systems have links into `/usr`; NixOS and Guix keep programs elsewhere. */
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

interface Comparison {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
}

const refuse = (names: readonly string[], errnoRet: number, args: readonly Comparison[] = []) => ({
  names,
  action: "SCMP_ACT_ERRNO",
  errnoRet,
  args,
});

/** Comparison that is true when any of the bits is set. */
const hasBit = (index: number, bit: number): Comparison => ({
  index,
  value: bit,
  valueTwo: bit,
  op: "SCMP_CMP_MASKED_EQ",
});

const HIGHEST = Math.max(...FAMILIES);

/** Comparisons that refuse address families. A profile can only list refused families, with one rule for each. */
const families = (): readonly Comparison[] => {
  const below = Array.from({ length: HIGHEST }, (_, family) => family).filter((family) => !FAMILIES.includes(family));
  return [
    ...below.map((value): Comparison => ({ index: 0, value, op: "SCMP_CMP_EQ" })),
    { index: 0, value: HIGHEST, op: "SCMP_CMP_GT" },
  ];
};

/**
 * The filter of system calls in the form for docker and podman. It replaces the engine's own, which permits Unix
 * sockets: by one in the workspace a command could reach a program outside. Pure.
 */
const seccompProfile = (): string =>
  JSON.stringify({
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [
      refuse(REFUSED, EPERM),
      refuse(["clone3"], ENOSYS),
      refuse(["clone"], EPERM, [hasBit(0, CLONE_NEWUSER)]),
      refuse(["socketpair"], EAFNOSUPPORT, [hasBit(1, DATAGRAM)]),
      ...families().map((family) => refuse(["socket"], EAFNOSUPPORT, [family])),
    ],
  });

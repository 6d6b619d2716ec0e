import { mkdir, mkdtemp, readdir, rm, stat, readlink } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import {
  unlessMissing,
  type ContainedCommand,
  type EngineFacts,
  type EnginePlace,
  type EngineTrial,
  type PreparedLaunch,
  type SandboxEngine,
  type Unusable,
  type CommandEnd,
  type EngineSettings,
} from "openclaw/plugin-sdk";
import { containerLaunch, type ContainerPlace } from "./launch.ts";
import { createHash, randomUUID } from "node:crypto";

/** The label of all containers of one gateway. */
const GATEWAY = "openclaw.gateway";

type ContainerSettings = EngineSettings["docker"];
type Gateway = Pick<EnginePlace, "dir" | "env">;

const ownerOf = (dir: string): string => createHash("sha256").update(dir).digest("hex").slice(0, 16);

/** A name for one container, with the facts that its engine's client needs. */
function newContainer(prefix: string, { dir, env }: Gateway, labels: ContainerPlace["labels"] = {}): ContainerPlace {
  return {
    name: `${prefix}${randomUUID()}`,
    labels: { [GATEWAY]: ownerOf(dir), ...labels },
    env: engineEnv(env),
    // The first key is one that nobody types, because the client holds it back until it sees the next one.
    detachKeys: `ctrl-_,${randomUUID().replaceAll("-", "").split("").join(",")}`,
  };
}

/** Variables of the gateway's environment for the engine's client: they name the engine's address. */
const engineEnv = (env: Gateway["env"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST"].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** Exit code of the engine's client when it could not start the command. */
const FAILED = 125;
/** Exit code of a shell when SIGKILL ended the program, as the kernel does for want of memory. */
const KILLED = 137;
const MOST_LISTED = 100_000;

/** The containers for the commands of one gateway. */
class Containers {
  readonly #gateway: EnginePlace;
  readonly #running = new Set<string>();

  constructor(gateway: EnginePlace) {
    this.#gateway = gateway;
  }

  /** A container for one command. The caller gives it back when the command has ended, or could not be started. */
  take({ containerPrefix }: ContainerSettings, labels: ContainerPlace["labels"]): ContainerPlace {
    const container = newContainer(containerPrefix, this.#gateway, labels);
    this.#running.add(container.name);
    return container;
  }

  /**
   * Makes sure that the container is removed. Resolves with a note for the model about the end, or undefined. Never
   * rejects.
   */
  async giveBack(
    container: ContainerPlace,
    { facts, end, warn }: Ending,
    { memory }: ContainerSettings,
  ): Promise<string | undefined> {
    const why = end === undefined || isRemoved(end) ? undefined : await this.#remove(facts, container);
    this.#running.delete(container.name);
    if (why !== undefined) warn("a container could not be removed", { container: container.name, why });
    if (isFailed(end)) return `${facts.backend} may have failed to start it: its exit code is ${FAILED}.`;
    if (why !== undefined) return `Its container may still run, for ${facts.backend} could not end it: ${why}.`;
    if (end?.because !== "exit") return undefined;
    return end.code === KILLED
      ? `It was killed, as a command that takes more than ${memory} of memory is (agents.defaults.sandbox.docker.memory).`
      : undefined;
  }

  /**
   * Removes containers that an earlier process of this gateway left, because it was killed. Resolves with their names.
   * Never rejects.
   */
  async removeLeft({ program }: EngineFacts): Promise<readonly string[]> {
    const { dir } = this.#gateway;
    const env = engineEnv(this.#gateway.env);
    const filter = ["--filter", `label=${GATEWAY}=${ownerOf(dir)}`, "--format", "{{.Names}}"];
    const list = { argv: [program, "ps", "--all", ...filter], cwd: "/", env } as const;
    const { code, text } = await this.#gateway.runBriefly(list, MOST_LISTED);
    // The engine's trial reports an engine that does not answer.
    if (code !== 0) return [];
    const left = text.split("\n").filter((name) => name !== "" && !this.#running.has(name));
    for (const name of left) await this.#remove({ program }, { name, env });
    return left;
  }

  /**
   * Returns a function that finds the processes of a container on this machine; none when its engine runs elsewhere, or
   * the container has ended.
   */
  processesOf(container: Named, facts: Pick<EngineFacts, "program">): () => Promise<readonly number[]> {
    let first: number | undefined;
    return async () => {
      first ??= await this.#firstProcessOf(container, facts);
      return first === undefined ? [] : this.#gateway.treeOf(first, MOST_PROCESSES);
    };
  }

  async #firstProcessOf({ name, env }: Named, { program }: Pick<EngineFacts, "program">): Promise<number | undefined> {
    const ask = { argv: [program, "inspect", "--format", "{{.State.Pid}}", name], cwd: "/", env } as const;
    const pid = Number((await this.#gateway.runBriefly(ask)).text);
    if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
    // A process of this machine whose number is that of a process elsewhere is not in a namespace of its own.
    const [inside, own] = await Promise.all([namespaceOf(pid), namespaceOf("self")]);
    return inside === undefined || inside === own ? undefined : pid;
  }

  /** Resolves with why a container may still be there, and with undefined when it is gone. */
  async #remove({ program }: Pick<EngineFacts, "program">, { name, env }: Named): Promise<string | undefined> {
    const { code, text } = await this.#gateway.runBriefly({ argv: [program, "rm", "--force", name], cwd: "/", env });
    if (code === 0 || /no such container/i.test(text)) return undefined;
    return text === "" ? "it does not answer" : (text.split("\n").at(-1) ?? text);
  }
}

/** How the command of a container ended; `end` is undefined when it could not be started. */
interface Ending {
  readonly facts: EngineFacts;
  readonly end: CommandEnd | undefined;
  readonly warn: ContainedCommand["warn"];
}

/** Whether the engine could not start a command, or the command itself ended with the same exit code. */
const isFailed = (end: CommandEnd | undefined): boolean => end?.because === "exit" && end.code === FAILED;

/** Whether the container is gone: a client that ends by itself waits for that. */
const isRemoved = (end: CommandEnd): boolean => end.because === "exit" && end.code !== null && end.code !== FAILED;

type Named = Pick<ContainerPlace, "name" | "env">;

const MOST_PROCESSES = 4096;

/** Codes of a process that has ended, or that belongs to another user. */
const NOT_SEEN: readonly unknown[] = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/** The namespace of a process; undefined when the process has ended or belongs to another user. */
async function namespaceOf(pid: number | "self"): Promise<string | undefined> {
  try {
    return await readlink(`/proc/${pid}/ns/pid`);
  } catch (error) {
    if (error instanceof Error && "code" in error && NOT_SEEN.includes(error.code)) return undefined;
    throw error;
  }
}

/** Docker or podman, as one gateway uses it. */
export function openContainerEngine(backend: EngineFacts["backend"], place: EnginePlace): SandboxEngine {
  const containers = new Containers(place);
  return {
    try: (wanted) => tryEngine({ ...wanted, backend, place }),
    prepare: (command, facts) => prepared(command, { facts, containers }),
    removeLeft: (facts) => containers.removeLeft(facts),
  };
}

interface Running {
  readonly facts: EngineFacts;
  readonly containers: Containers;
}

function prepared(command: ContainedCommand, { facts, containers }: Running): PreparedLaunch {
  const { launch, view, settings, owner, warn, doubt } = command;
  const labels = { "openclaw.sandbox": "1", "openclaw.agent": owner.agentId, "openclaw.session": owner.sessionKey };
  const container = containers.take(settings.docker, labels);
  return {
    ...containerLaunch(launch, view, { ...container, facts, settings }),
    processes: containers.processesOf(container, facts),
    async ended(end) {
      if (isFailed(end)) doubt();
      return containers.giveBack(container, { facts, end, warn }, settings.docker);
    },
  };
}

interface Trial extends EngineTrial {
  readonly backend: EngineFacts["backend"];
  readonly place: EnginePlace;
}

/**
 * Tries an engine: starts a container in the way of a command, in which a program makes a file that must belong to the
 * gateway's user.
 */
async function tryEngine(trial: Trial): ReturnType<SandboxEngine["try"]> {
  const { backend, settings, place, profile } = trial;
  const program = await place.findProgram(backend);
  if (program === undefined)
    return {
      ok: false,
      why: `${backend} is not installed`,
      fix: `Install ${backend}, or set agents.defaults.sandbox.backend to bwrap.`,
    };
  let last = { code: -1, text: "" };
  for (const way of waysToRun(backend, settings.docker.user)) {
    const facts = { backend, program, profile, holdsLimits: true, ...way };
    const { isOurs, ...end } = await makeFile(facts, trial);
    if (end.code === 0 && (isOurs || settings.docker.user !== undefined))
      return { ok: true, facts: { ...facts, holdsLimits: end.text.includes(LIMITED) } };
    last = end;
    // Another user in the container helps only if the program could write, and the file is not the gateway's.
    if (end.code !== 0 && !end.text.includes(MADE)) break;
  }
  return last.code === 0 || last.text.includes(MADE)
    ? SOMEBODY_ELSES
    : whyEngineFails(last.text, { backend, image: settings.docker.image });
}

const SOMEBODY_ELSES: Unusable = {
  ok: false,
  why: "commands in a container could not write the gateway's directories as its user",
  fix:
    "Set agents.defaults.sandbox.docker.user to the user who owns them in a container, or with SELinux run chcon -Rt container_file_t on the " +
    "state directory and the workspace, or set agents.defaults.sandbox.backend to bwrap.",
};

/** Users to try in a container. A docker without root calls its own user root. */
function waysToRun(
  backend: EngineFacts["backend"],
  chosen: string | undefined,
): readonly Pick<EngineFacts, "user" | "keepsId">[] {
  const uid = process.getuid?.() ?? 1000;
  const own = { user: `${uid}:${process.getgid?.() ?? 1000}`, keepsId: backend === "podman" && uid !== 0 };
  return backend === "docker" && uid !== 0 && chosen === undefined ? [own, { user: "0:0", keepsId: false }] : [own];
}

const MADE = "made-in-a-container";
const LIMITED = "limited-in-a-container";
/** Files in which a container sees its limit of processes, for both kinds of control groups. */
const LIMIT_FILES = ["/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"];
/** Makes the file, and prints whether the limit is the requested one. */
const SCRIPT = `echo > ${MADE} || exit 1; for file in ${LIMIT_FILES.join(" ")}; do [ -r $file ] && read most < $file && [ "$most" = "$0" ] && echo ${LIMITED}; done; exit 0`;
const TRIAL = "sandbox-trial-";
/** Milliseconds after which the directory of a trial is no longer in use. */
const TRIAL_MS = 60_000;

async function makeFile(facts: EngineFacts, { settings, place: { dir, env, runBriefly } }: Trial) {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await removeOldTrials(dir);
  const place = await mkdtemp(join(dir, TRIAL));
  try {
    const launch = { argv: ["/bin/sh", "-c", SCRIPT, String(settings.docker.pidsLimit)], cwd: place, env: {} } as const;
    const view = { mounts: [{ path: place, as: "rw" }], links: [] } as const;
    const about = newContainer(settings.docker.containerPrefix, { dir, env });
    const { code, text } = await runBriefly(containerLaunch(launch, view, { ...about, facts, settings }));
    // Without the file, the container could not write: the text of its end has the reason.
    const made = await unlessMissing(stat(join(place, MADE)));
    return { code, text, isOurs: made?.uid === process.getuid?.() };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Removes the directories of trials during which a gateway was killed. */
async function removeOldTrials(dir: string): Promise<void> {
  const names = (await readdir(dir)).filter((name) => name.startsWith(TRIAL));
  for (const path of names.map((name) => join(dir, name))) {
    // Another process may have removed the directory.
    const found = await unlessMissing(stat(path));
    if (found && Date.now() - found.mtimeMs > TRIAL_MS) await rm(path, { recursive: true, force: true });
  }
}

interface Facts {
  readonly backend: "docker" | "podman";
  readonly image: string;
}

type Explanation = Pick<Unusable, "why" | "fix">;

const KEY = "agents.defaults.sandbox";

/** Texts that the engine's client prints, with their meaning and remedy. The first row that matches counts. */
const CAUSES: readonly { readonly says: RegExp; readonly means: (facts: Facts) => Explanation }[] = [
  {
    says: /no such image|unable to find image|image not known|does not exist locally|repository does not exist/i,
    means: ({ backend, image }) => ({
      why: `${backend} has no image ${image}`,
      fix: `Build it, or run: ${backend} pull ${image}; or name another one (${KEY}.docker.image).`,
    }),
  },
  {
    says: /permission denied.*docker\.sock/i,
    means: () => ({
      why: "this user may not use docker",
      fix: `Run: sudo usermod -aG docker ${nameOfUser()}, then log in again and restart the gateway.`,
    }),
  },
  {
    says: /cannot connect|connection refused|is the docker daemon running|unable to connect/i,
    means: ({ backend }) => ({
      why: `${backend}'s engine does not run`,
      fix: `Start it, such as with: sudo systemctl start ${backend}.`,
    }),
  },
  {
    says: /(?:container-init|catatonit|docker-init).*not found/i,
    means: ({ backend }) => ({
      why: `${backend} lacks the program that becomes the first process of a container`,
      fix: "Run: sudo apt install catatonit (for docker: tini).",
    }),
  },
  {
    says: /executable file not found|no such file or directory.*\/bin\/sh|\/bin\/sh.*no such file/i,
    means: ({ image }) => ({
      why: `the image ${image} has no /bin/sh`,
      fix: `Name an image with a shell (${KEY}.docker.image).`,
    }),
  },
];

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    // The system has no name for the user.
    return "$USER";
  }
}

/** Reason why the engine could not start a program, from the output of its client. */
function whyEngineFails(said: string, facts: Facts): Unusable {
  const row = CAUSES.find(({ says }) => says.test(said));
  if (row) return { ok: false, ...row.means(facts) };
  const line = said.split("\n").findLast((one) => one.trim() !== "") ?? "";
  return {
    ok: false,
    why: line === "" ? `${facts.backend} did not answer within ten seconds` : `${facts.backend} failed: ${line}`,
    fix: `Run: ${facts.backend} run --rm ${facts.image} true, to see the cause; or set ${KEY}.backend to bwrap.`,
  };
}

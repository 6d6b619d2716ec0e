import { createHash, randomUUID } from "node:crypto";
import { readlink } from "node:fs/promises";
import type { CommandEnd, ContainedCommand, EngineFacts, EnginePlace, EngineSettings } from "openclaw/plugin-sdk";
import type { ContainerPlace } from "./launch.ts";

/** The label of all containers of one gateway. */
const GATEWAY = "openclaw.gateway";

type ContainerSettings = EngineSettings["docker"];
type Gateway = Pick<EnginePlace, "dir" | "env">;

const ownerOf = (dir: string): string => createHash("sha256").update(dir).digest("hex").slice(0, 16);

/** A name for one container, with the facts that its engine's client needs. */
export function newContainer(
  prefix: string,
  { dir, env }: Gateway,
  labels: ContainerPlace["labels"] = {},
): ContainerPlace {
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
export class Containers {
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
export const isFailed = (end: CommandEnd | undefined): boolean => end?.because === "exit" && end.code === FAILED;

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

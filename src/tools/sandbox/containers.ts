import { createHash, randomUUID } from "node:crypto";
import { readlink } from "node:fs/promises";
import type { CommandEnd } from "../../types/run/backend.ts";
import type { ContainerSettings } from "../../types/sandbox.ts";
import { runBriefly } from "./probe.ts";
import type { Warn } from "./watch.ts";
import { treeOf } from "./totals/process-tree.ts";
import type { ContainerPlace, EngineFacts } from "./container-launch.ts";

/** The label of all containers of one gateway. */
const GATEWAY = "openclaw.gateway";

interface Gateway {
  /** Its own directory. */
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const ownerOf = (dir: string): string => createHash("sha256").update(dir).digest("hex").slice(0, 16);

/** A name for one container, and what its engine's client needs. */
export function newContainer(
  prefix: string,
  { dir, env }: Gateway,
  labels: ContainerPlace["labels"] = {},
): ContainerPlace {
  return {
    name: `${prefix}${randomUUID()}`,
    labels: { [GATEWAY]: ownerOf(dir), ...labels },
    env: engineEnv(env),
    // The first key is one that nobody types, for the client holds it back until it sees the next one.
    detachKeys: `ctrl-_,${randomUUID().replaceAll("-", "").split("").join(",")}`,
  };
}

/** What the engine's client needs of the gateway's environment: where the engine is. */
const engineEnv = (env: Gateway["env"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST"].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** What the engine's client ends with when it could not start the command. */
const FAILED = 125;
/** What a shell ends with when SIGKILL ended the program, as the kernel does for want of memory. */
const KILLED = 137;
const MOST_LISTED = 100_000;

/** The containers in which the commands of one gateway run. */
export class Containers {
  readonly #gateway: Gateway;
  readonly #running = new Set<string>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** A container for one command; to be given back when the command has ended, or could not be started. */
  take({ containerPrefix }: ContainerSettings, labels: ContainerPlace["labels"]): ContainerPlace {
    const container = newContainer(containerPrefix, this.#gateway, labels);
    this.#running.add(container.name);
    return container;
  }

  /** Sees to it that the container is gone. Resolves with what the model has to know of the end. Never rejects. */
  async giveBack(
    container: ContainerPlace,
    { facts, end, warn }: { readonly facts: EngineFacts; readonly end: CommandEnd | undefined; readonly warn: Warn },
    { memory }: ContainerSettings,
  ): Promise<string | undefined> {
    const why = end === undefined || isRemoved(end) ? undefined : await remove(facts, container);
    this.#running.delete(container.name);
    if (why !== undefined) warn("a container could not be removed", { container: container.name, why });
    if (isFailed(end)) return `${facts.backend} may have failed to start it: its exit code is ${FAILED}.`;
    if (why !== undefined) return `Its container may still run, for ${facts.backend} could not end it: ${why}.`;
    if (end?.because !== "exit") return undefined;
    return end.code === KILLED
      ? `It was killed, as a command that takes more than ${memory} of memory is (agents.defaults.sandbox.docker.memory).`
      : undefined;
  }

  /** Removes what an earlier process of this gateway left, because it was killed. Resolves with the names. Never rejects. */
  async removeLeft({ program }: EngineFacts): Promise<readonly string[]> {
    const { dir } = this.#gateway;
    const env = engineEnv(this.#gateway.env);
    const filter = ["--filter", `label=${GATEWAY}=${ownerOf(dir)}`, "--format", "{{.Names}}"];
    const list = { argv: [program, "ps", "--all", ...filter], cwd: "/", env } as const;
    const { code, text } = await runBriefly(list, MOST_LISTED);
    // The engine's trial tells when it does not answer.
    if (code !== 0) return [];
    const left = text.split("\n").filter((name) => name !== "" && !this.#running.has(name));
    for (const name of left) await remove({ program }, { name, env });
    return left;
  }
}

/** Whether the engine could not start a command, or the command itself ended so. */
export const isFailed = (end: CommandEnd | undefined): boolean => end?.because === "exit" && end.code === FAILED;

/** A client that ends by itself waits until its container is gone. */
const isRemoved = (end: CommandEnd): boolean => end.because === "exit" && end.code !== null && end.code !== FAILED;

type Named = Pick<ContainerPlace, "name" | "env">;

const MOST_PROCESSES = 4096;

/** Finds the processes of a container, where its engine runs on this machine; none where it does not, or the container has ended. */
export function processesOf(container: Named, facts: Pick<EngineFacts, "program">): () => Promise<readonly number[]> {
  let first: number | undefined;
  return async () => {
    first ??= await firstProcessOf(container, facts);
    return first === undefined ? [] : treeOf(first, MOST_PROCESSES);
  };
}

async function firstProcessOf({ name, env }: Named, { program }: Pick<EngineFacts, "program">) {
  const ask = { argv: [program, "inspect", "--format", "{{.State.Pid}}", name], cwd: "/", env } as const;
  const pid = Number((await runBriefly(ask)).text);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  // A process of the machine that has the number of one elsewhere is not in a namespace of its own.
  const [inside, own] = await Promise.all([namespaceOf(pid), namespaceOf("self")]);
  return inside === undefined || inside === own ? undefined : pid;
}

const namespaceOf = (pid: number | "self"): Promise<string | undefined> =>
  // It has ended meanwhile, or is another user's.
  readlink(`/proc/${pid}/ns/pid`).catch(() => undefined);

/** Resolves with why a container may still be there, and with undefined when it is gone. */
async function remove({ program }: Pick<EngineFacts, "program">, { name, env }: Named): Promise<string | undefined> {
  const { code, text } = await runBriefly({ argv: [program, "rm", "--force", name], cwd: "/", env });
  if (code === 0 || /no such container/i.test(text)) return undefined;
  return text === "" ? "it does not answer" : (text.split("\n").at(-1) ?? text);
}

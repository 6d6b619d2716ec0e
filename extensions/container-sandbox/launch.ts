import { join, relative } from "node:path";
import { isInside } from "openclaw/plugin-sdk";
import type { EngineFacts, EngineSettings, Launch, Mount, View } from "openclaw/plugin-sdk";

/** Facts about one container. */
export interface ContainerPlace {
  /** Unique among containers. */
  readonly name: string;
  /** Labels by which an operator, and the next gateway, finds the container. */
  readonly labels: Readonly<Record<string, string>>;
  /** The environment of the engine's client. */
  readonly env: Readonly<Record<string, string>>;
  /** Keys that detach a terminal from the container; they must stay secret. */
  readonly detachKeys: string;
}

/** Shell text that becomes the engine's client. Only this shell can find out whether the command has a terminal. */
const CLIENT = 'if [ -t 0 ]; then t=true; else t=false; fi; exec "$0" run --interactive --tty="$t" "$@"';

/**
 * The launch of a container for one command. The engine removes the container when the command has ended; after a
 * forced end of the client the caller has to remove it. Pure.
 */
export function containerLaunch(
  launch: Launch,
  view: View,
  { facts, settings, ...place }: ContainerPlace & { readonly facts: EngineFacts; readonly settings: EngineSettings },
): Launch {
  const variables = variablesOf({ ...environment(launch), ...settings.docker.env });
  return {
    argv: [
      "/bin/sh",
      "-c",
      CLIENT,
      facts.program,
      ...aboutContainer(place),
      ...isolation(facts, settings),
      ...variables.args,
      ...settings.docker.tmpfs.flatMap((given) =>
        // A value with options is in the engine's own form.
        given.includes(":") ? ["--tmpfs", given] : temporaryArgs(given, settings.bwrap.tmpMb, facts.backend),
      ),
      ...temporaryArgs(homeOf(launch), settings.bwrap.tmpMb, facts.backend),
      ...mountArgs(view, facts.backend),
      ...settings.docker.binds.flatMap((bind) => ["--volume", bind]),
      "--workdir",
      launch.cwd,
      // An image may have a program of its own that starts everything else.
      "--entrypoint",
      "/bin/sh",
      settings.docker.image,
      "-c",
      // Some engines mix up the order of two streams.
      `${limits(settings)}; ${variables.script}exec "$@" 2>&1`,
      "sh",
      ...launch.argv,
    ],
    cwd: "/",
    env: { ...variables.env, ...place.env },
  };
}

const aboutContainer = ({ name, labels, detachKeys }: ContainerPlace): readonly string[] => [
  "--rm",
  "--init",
  // A command must not download anything, nor wait for a download.
  "--pull",
  "never",
  // The engine would keep a copy of the output on the disk.
  "--log-driver",
  "none",
  "--stop-timeout",
  "0",
  "--detach-keys",
  detachKeys,
  "--name",
  name,
  ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
];

const isolation = (
  { backend, user, keepsId, ...facts }: EngineFacts,
  { docker }: EngineSettings,
): readonly string[] => [
  "--network",
  docker.network,
  "--hostname",
  "sandbox",
  "--user",
  docker.user ?? user,
  ...(keepsId ? ["--userns", "keep-id"] : []),
  // Podman's warnings would be in the output of every command; the volumes of an image would be on the disk.
  ...(backend === "podman" ? ["--log-level", "error", "--image-volume", "ignore"] : []),
  ...(docker.readOnlyRoot ? ["--read-only"] : []),
  ...docker.capDrop.flatMap((name) => ["--cap-drop", name]),
  "--security-opt",
  "no-new-privileges",
  "--security-opt",
  `seccomp=${facts.profile}`,
  // Otherwise the engine's client would print a warning in the output of every command.
  ...(facts.holdsLimits ? engineLimits(docker) : []),
];

const engineLimits = ({ pidsLimit, memory, cpus }: EngineSettings["docker"]): readonly string[] => [
  "--pids-limit",
  String(pidsLimit),
  "--memory",
  memory,
  ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
];

const homeOf = ({ env }: Launch): string => env["HOME"] ?? "/root";

/** Variables of a command in a container. `PATH` is left out: the image sets the places of its programs. */
function environment(launch: Launch): Readonly<Record<string, string>> {
  const env = Object.entries(launch.env).filter(([name]) => name !== "PATH");
  return { ...Object.fromEntries(env), HOME: homeOf(launch), TMPDIR: "/tmp" };
}

/** Beginning of the names under which the client passes variables on. */
const PASSED = "OPENCLAW_VARIABLE_";

/**
 * The way by which the command gets its variables. In the client's arguments every user of the machine could read them,
 * and under their own names the client would obey them.
 */
function variablesOf(env: Readonly<Record<string, string>>) {
  const all = Object.entries(env);
  const entries = all.filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  const passed = entries.map(([, value], at): [string, string] => [`${PASSED}${at}`, value]);
  const names = passed.map(([name]) => name);
  const values = entries.map(([name], at) => `${name}="$${PASSED}${at}"`);
  return {
    env: Object.fromEntries(passed),
    args: names.flatMap((name) => ["--env", name]),
    script: `export ${values.join(" ")}; unset ${names.join(" ")}; `,
  };
}

/** Limits that the shell in the container sets. Processes and memory are limited by the engine, or by the gateway. */
const limits = ({ bwrap: { cpuSeconds, fileSizeMb } }: EngineSettings): string =>
  `{ ulimit -c 0; ulimit -t ${cpuSeconds}; ulimit -f ${fileSizeMb * 2048}; } 2>/dev/null`;

/** The argument of a mount. The engine reads its parts as one line of comma-separated values. */
const mount = (...parts: readonly string[]): readonly string[] => [
  "--mount",
  parts.map((part) => (/[",\r\n]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part)).join(","),
];

type Engine = EngineFacts["backend"];

/**
 * Option of a directory in memory. Without it podman would copy the content below such a directory into it, so that
 * nothing would be hidden.
 */
const bare: Readonly<Record<Engine, readonly string[]>> = { docker: [], podman: ["notmpcopyup"] };

/**
 * The mounts of a container: the mounts of a view at their own paths, and at paths that lead to them by a link. Pure.
 */
const mountArgs = ({ mounts, links }: View, engine: Engine): readonly string[] => [
  ...mounts.flatMap((one) => argsOf(one, one.path, engine)),
  ...links.flatMap(({ at, to }) =>
    mounts.flatMap((one) => (isInside(one.path, to) ? argsOf(one, join(at, relative(to, one.path)), engine) : [])),
  ),
];

function argsOf({ path, from = path, as }: Mount, target: string, engine: Engine): readonly string[] {
  switch (as) {
    case "ro":
      return mount("type=bind", `source=${from}`, `target=${target}`, "readonly");
    case "rw":
      return mount("type=bind", `source=${from}`, `target=${target}`);
    case "empty":
    case "frame":
      return mount("type=tmpfs", `target=${target}`, "ro", ...bare[engine]);
    case "blank":
      return mount("type=bind", "source=/dev/null", `target=${target}`, "readonly");
  }
}

/** A directory in memory, for every user. Pure. */
const temporaryArgs = (path: string, sizeMb: number, engine: Engine): readonly string[] =>
  /[:,]/.test(path)
    ? mount("type=tmpfs", `target=${path}`, "tmpfs-mode=1777", `tmpfs-size=${sizeMb * 1_048_576}`, ...bare[engine])
    : ["--tmpfs", `${path}:${["exec", "mode=1777", `size=${sizeMb}m`, ...bare[engine]].join(",")}`];

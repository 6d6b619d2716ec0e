import type { Launch } from "../../types/run/backend.ts";
import type { ContainerSettings, SandboxBackend } from "../../types/sandbox.ts";
import { withoutGateway } from "./bwrap.ts";
import type { Mount, View } from "./view.ts";

/** The command that an engine's client is started with. */
export interface ContainerPlace {
  /** `docker` or `podman`, absolute. */
  readonly program: string;
  /** Unique among running containers. */
  readonly name: string;
  /** Values of labels by which a folder's containers are found. */
  readonly labels: Readonly<Record<string, string>>;
  /** Who runs in the container when the settings do not say: the gateway's `uid:gid`. */
  readonly user: string;
  /** The environment of the client itself. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The client forwards SIGTERM to the container, but a killed client would leave it running: so a shell waits for the client, and has the
 * container removed by a process that the end of the command does not reach.
 */
const WATCHED = [
  'name=$1; engine=$2; shift; trap \'env -i PATH="$PATH" HOME="$HOME" DOCKER_HOST="$DOCKER_HOST" setsid "$engine" rm -f "$name" >/dev/null 2>&1 &\' TERM INT',
  '"$@" & wait $!',
  "code=$?",
  "exit $code",
].join("\n");

/** Starts a container for one command. It is removed with the command's end. Pure. */
export function containerLaunch(
  launch: Launch,
  view: View,
  place: ContainerPlace,
  settings: ContainerSettings,
): Launch {
  return {
    argv: ["/bin/sh", "-c", WATCHED, "sh", place.name, place.program, ...containerArgs(launch, view, place, settings)],
    cwd: "/",
    env: place.env,
  };
}

/** The arguments of `docker run`. Pure. */
function containerArgs(
  launch: Launch,
  view: View,
  { name, labels, user }: ContainerPlace,
  settings: ContainerSettings,
): readonly string[] {
  const env = { ...withoutGateway(launch.env), HOME: "/tmp", TMPDIR: "/tmp", PATH: IMAGE_PATH, ...settings.env };
  return [
    "run",
    "--rm",
    "--init",
    "--name",
    name,
    ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    "--network",
    settings.network,
    "--hostname",
    "sandbox",
    "--user",
    settings.user ?? user,
    ...(settings.readOnlyRoot ? ["--read-only"] : []),
    ...settings.tmpfs.flatMap((path) => ["--tmpfs", path]),
    ...settings.capDrop.flatMap((name_) => ["--cap-drop", name_]),
    "--security-opt",
    "no-new-privileges",
    "--pids-limit",
    String(settings.pidsLimit),
    "--memory",
    settings.memory,
    ...(settings.cpus === undefined ? [] : ["--cpus", String(settings.cpus)]),
    ...view.mounts.flatMap(mountArgs),
    ...settings.binds.flatMap((bind) => ["--volume", bind]),
    ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
    "--workdir",
    launch.cwd,
    settings.image,
    ...launch.argv,
  ];
}

/** The gateway's own `PATH` has directories that an image does not have. */
const IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const mountOf = (path: string, more: string): readonly string[] => [
  "--mount",
  `type=bind,source=${path},target=${path}${more}`,
];

function mountArgs({ path, as }: Mount): readonly string[] {
  switch (as) {
    case "ro":
      return mountOf(path, ",readonly");
    case "rw":
      return mountOf(path, "");
    case "empty":
    case "frame":
      return ["--mount", `type=tmpfs,target=${path}`];
    case "blank":
      return ["--mount", `type=bind,source=/dev/null,target=${path},readonly`];
  }
}

export const isContainer = (backend: SandboxBackend): boolean => backend === "docker" || backend === "podman";

/** Networks that are not the container's own. */
export const sharesNetwork = (network: string): boolean => network === "host" || network.startsWith("container:");

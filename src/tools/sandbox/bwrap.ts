import type { Launch } from "../../types/run/backend.ts";
import type { BwrapSettings } from "../../types/sandbox.ts";
import { limited } from "./limits.ts";
import type { Mount, View } from "./view.ts";

/** What is known of `bwrap` and of the machine since the start. */
export interface BwrapFacts {
  /** Absolute. */
  readonly program: string;
  /** `bwrap` can limit the size of a temporary file system: from 0.7 on. */
  readonly canSize: boolean;
  /** The system's directories at the root: a link has a target. */
  readonly system: readonly { readonly path: string; readonly target?: string }[];
  /** File with the filter of system calls; none for this processor when unset. */
  readonly filter?: string;
}

/** Files of `/etc` that programs need to resolve names, load libraries and trust certificates. None has a secret. */
const ETC = (
  "alternatives ca-certificates ca-certificates.conf crypto-policies debian_version fonts group ld.so.cache ld.so.conf ld.so.conf.d " +
  "localtime locale.alias magic mime.types nsswitch.conf os-release passwd pki protocols python3 services ssl/certs ssl/openssl.cnf " +
  "terminfo timezone"
).split(" ");
const ETC_OF_NETWORK = ["hosts", "host.conf", "resolv.conf", "gai.conf"];

const FILTER_DESCRIPTOR = "3";
/** Opens the filter for `bwrap`, which is then the same process. */
const WITH_FILTER = `exec "$@" ${FILTER_DESCRIPTOR}<"$0"`;

/** How a process is started in a sandbox of its own. Pure. */
export function bwrapLaunch(launch: Launch, view: View, facts: BwrapFacts, settings: BwrapSettings): Launch {
  const home = launch.env["HOME"] ?? "/tmp";
  const env = { ...withoutGateway(launch.env), HOME: home, TMPDIR: "/tmp" };
  const argv = [
    facts.program,
    ...isolation(settings),
    ...(facts.filter === undefined ? [] : ["--seccomp", FILTER_DESCRIPTOR]),
    ...systemArgs(facts, settings),
    ...temporary(home, facts.canSize ? settings.tmpMb : undefined),
    ...view.mounts.flatMap(mountArgs),
    // Only now, because bwrap makes the places for the mounts in them.
    ...view.mounts.flatMap(({ path, as }) => (as === "frame" ? ["--remount-ro", path] : [])),
    ...view.links.flatMap(({ at, to }) => ["--symlink", to, at]),
    // Whatever was made above to mount something on lies in memory; nothing may be added to it.
    "--remount-ro",
    "/",
    "--chdir",
    launch.cwd,
    ...entriesOf(env, isOfLanguage).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
    ...limited(launch.argv, settings),
  ] as const;
  const [program, ...args] = argv;
  return {
    argv:
      facts.filter === undefined ? [program, ...args] : ["/bin/sh", "-c", WITH_FILTER, facts.filter, program, ...args],
    // Where the gateway was started need not be in the sandbox; `--chdir` says where the command runs.
    cwd: "/",
    env: Object.fromEntries(entriesOf(env, (name) => !isOfLanguage(name))),
  };
}

/**
 * Variables that may name a directory with files of a language. `bwrap` itself runs outside and would load them, so only what it starts
 * gets them.
 */
const isOfLanguage = (name: string): boolean => /^(?:LANG|LANGUAGE|LC_.*)$/.test(name);

const entriesOf = (env: Launch["env"], isWanted: (name: string) => boolean): readonly (readonly [string, string])[] =>
  Object.entries(env).filter(([name]) => isWanted(name));

const isolation = ({ network }: BwrapSettings): readonly string[] => [
  "--unshare-user",
  "--unshare-all",
  ...(network === "host" ? ["--share-net"] : []),
  "--die-with-parent",
  "--new-session",
  "--cap-drop",
  "ALL",
  "--hostname",
  "sandbox",
];

function systemArgs({ system }: BwrapFacts, { network }: BwrapSettings): readonly string[] {
  const etc = network === "host" ? [...ETC, ...ETC_OF_NETWORK] : ETC;
  return [
    ...system.flatMap(({ path, target }) =>
      target === undefined ? ["--ro-bind", path, path] : ["--symlink", target, path],
    ),
    ...etc.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
    // The kernel lets root write its settings without any capability, and root is who the gateway may run as.
    "--proc",
    "/proc",
    "--remount-ro",
    "/proc",
    "--dev",
    "/dev",
  ];
}

/** Directories in memory that are empty at each start. The home directory has its path, so that `~` means the same. */
function temporary(home: string, sizeMb: number | undefined): readonly string[] {
  const size = sizeMb === undefined ? [] : ["--size", String(sizeMb * 1_048_576)];
  return memoryDirs(home).flatMap((path) => [...size, "--tmpfs", path]);
}

/** The directories of a sandbox that are in memory. Pure. */
export const memoryDirs = (home: string): readonly string[] => [
  ...new Set(["/dev/shm", "/tmp", "/var/tmp", "/run", home]),
];

function mountArgs({ path, from = path, as }: Mount): readonly string[] {
  switch (as) {
    case "ro":
      return ["--ro-bind", from, path];
    case "rw":
      return ["--bind", from, path];
    case "frame":
      return ["--tmpfs", path];
    case "empty":
      return ["--tmpfs", path, "--remount-ro", path];
    case "blank":
      return ["--ro-bind", "/dev/null", path];
  }
}

/** The gateway's files are not there, so nothing may point to them. */
export const withoutGateway = (env: Launch["env"]): Launch["env"] =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(?:OPENCLAW_STATE_DIR|OPENCLAW_CONFIG_PATH|TMP|TEMP)$/.test(name)),
  );

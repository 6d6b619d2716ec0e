import type { Launch } from "../../types/run/backend.ts";
import type { BwrapSettings } from "../../types/sandbox.ts";
import type { Mount, View } from "../../types/sandbox-engine.ts";

/**
 * Shell text that sets the limits; the shell then becomes the command. A limit that is already lower stays, which is
 * why errors are not shown. Shells disagree on the letter for processes. Files are counted in blocks of 512 bytes.
 */
const SCRIPT = [
  'ulimit -c 0; ulimit -t "$1"; ulimit -f "$2"; ulimit -d "$3"; ulimit -u "$4" || ulimit -p "$4"',
  "shift 4",
];

/** The argv of a process whose limits are set before it begins. Pure. */
export const limitedArgv = (
  argv: Launch["argv"],
  { cpuSeconds, fileSizeMb, memoryMb, processes }: BwrapSettings,
): Launch["argv"] => [
  "/bin/sh",
  "-c",
  `{ ${SCRIPT.join("; ")}; } 2>/dev/null; exec "$@"`,
  "sh",
  ...[cpuSeconds, fileSizeMb * 2048, memoryMb * 1024, processes].map(String),
  ...argv,
];

/** Facts about `bwrap` and the machine, found at the start. */
export interface BwrapFacts {
  /** Absolute path of `bwrap`. */
  readonly program: string;
  /** True when `bwrap` can limit the size of a temporary file system: from 0.7 on. */
  readonly canSize: boolean;
  /** The system's directories at the root; a link has a target. */
  readonly system: readonly { readonly path: string; readonly target?: string }[];
  /** File with the filter of system calls; unset where this processor has none. */
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
/** Shell text that opens the filter for `bwrap` and becomes `bwrap`. */
const WITH_FILTER = `exec "$@" ${FILTER_DESCRIPTOR}<"$0"`;

/** The launch of a process in a sandbox of its own. Pure. */
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
    // Only now, because bwrap makes the places for the mounts in these directories.
    ...view.mounts.flatMap(({ path, as }) => (as === "frame" ? ["--remount-ro", path] : [])),
    ...view.links.flatMap(({ at, to }) => ["--symlink", to, at]),
    // Directories that were made above as places of mounts lie in memory; nothing may be added to them.
    "--remount-ro",
    "/",
    "--chdir",
    launch.cwd,
    ...entriesOf(env, isOfLanguage).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
    ...limitedArgv(launch.argv, settings),
  ] as const;
  const [program, ...args] = argv;
  return {
    argv:
      facts.filter === undefined ? [program, ...args] : ["/bin/sh", "-c", WITH_FILTER, facts.filter, program, ...args],
    // The gateway's directory need not be in the sandbox; `--chdir` sets that of the command.
    cwd: "/",
    env: Object.fromEntries(entriesOf(env, (name) => !isOfLanguage(name))),
  };
}

/**
 * Variables that may name a directory with files of a language. `bwrap` itself runs outside and would load these files,
 * so only its child gets the variables.
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
    // The kernel lets root write its settings without any capability, and the gateway may run as root.
    "--proc",
    "/proc",
    "--remount-ro",
    "/proc",
    "--dev",
    "/dev",
  ];
}

/**
 * Directories in memory that are empty at each start. The home directory keeps its path, so that `~` means the same.
 */
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

/** The environment without variables that name the gateway's files, which the sandbox does not have. */
export const withoutGateway = (env: Launch["env"]): Launch["env"] =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(?:OPENCLAW_STATE_DIR|OPENCLAW_CONFIG_PATH|TMP|TEMP)$/.test(name)),
  );

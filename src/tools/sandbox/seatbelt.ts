import { join, relative } from "node:path";
import type { Launch } from "../../types/run/backend.ts";
import type { BwrapSettings } from "../../types/sandbox.ts";
import { isInside } from "../../utils/real-path.ts";
import { withoutGateway, limitedArgv } from "./bwrap.ts";
import type { Mount, View } from "../../types/sandbox-engine.ts";

/** The program of macOS that starts another one under a profile. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** Directories that programs of the system need for reading. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/System", "/Library", "/opt/homebrew", "/opt/local", "/nix/store"];
const SYSTEM_FILES = [
  "/",
  "/dev/null",
  "/dev/zero",
  "/dev/random",
  "/dev/urandom",
  "/dev/dtracehelper",
  "/private/etc/group",
  "/private/etc/localtime",
  "/private/etc/nsswitch.conf",
  "/private/etc/passwd",
  "/private/etc/protocols",
  "/private/etc/services",
  "/private/var/db/timezone",
  "/private/var/db/xcode_select_link",
  "/private/var/select/sh",
];
/** Directories below these that commands must not read: keys of the system, and the whole disk under a second name. */
const NEVER = ["/Library/Keychains", "/System/Volumes/Data", "/System/Volumes/Preboot"];

/**
 * Rules of every profile. Everything that no rule allows is denied: other processes, their services, sockets and the
 * network.
 */
const BASE = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read-metadata)
(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow file-ioctl (literal "/dev/null"))`;

const TERMINAL = String.raw`(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))`;

const NETWORK = `(allow network*)
(allow system-socket)
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.trustd.agent"))`;

/** Rules of a profile. Paths are its parameters, so that no path can be read as a rule. */
class Profile {
  readonly #rules: string[] = [];
  readonly #paths: string[] = [];

  rule(
    verdict: "allow" | "deny",
    operations: string,
    paths: readonly string[],
    match: "subpath" | "literal" = "subpath",
  ): void {
    for (const path of paths) {
      this.#rules.push(`(${verdict} ${operations} (${match} (param "P${this.#paths.length}")))`);
      this.#paths.push(path);
    }
  }

  /** The options of `sandbox-exec`. Of several rules that match, the last one counts. */
  options(base: string): readonly string[] {
    return ["-p", [base, ...this.#rules].join("\n"), ...this.#paths.map((path, at) => `-DP${at}=${path}`)];
  }
}

interface Seatbelt {
  readonly program: string;
  /** A directory that the command may write, for temporary files and as its home directory; without links. */
  readonly own: string;
}

/** The launch of a process under a profile. Pure. */
export function seatbeltLaunch(
  launch: Launch,
  view: View,
  { program, own }: Seatbelt,
  settings: BwrapSettings,
): Launch {
  const profile = new Profile();
  profile.rule("allow", "file-read*", SYSTEM);
  profile.rule("allow", "file-read*", SYSTEM_FILES, "literal");
  profile.rule("deny", "file-read* file-write*", NEVER);
  for (const mount of view.mounts) addMount(profile, mount);
  profile.rule("allow", "file-read* file-write*", [own]);
  const base = [BASE, TERMINAL, ...(settings.network === "host" ? [NETWORK] : [])].join("\n");
  return {
    argv: [program, ...profile.options(base), "--", ...limitedArgv(launch.argv, settings)],
    cwd: whereIs(launch.cwd, view),
    env: { ...withoutGateway(launch.env), HOME: own, TMPDIR: own },
  };
}

/**
 * The directory of a command. Nothing can be shown at another path: a command with a copy of the workspace starts in
 * the copy.
 */
function whereIs(path: string, { mounts }: View): string {
  const moved = mounts.find((one) => one.from !== undefined && isInside(path, one.path));
  return moved?.from === undefined ? path : join(moved.from, relative(moved.path, path));
}

function addMount(profile: Profile, { path, from = path, as }: Mount): void {
  switch (as) {
    case "rw":
      return profile.rule("allow", "file-read* file-write*", [from]);
    case "ro":
      profile.rule("allow", "file-read*", [from]);
      return profile.rule("deny", "file-write*", [from]);
    case "empty":
    case "frame":
    case "blank":
      return profile.rule("deny", "file-read* file-write*", [path]);
  }
}

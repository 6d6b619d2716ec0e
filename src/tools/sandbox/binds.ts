import { basename, isAbsolute, join, normalize } from "node:path";
import { isInside, realOf } from "../../utils/real-path.ts";

/** Directories that no sandbox is given, nor one that they are in or that is in them: the system's settings, and credentials. */
const SYSTEM = ["/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run"];
const OF_HOME = [".aws", ".cargo", ".config", ".docker", ".gnupg", ".netrc", ".npm", ".ssh"];
const SOCKETS = new Set(["docker.sock", "podman.sock", "containerd.sock"]);

/**
 * Rejects with a text that names the bind when it would open what a sandbox is to keep closed, by its name or by where its links lead:
 * `hidden` are the gateway's own files.
 */
export async function checkBind(path: string, home: string, hidden: readonly string[] = []): Promise<void> {
  if (!isAbsolute(path)) throw new Error(`The sandbox cannot have ${path}: a bind is an absolute path.`);
  const closed = [...SYSTEM, ...OF_HOME.map((name) => join(home, name)), ...hidden];
  const real = await realOf(path);
  const roots = [...closed, ...(await Promise.all(closed.map(realOf)))];
  const isClosed = (one: string) => roots.some((root) => isInside(one, root) || isInside(root, one));
  if ([normalize(path), real].some((one) => isClosed(one) || SOCKETS.has(basename(one))))
    throw new Error(
      `The sandbox cannot have ${path}: it holds the system's settings, credentials, the gateway's files or a door out.`,
    );
}

/** The binds of `bwrap`: `path` for reading, `path:rw` for writing too. */
export function readBinds(binds: readonly string[]): {
  readonly ro: readonly string[];
  readonly rw: readonly string[];
} {
  const isWritable = (bind: string) => bind.endsWith(":rw");
  const pathOf = (bind: string) => bind.replace(/:r[ow]$/, "");
  return {
    ro: binds.filter((bind) => !isWritable(bind)).map(pathOf),
    rw: binds.filter(isWritable).map(pathOf),
  };
}

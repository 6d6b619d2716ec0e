import { readdir, readFile, readlink } from "node:fs/promises";
import path from "node:path";

/** The process that listens on a port, such as `node (pid 4711)`. Undefined for other users' processes and outside Linux. */
export async function findPortOwner(port: number): Promise<string | undefined> {
  const inodes = await listeningInodes(port);
  if (inodes.size === 0) return undefined;
  for (const pid of await pids()) {
    if (await holdsSocket(pid, inodes)) return `${await nameOf(pid)} (pid ${pid})`;
  }
  return undefined;
}

async function listeningInodes(port: number): Promise<ReadonlySet<string>> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map(readText));
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const rows = tables.flatMap((table) => table.split("\n").slice(1)).map((line) => line.trim().split(/\s+/));
  // Columns: 1 local address, 3 state (0A is LISTEN), 9 inode.
  const listening = rows.filter((row) => row[3] === "0A" && row[1]?.endsWith(`:${hex}`));
  return new Set(listening.map((row) => row[9] ?? ""));
}

async function pids(): Promise<readonly string[]> {
  return (await list("/proc")).filter((name) => /^\d+$/.test(name));
}

async function holdsSocket(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const targets = await Promise.all((await list(`/proc/${pid}/fd`)).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
  return targets.some((target) => inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "none"));
}

/** The program's file name, without its arguments, which may hold secrets. */
const nameOf = async (pid: string) => path.basename(await linkOf(`/proc/${pid}/exe`)) || "a process";

// A process may end meanwhile or belong to another user; one that cannot be read is skipped.
const readText = (path: string) => readFile(path, "utf8").catch(() => "");
const list = (path: string) => readdir(path).catch((): string[] => []);
const linkOf = (path: string) => readlink(path).catch(() => "");

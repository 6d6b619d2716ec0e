import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { OUTSIDE, type Ground } from "./ground.ts";

/** Names that are hard to show, or look like something else. */
export const NAMES = [
  "two\nlines.txt",
  "\u202Etxt.exe",
  "-rf",
  "quo'te\"s",
  " spaces ",
  "\u001B[2Jclear.txt",
  "ñandú😀.txt",
];

/** Paths that are no files: every tool must refuse them, and wait for none of them. */
export const NO_FILES = [
  "pipe",
  "socket",
  "device",
  "loop",
  "environment",
  "/dev/zero",
  "/proc/self/environ",
  "nul\0character",
  "a/".repeat(50_000),
  "x".repeat(5_000_000),
];

/** Paths that lead out of the workspace. */
export const OUT = ["../outside/secret.txt", "away", "folder/secret.txt", "~/../../etc/passwd", "/etc/passwd"];

/** Fills a workspace with what tools should not fail at. The server holds the socket. */
export async function makeHostile({ workspace, root, put }: Ground): Promise<{ close(): void }> {
  const at = (name: string) => join(workspace, name);
  execFileSync("mkfifo", [at("pipe")]);
  const server = createServer().listen(at("socket"));
  await once(server, "listening");
  for (const [name, target] of [
    ["device", "/dev/zero"],
    ["loop", "loop"],
    ["environment", "/proc/self/environ"],
    ["away", join(root, "outside", "secret.txt")],
    ["folder", join(root, "outside")],
  ] as const)
    symlinkSync(target, at(name));
  for (const name of NAMES) put(name, "plain\n");
  put("binary", Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 256)));
  put("latin1", Buffer.from([0x61, 0xfc, 0xff, 0x0a]));
  // 10 GB that take no place.
  for (const name of ["holes", "text-and-holes"]) {
    writeFileSync(at(name), name === "holes" ? "" : "a".repeat(100_000));
    truncateSync(at(name), 10 * 2 ** 30);
  }
  // Below it are links back to it, and more folders than most programs can follow.
  mkdirSync(at(`deep/${"d/".repeat(300)}`), { recursive: true });
  for (let depth = 0; depth < 300; depth += 10) symlinkSync("../..", at(`deep/${"d/".repeat(depth)}up`));
  return { close: () => server.close() };
}

/**
 * A program that puts a link to the outside into the place of `swap` and `swap-dir`, and back, again and again. It ends by
 * itself after a minute.
 */
export async function startSwapping({ workspace, root }: Ground): Promise<{ stop(): Promise<void> }> {
  const script = `
    mkdir -p in && echo plain > in/secret.txt && echo plain > plain.txt
    ln -s in a && ln -s "$OUT" b && ln -s plain.txt c && ln -s "$OUT/secret.txt" d
    echo ready
    end=$(( $(date +%s) + 60 ))
    while [ $(date +%s) -lt $end ]; do
      for i in 1 2 3 4 5 6 7 8 9 10; do
        cp -P a swap-dir.new && mv -Tf swap-dir.new swap-dir; cp plain.txt swap.new && mv -Tf swap.new swap
        cp -P b swap-dir.new && mv -Tf swap-dir.new swap-dir; cp -P d swap.new && mv -Tf swap.new swap
      done
    done`;
  const child = spawn("sh", ["-c", script], {
    cwd: workspace,
    env: { PATH: "/usr/bin:/bin", OUT: join(root, "outside") },
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout, "data");
  return {
    async stop() {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Whether a text has anything of the outside. */
export const leaks = (text: string): boolean => text.includes(OUTSIDE);

import { spawn, type ChildProcessByStdio } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import type { Io } from "../../../src/app/cli/io.ts";
import { runCommand } from "../../../src/app/cli/run/run-cli.ts";
import { COMPILED } from "./compiled.ts";

export const mainFile = fileURLToPath(new URL("../../../src/app/main.ts", import.meta.url));

export type Env = Readonly<Record<string, string>>;

/** A state directory of the test's own, gone after it. */
export function stateDir(config?: string): string {
  const dir = mkdtempSync(join(tmpdir(), "openclaw-cli-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  if (config !== undefined) writeFileSync(join(dir, "openclaw.json"), config);
  return dir;
}

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** One command line in this process. `terminal`: as if a person sat there. */
export async function run(
  args: readonly string[],
  env: Env = {},
  terminal = false,
  contributions = bundledContributions(),
): Promise<Ended> {
  let out = "";
  let err = "";
  const io: Io = {
    contributions,
    env: { HOME: "/nonexistent", ...env },
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    isTerminal: terminal,
    isErrTerminal: false,
    color: false,
    verbose: false,
  };
  const code = await runCommand(io, args);
  return { code, out, err };
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>;

/** The same as a process of its own, from the sources. */
export function start(args: readonly string[], env: Env = {}, nodeArgs: readonly string[] = []): Child {
  return spawn(process.execPath, ["--conditions=source", ...nodeArgs, mainFile, ...args], {
    env: { HOME: tmpdir(), PATH: process.env["PATH"] ?? "", ...COMPILED, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What a process wrote, and its exit code. */
export async function ended(child: Child): Promise<Ended> {
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on("close", resolve);
  });
  return { code: code ?? -1, out, err };
}

/** Resolves with all output so far as soon as it matches. */
export function outputMatching(child: Child, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (pattern.test(out)) resolve(out);
    });
    child.on("close", () => reject(new Error(`ended without ${pattern}: ${out}`)));
  });
}

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { syncDir } from "../../store/disk.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { PACKAGE, type Version, type Versions } from "./versions.ts";
import { readTextFile } from "../../store/text-file.ts";

/** A program has ended, or was ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The most of a program's output that is kept. */
const MOST_OUTPUT = 4 * 1024 * 1024;

/** Runs a program to its end. Rejects with UPDATE_REFUSED when it is not there. */
export function runProgram(argv: readonly string[], env: Env, signal: AbortSignal): Promise<Ended> {
  const [program = "", ...args] = argv;
  return new Promise((done, reject) => {
    const child = spawn(program, args, { env: { ...env }, stdio: ["ignore", "pipe", "pipe"], signal });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data: Buffer) => (out = (out + data.toString()).slice(-MOST_OUTPUT)));
    child.stderr.on("data", (data: Buffer) => (err = (err + data.toString()).slice(-MOST_OUTPUT)));
    child.once("error", (error) => reject(signal.aborted ? tooLong(argv) : notThere(program, error)));
    child.once("close", (code) => done({ code, out, err }));
  });
}

const tooLong = (argv: readonly string[]) =>
  new OpenClawError("UPDATE_FAILED", {
    message: `\`${argv.join(" ")}\` did not end in the time that the update has.`,
    fix: "Give it more seconds: openclaw update --timeout <seconds>. The present version runs on.",
  });

const notThere = (program: string, cause: unknown) =>
  new OpenClawError("UPDATE_REFUSED", {
    message: `There is no \`${program}\` on this machine, which fetches versions.`,
    fix: "Install npm, which comes with Node (https://nodejs.org).",
    cause,
  });

/** The npm beside this Node on Windows, where a program that is a script cannot be started by its name; else the first of the PATH. */
function npm(): readonly string[] {
  const script = join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js");
  return process.platform === "win32" && existsSync(script) ? [process.execPath, script] : ["npm"];
}

/** What npm is asked for: a version or tag of the package, the path of a `.tgz`, or what npm takes itself. Throws USAGE. */
export async function specOf(tag: string): Promise<string> {
  const path = resolve(tag);
  const found = await unlessMissing(stat(path));
  if (found?.isFile()) return path;
  if (found?.isDirectory() && /[/\\]/.test(tag)) throw notAFile(tag);
  if (/^[\w.+~^-]+$/.test(tag) && !tag.startsWith("-")) return `${PACKAGE}@${tag}`;
  if (/^(?:@?[\w.-]+(?:\/[\w.-]+)?@[^\s-]\S*|https?:\/\/\S+)$/.test(tag)) return tag;
  throw new OpenClawError("USAGE", {
    message: `${tag} is neither a file, a version nor a tag.`,
    fix: `Write --tag latest, --tag 0.2.0, --tag ./${PACKAGE}-0.2.0.tgz or --tag <package>@<version>.`,
  });
}

const notAFile = (tag: string) =>
  new OpenClawError("USAGE", {
    message: `${tag} is a folder.`,
    fix: "Make a package of it first: npm pack. Then name the .tgz.",
  });

const packed = z.array(z.looseObject({ name: z.string(), version: z.string() })).min(1);

/** The version that npm would fetch. Rejects with UPDATE_FETCH. */
export async function versionAt(spec: string, env: Env, signal: AbortSignal): Promise<string> {
  const { out } = await runNpm(["pack", "--dry-run", "--json", "--ignore-scripts", spec], env, signal);
  const [found] = packed.safeParse(jsonIn(out)).data ?? [];
  if (!found || found.name !== PACKAGE) throw foreign(spec, found?.name);
  return found.version;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Fetches a version with what it needs into a folder of its own; no script of a package runs. The folder is there as a whole or not
 * at all. Rejects with UPDATE_FETCH, and UPDATE_REFUSED for another package or one that needs another Node.
 */
export async function fetchVersion(
  versions: Versions,
  { id, spec, env, signal }: { id: string; spec: string; env: Env; signal: AbortSignal },
): Promise<Version> {
  const draft = versions.draft("staging", id);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    const flags = ["--prefix", draft, "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--save-exact"];
    await runNpm(["install", ...flags, spec], env, signal);
    const version = await versionIn(join(draft, "node_modules", PACKAGE), spec);
    const name = `${version.replaceAll(/[^\w.+-]/g, "_")}-${id}`;
    await rename(draft, join(versions.dir, name));
    await syncDir(versions.dir);
    return { name, version };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function runNpm(args: readonly string[], env: Env, signal: AbortSignal): Promise<Ended> {
  const ended = await runProgram([...npm(), ...args], { ...env, npm_config_update_notifier: "false" }, signal);
  if (ended.code === 0) return ended;
  const lines = ended.err.split("\n").filter((line) => /\S/.test(line) && !/A complete log of this run/.test(line));
  throw new OpenClawError("UPDATE_FETCH", {
    message: `npm could not fetch ${args.at(-1)}: ${lines.slice(-6).join(" ") || `it ended with ${ended.code}`}`,
    fix: "Check the name, the registry and the network. The present version runs on.",
  });
}

const manifestShape = z.looseObject({
  name: z.string(),
  version: z.string(),
  engines: z.looseObject({ node: z.string().optional() }).optional(),
});

/** The version of an unpacked package that this Node can run. */
async function versionIn(root: string, spec: string): Promise<string> {
  const text = await readTextFile(join(root, "package.json"));
  const manifest = manifestShape.safeParse(jsonIn(text ?? "")).data;
  if (manifest?.name !== PACKAGE || !existsSync(join(root, "dist", "main.js"))) throw foreign(spec, manifest?.name);
  const least = /^>=(\d+)\.(\d+)/.exec(manifest.engines?.node ?? "");
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (least && (major < Number(least[1]) || (major === Number(least[1]) && minor < Number(least[2]))))
    throw new OpenClawError("UPDATE_REFUSED", {
      message: `${PACKAGE} ${manifest.version} needs Node ${manifest.engines?.node}; this is ${process.versions.node}.`,
      fix: "Install a newer Node (https://nodejs.org), then run this again.",
    });
  return manifest.version;
}

const foreign = (spec: string, name: string | undefined) =>
  new OpenClawError("UPDATE_REFUSED", {
    message:
      name === undefined || name === PACKAGE
        ? `${spec} is no built package of ${PACKAGE}.`
        : `${spec} is the package ${name}, not ${PACKAGE}.`,
    fix: "Name a version, a tag, or a .tgz that `npm pack` has made of this gateway.",
  });

import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { processStart } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { reasonOf } from "./failures.ts";

/** A signal-cli that a gateway of this account started. */
export interface FoundProcess {
  readonly pid: number;
  /** Start of the process, from `processStart`. */
  readonly start: string;
  /** The host and port where the process listens. */
  readonly address: string;
}

const KEY = "daemon";
/** The key of versions that noted only the process id. */
const OLD_KEY = "daemonPid";
const POLL_MS = 50;
/** While a script is replaced by Java, the system knows no command of the process for a moment. */
const LOOKS = 5;

/**
 * Shape of the note. Without `pid`, the gateway was killed between the note and the start, or before it noted the
 * process.
 */
const noteShape = z.object({ arguments: z.string(), pid: z.number().optional(), start: z.string().optional() });

/** The account's signal-cli as the notes of the host have it, so that the next gateway finds it. */
export class NotedProcess {
  readonly #notes: ChannelHost["notes"];
  readonly #log: ChannelHost["log"];

  constructor({ notes, log }: Pick<ChannelHost, "notes" | "log">) {
    this.#notes = notes;
    this.#log = log;
  }

  /** Called with the arguments before the start, and again with the process. */
  async note(started: readonly string[], pid?: number): Promise<void> {
    const start = pid === undefined ? undefined : await processStart(pid);
    const process = start === undefined ? {} : { pid, start };
    await this.#notes.set(KEY, JSON.stringify({ arguments: started.join(" "), ...process }));
  }

  async forget(): Promise<void> {
    await this.#notes.set(KEY, "");
    await this.#notes.set(OLD_KEY, "");
  }

  /**
   * The noted process if it is running. A process counts only with the noted arguments, which name the account and the port, and with the
   * noted start time where that is known: its id may belong to another program by now.
   */
  async find(account: string): Promise<FoundProcess | undefined> {
    const text = await this.#notes.get(KEY);
    const noted = noteShape.safeParse(parse(text)).data;
    if (text && !noted) this.#log.warn("the note of an earlier signal-cli cannot be read: it may still be running");
    const oldPid = Number(await this.#notes.get(OLD_KEY));
    try {
      if (noted) return await found(await runningWith(` ${noted.arguments}`, noted.pid), noted.start);
      return oldPid > 1 ? await found(await runningWith(` -a ${account} daemon --http `, oldPid)) : undefined;
    } catch (error) {
      const fix = "If signal-cli reports that the account is in use, end the signal-cli that is running.";
      this.#log.warn("a signal-cli of an earlier gateway cannot be looked for", { error: reasonOf(error), fix });
      return undefined;
    }
  }
}

export const isRunning = async ({ pid, start }: FoundProcess): Promise<boolean> => (await processStart(pid)) === start;

/** Asks a process and its group to end, and kills them after `graceMs`. Resolves when the process has ended. */
export async function endProcess(found: FoundProcess, graceMs: number): Promise<void> {
  if (!(await isRunning(found))) return;
  signalGroup(found.pid, "SIGTERM");
  for (let waited = 0; waited < graceMs; waited += POLL_MS) {
    await sleep(POLL_MS);
    if (!(await isRunning(found))) return;
  }
  signalGroup(found.pid, "SIGKILL");
  while (await isRunning(found)) await sleep(POLL_MS);
}

/** Sends the signal to the process and its children: signal-cli may be a script that starts Java. Does nothing when it has ended. */
export function signalGroup(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  // A process that does not lead a group was started by an older version.
  for (const target of [-pid, pid]) if (signalled(target, name)) return;
}

function signalled(target: number, name: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return process.kill(target, name);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}

type Running = readonly [pid: number, command: string];

async function found(running: Running | undefined, noted?: string): Promise<FoundProcess | undefined> {
  if (!running) return undefined;
  const [pid, command] = running;
  const [, address] = / --http (\S+)/.exec(command) ?? [];
  const start = await processStart(pid);
  if (address === undefined || start === undefined || start !== (noted ?? start)) return undefined;
  return { pid, start, address };
}

/** The process with these words in its command; the process with the id, if the id is known. */
async function runningWith(words: string, pid: number | undefined): Promise<Running | undefined> {
  for (let looks = 1; ; looks += 1) {
    const running = await lookFor(words, pid);
    if (running || looks === LOOKS || (pid !== undefined && (await processStart(pid)) === undefined)) return running;
    await sleep(POLL_MS);
  }
}

async function lookFor(words: string, pid: number | undefined): Promise<Running | undefined> {
  const all = (await fromProc(pid)) ?? (await fromPs());
  return all.find(
    ([one, command]) => (pid === undefined || one === pid) && `${command} `.includes(`${words.trimEnd()} `),
  );
}

/** Undefined where the system has no procfs. */
async function fromProc(pid: number | undefined): Promise<readonly Running[] | undefined> {
  try {
    const names = pid === undefined ? await readdir("/proc") : [String(pid)];
    await readFile("/proc/self/cmdline");
    const pids = names.filter((name) => /^\d+$/.test(name));
    return await Promise.all(pids.map(async (name) => [Number(name), await commandOf(name)] as const));
  } catch {
    return undefined;
  }
}

/** Empty when the process has ended. */
async function commandOf(pid: string): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0").join(" ").trimEnd();
  } catch {
    return "";
  }
}

/** Rejects when there is no such program. */
async function fromPs(): Promise<readonly Running[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "pid=,args="]);
  return stdout.split("\n").map((line) => {
    const [, pid = "", command = ""] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return [Number(pid), command] as const;
  });
}

function parse(text: string | undefined): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

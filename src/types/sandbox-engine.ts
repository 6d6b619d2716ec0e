import type { Launch, PreparedLaunch } from "./run/backend.ts";
import type { ContainerBackend, SandboxSettings } from "./sandbox.ts";

/** Reason why a backend does not work here, with the remedy. */
export interface Unusable {
  readonly ok: false;
  /** End of the sentence "The sandbox does not work on this machine:". */
  readonly why: string;
  /** Remedy for the operator, in one sentence. */
  readonly fix: string;
}

/** A path of the machine in a sandbox. */
export interface Mount {
  /** Absolute path without symbolic links. */
  readonly path: string;
  /** Path of the shown content; the same path when unset. */
  readonly from?: string;
  /** `empty` and `blank` hide a directory or a file; `frame` hides a directory except for mounts inside. */
  readonly as: "ro" | "rw" | "empty" | "blank" | "frame";
}

/** Files of the machine for a sandboxed command, besides the system's own. */
export interface View {
  /** Each directory comes before its content. */
  readonly mounts: readonly Mount[];
  /** Paths in the settings that are links, with their targets. */
  readonly links: readonly { readonly at: string; readonly to: string }[];
}

/** A program that runs commands in containers. The sandbox decides which commands, and what they see. */
export interface SandboxEngineContribution {
  /** The engine's name in `agents.defaults.sandbox.backend`. */
  readonly backend: ContainerBackend;
  /** Loads the engine's code for one gateway. Starts nothing. */
  open(place: EnginePlace): Promise<SandboxEngine>;
}

/** The parts of the gateway that an engine may use. */
export interface EnginePlace {
  /** A directory of the gateway's own. */
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The absolute path of a program on `PATH`; undefined when there is none. */
  findProgram(name: string): Promise<string | undefined>;
  /** Runs a program to its end, or for ten seconds. `text`: its output, at most 2,000 characters when `mostChars` is unset. Never rejects. */
  runBriefly(launch: Launch, mostChars?: number): Promise<{ readonly code: number; readonly text: string }>;
  /** The ids of a process and of those below it, `most` at most. */
  treeOf(pid: number, most: number): Promise<readonly number[]>;
}

export interface SandboxEngine {
  /** Tries the engine: starts a container in the way of a command. */
  try(wanted: EngineTrial): Promise<{ readonly ok: true; readonly facts: EngineFacts } | Unusable>;
  /** The start of one command in a container of its own, which is removed when `ended` has resolved. */
  prepare(command: ContainedCommand, facts: EngineFacts): PreparedLaunch;
  /** Removes containers that an earlier process of this gateway left. Resolves with their names. Never rejects. */
  removeLeft(facts: EngineFacts): Promise<readonly string[]>;
}

export type EngineSettings = Pick<SandboxSettings, "docker" | "bwrap">;

export interface EngineTrial {
  readonly settings: EngineSettings;
  /** File with the filter of system calls, which takes the place of the engine's own. */
  readonly profile: string;
}

/** Facts about an engine, found by its trial. */
export interface EngineFacts {
  readonly backend: ContainerBackend;
  /** Absolute path of the client. */
  readonly program: string;
  /** User in the container when the settings name none, so that the gateway owns the files: `uid:gid`. */
  readonly user: string;
  /** True for podman without root, which gives its user another number inside unless an option keeps it. */
  readonly keepsId: boolean;
  /** True when the engine holds a container to its limits: an engine without root cannot everywhere. */
  readonly holdsLimits: boolean;
  /** File with the filter of system calls. */
  readonly profile: string;
}

/** A command that is to start in a container. */
export interface ContainedCommand {
  readonly launch: Launch;
  /** All files of the machine in the container, except for the binds of the settings. */
  readonly view: View;
  readonly settings: EngineSettings;
  readonly owner: { readonly agentId: string; readonly sessionKey: string };
  /** Tells the operator. */
  warn(message: string, facts: Readonly<Record<string, unknown>>): void;
  /** Notes that the engine failed: the next command tries it anew. */
  doubt(): void;
}

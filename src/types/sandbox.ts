/** The sandbox of one agent's commands and file tools, resolved out of `agents.defaults.sandbox` and the agent's own block. */
export interface SandboxSettings {
  /**
   * Sessions that the sandbox is for. `auto`: the commands of guests and in groups, where this machine has a usable
   * sandbox. `non-main`: everything but the operator's own session. `all`: every session.
   */
  readonly mode: "auto" | "off" | "non-main" | "all";
  /** Who shares one folder. */
  readonly scope: "session" | "agent" | "shared";
  /** Visible part of the agent's workspace: nothing, all of it for reading, or all of it. */
  readonly workspaceAccess: "none" | "ro" | "rw";
  /**
   * The sessions that tools of a sandboxed session see: itself and the sessions that it asked for, or those of
   * `tools.sessions.visibility`.
   */
  readonly sessionToolsVisibility: "spawned" | "all";
  /** Directory of the sandboxes' own folders; absolute. */
  readonly workspaceRoot: string;
  readonly backend: SandboxBackend | "auto";
  readonly bwrap: BwrapSettings;
  readonly docker: ContainerSettings;
  /** When an own folder is removed: hours since its last use, days since it was made. 0 means never. */
  readonly prune: { readonly idleHours: number; readonly maxAgeDays: number };
}

/** The program that makes the sandbox. */
export type SandboxBackend = "bwrap" | ContainerBackend | "sandbox-exec";

/** Programs that run each command in a container. Extensions add their code. */
export type ContainerBackend = "docker" | "podman";

export const isContainer = (backend: SandboxBackend): backend is ContainerBackend =>
  backend === "docker" || backend === "podman";

/** Settings of `bwrap`. */
export interface BwrapSettings {
  /** `host` shares the machine's network, its loopback addresses included. */
  readonly network: "none" | "host";
  /** Further directories or files that are visible: `path`, or `path:rw`. */
  readonly binds: readonly string[];
  /** Most processes at once. */
  readonly processes: number;
  /** MiB of memory that one process may allocate. */
  readonly memoryMb: number;
  /** MiB of memory that all processes of a command may have together. */
  readonly totalMemoryMb: number;
  /** MiB that a command may write in all, beside its temporary directories. */
  readonly totalWriteMb: number;
  /** Seconds of processor time of one process. */
  readonly cpuSeconds: number;
  /** MiB of one file. */
  readonly fileSizeMb: number;
  /** MiB of each temporary directory, which is in memory. */
  readonly tmpMb: number;
}

/** Settings of `docker` and `podman`, in the field's names. */
export interface ContainerSettings {
  readonly image: string;
  readonly containerPrefix: string;
  readonly network: string;
  /** `uid:gid` in the container. */
  readonly user?: string | undefined;
  readonly readOnlyRoot: boolean;
  readonly tmpfs: readonly string[];
  readonly capDrop: readonly string[];
  readonly pidsLimit: number;
  readonly memory: string;
  readonly cpus?: number | undefined;
  /** `source:target`, or `source:target:ro`. */
  readonly binds: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

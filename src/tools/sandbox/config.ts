import { z } from "zod";
import { about } from "../../utils/config.ts";

const paths = z.array(z.string().min(1));

const bwrap = z.strictObject({
  network: z
    .enum(["none", "host"])
    .optional()
    .meta(
      about(
        "Network",
        "`host` lets commands use the machine's network, with every service on it; such commands need an approval. `none` when unset.",
      ),
    ),
  binds: paths
    .optional()
    .meta(
      about(
        "Binds",
        "More files and directories that commands may read: absolute paths. `path:rw` may be written; commands then need an approval.",
      ),
    ),
  processes: z.int().min(8).optional().meta(about("Processes", "Most processes at once; 512 when unset.")),
  memoryMb: z.int().min(64).optional().meta(about("Memory", "Most MiB of memory of one process; 4096 when unset.")),
  totalMemoryMb: z
    .int()
    .min(64)
    .optional()
    .meta(
      about(
        "Memory in all",
        "Most MiB of memory of all processes of a command together; 4096 when unset. Whoever takes more is ended.",
      ),
    ),
  totalWriteMb: z
    .int()
    .min(1)
    .optional()
    .meta(
      about(
        "Written in all",
        "Most MiB that one command may write to the disk, with containers too; 4096 when unset. Whoever writes more is ended.",
      ),
    ),
  cpuSeconds: z
    .int()
    .min(1)
    .optional()
    .meta(
      about("Processor time", "Most seconds of processor time of one process, in containers too; 3600 when unset."),
    ),
  fileSizeMb: z
    .int()
    .min(1)
    .optional()
    .meta(about("File size", "Most MiB of one file, in containers too; 1024 when unset.")),
  tmpMb: z
    .int()
    .min(1)
    .optional()
    .meta(
      about(
        "Temporary files",
        "Most MiB in `/tmp`, and in the home directory, in containers too; both are in memory. 512 when unset.",
      ),
    ),
});

const docker = z.strictObject({
  image: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Image",
        "It has to be there, with `/bin/sh`; none is downloaded. `openclaw-sandbox:bookworm-slim` when unset.",
      ),
    ),
  containerPrefix: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/)
    .optional()
    .meta(about("Prefix", "Beginning of the containers' names; `openclaw-sbx-` when unset.")),
  network: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Network",
        "Network of the containers; `none` when unset. With another one, commands need an approval. `host`, `container:…`, `ns:…` and what leads to the services of the machine are refused.",
      ),
    ),
  user: z
    .string()
    .optional()
    .meta(about("User", "`uid:gid` in the container; the gateway's own when unset, so that both can write the files.")),
  readOnlyRoot: z.boolean().optional().meta(about("Read-only root", "Makes the image read-only. True when unset.")),
  tmpfs: paths
    .optional()
    .meta(
      about(
        "Temporary file systems",
        "Paths, or paths with options as the engine reads them; `/tmp`, `/var/tmp` and `/run` when unset.",
      ),
    ),
  capDrop: z.array(z.string().min(1)).optional().meta(about("Capabilities", "Capabilities to drop; `ALL` when unset.")),
  pidsLimit: z.int().min(8).optional().meta(about("Processes", "Most processes; 512 when unset.")),
  memory: z.string().min(1).optional().meta(about("Memory", "Most memory, as the engine reads it; `2g` when unset.")),
  cpus: z.number().gt(0).optional().meta(about("Processors", "Share of the processors; no limit when unset.")),
  binds: paths
    .optional()
    .meta(
      about(
        "Binds",
        "More mounts: `source:target`, with `:ro` for reading only. Without it, commands need an approval.",
      ),
    ),
  env: z.record(z.string(), z.string()).optional().meta(about("Environment", "Environment variables of commands.")),
});

/** `agents.defaults.sandbox` and `agents.list[].sandbox`; an agent's keys override the defaults key by key. */
export const sandboxConfig = z.strictObject({
  mode: z
    .enum(["off", "auto", "non-main", "all"])
    .optional()
    .meta(
      about(
        "Mode",
        "Which sessions have their commands and file tools in a sandbox: none (`off`), all but the operator's own (`non-main`), or `all`. " +
          "`auto`: only the commands of guests and in groups, on machines where bubblewrap works; elsewhere they run on the machine, with approvals. `auto` when unset.",
      ),
    ),
  scope: z
    .enum(["session", "agent", "shared"])
    .optional()
    .meta(
      about(
        "Scope",
        "Who shares a folder of the sandbox: one session, one agent's sessions, or all. When unset, `session` while `mode` is `auto`, and else `agent`.",
      ),
    ),
  workspaceAccess: z
    .enum(["none", "ro", "rw"])
    .optional()
    .meta(
      about(
        "Workspace access",
        "What is visible of the agent's workspace: nothing (tools work in a folder of the sandbox), all for reading, or all. A guest's turn never writes it. When unset, `ro` while `mode` is `auto`, and else `none`.",
      ),
    ),
  workspaceRoot: z
    .string()
    .min(1)
    .optional()
    .meta(about("Folders", "Directory of the sandboxes' own folders; `sandboxes` in the state directory when unset.")),
  sessionToolsVisibility: z
    .enum(["spawned", "all"])
    .optional()
    .meta(
      about(
        "Sessions",
        "Which sessions the tools of a sandboxed session see: itself and those that it asked for (`spawned`), or what `tools.sessions.visibility` says (`all`). `spawned` when unset.",
      ),
    ),
  backend: z
    .enum(["auto", "bwrap", "docker", "podman", "sandbox-exec", "ssh", "openshell"])
    .optional()
    .meta(
      about(
        "Backend",
        "`auto` is bubblewrap on Linux, and `sandbox-exec` on macOS. `docker` and `podman` are used only when set. `ssh` and `openshell` are known from OpenClaw and stop the agent. `auto` when unset.",
      ),
    ),
  bwrap: bwrap.optional().meta(about("Bubblewrap", "Settings of `bwrap`, and of `sandbox-exec`.")),
  docker: docker.optional().meta(about("Containers", "Settings of `docker` and `podman`.")),
  prune: z
    .strictObject({
      idleHours: z
        .int()
        .min(0)
        .optional()
        .meta(
          about("Unused", "Hours since its last use after which a folder is removed; 0 means never. 24 when unset."),
        ),
      maxAgeDays: z
        .int()
        .min(0)
        .optional()
        .meta(about("Age", "Days after which a folder is removed even if it is used; 0 means never. 7 when unset.")),
    })
    .optional()
    .meta(about("Cleanup", "When the sandboxes' own folders are removed.")),
});

export type SandboxConfig = z.output<typeof sandboxConfig>;

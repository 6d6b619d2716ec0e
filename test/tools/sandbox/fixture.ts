import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import type { GuestRules } from "../../../src/tools/host/access.ts";
import { sandboxBackends } from "../../../src/tools/sandbox/backends.ts";
import { SandboxMachine } from "../../../src/tools/sandbox/machine.ts";
import { sandboxSettings } from "../../../src/tools/sandbox/settings.ts";
import type { Backends, CommandEnd } from "../../../src/types/run/backend.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import { agentSettings } from "../../kit/tools.ts";
import { bwrap } from "./real-backend.ts";

/** The reason why tests with bubblewrap are left out; undefined where it works. */
export const whyNoBwrap = bwrap.why;

/** A home directory with secrets, the gateway's state and an agent's workspace in it. */
export interface Ground {
  readonly home: string;
  readonly state: string;
  readonly workspace: string;
  readonly machine: SandboxMachine;
  /** The backends of a run. */
  backends(config?: SandboxConfig, more?: { rights?: "owner" | GuestRules; session?: string }): Backends;
  /** Runs a command in a workspace that may be written. */
  run(command: string, config?: SandboxConfig, more?: RunOptions): Promise<CommandEnd>;
  /** The same; what it printed. */
  says(command: string, config?: SandboxConfig): Promise<string>;
  close(): void;
}

type SandboxMachinePlace = ConstructorParameters<typeof SandboxMachine>[0];

interface RunOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export const SECRET = "secret-of-the-machine";

export function openGround(
  env: NodeJS.ProcessEnv = bwrap.env,
  base: SandboxConfig = {},
  contributions: SandboxMachinePlace["contributions"] = bundledContributions(),
): Ground {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "sandbox-home-")));
  const state = join(home, ".openclaw");
  const workspace = join(state, "workspace");
  for (const dir of [".ssh", ".openclaw/credentials", ".openclaw/state", ".openclaw/workspace", "outside"])
    mkdirSync(join(home, dir), { recursive: true });
  for (const file of [
    ".ssh/id_rsa",
    ".openclaw/openclaw.json",
    ".openclaw/credentials/gateway-token",
    "outside/note.txt",
  ])
    writeFileSync(join(home, file), SECRET);
  const machine = new SandboxMachine({ env, dir: join(state, "state"), contributions });
  const hidden = ["openclaw.json", "credentials", "state"].map((name) => join(state, name));
  const ground: Ground = {
    home,
    state,
    workspace,
    machine,
    backends: (config = {}, { rights = "owner", session = "s1" } = {}) =>
      sandboxBackends({
        host: { settings: agentSettings(workspace), rights, deniedPaths: hidden, sessionKey: sessionKey(session) },
        confined: { commands: true, files: true },
        place: {
          settings: sandboxSettings(
            { mode: "all", workspaceAccess: "rw", ...base, ...config, docker: { ...base.docker, ...config.docker } },
            {},
            { home, stateDir: state },
          ),
          machine,
          owner: { agentId: "main", sessionKey: session },
          home,
        },
      }),
    async run(command, config, { timeoutMs = 20_000, signal = new AbortController().signal } = {}) {
      const { exec } = ground.backends(config);
      const cwd = await exec.directory(".", workspace);
      const running = await exec.start({ command, cwd, timeoutMs, input: "none" });
      signal.addEventListener("abort", () => running.end("abort"));
      return running.ended;
    },
    async says(command, config) {
      const { output } = await ground.run(command, config);
      return output.text.trim();
    },
    close: () => rmSync(home, { recursive: true, force: true }),
  };
  return ground;
}

/** Whether a program is on this machine. */
export function has(program: string): boolean {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    // It is not installed.
    return false;
  }
}

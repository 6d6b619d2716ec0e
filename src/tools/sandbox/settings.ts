import { isAbsolute, join } from "node:path";
import type { SandboxSettings } from "../../types/sandbox.ts";
import type { SandboxConfig } from "./config.ts";

type Places = { readonly home: string; readonly stateDir: string };

const BWRAP: SandboxSettings["bwrap"] = {
  network: "none",
  binds: [],
  processes: 512,
  memoryMb: 4096,
  totalMemoryMb: 4096,
  totalWriteMb: 4096,
  cpuSeconds: 3600,
  fileSizeMb: 1024,
  tmpMb: 512,
};

const DOCKER: SandboxSettings["docker"] = {
  image: "openclaw-sandbox:bookworm-slim",
  containerPrefix: "openclaw-sbx-",
  network: "none",
  readOnlyRoot: true,
  tmpfs: ["/tmp", "/var/tmp", "/run"],
  capDrop: ["ALL"],
  pidsLimit: 512,
  memory: "2g",
  binds: [],
  env: {},
};

/**
 * The settings of one agent. Its own keys override the defaults; with `scope: shared` only the defaults' containers
 * count.
 */
export function sandboxSettings(all: SandboxConfig = {}, own: SandboxConfig = {}, places: Places): SandboxSettings {
  const { mode: named, workspaceRoot, ...chosen }: SandboxConfig = { ...given(all), ...given(own) };
  const mode = named ?? "auto";
  const scope = chosen.scope ?? (mode === "auto" ? "session" : "agent");
  return {
    mode,
    scope,
    workspaceAccess: chosen.workspaceAccess ?? (mode === "auto" ? "ro" : "none"),
    sessionToolsVisibility: chosen.sessionToolsVisibility ?? "spawned",
    workspaceRoot: absolute(workspaceRoot ?? "sandboxes", places),
    // An agent with a backend of another machine is stopped.
    backend: chosen.backend === "ssh" || chosen.backend === "openshell" ? "auto" : (chosen.backend ?? "auto"),
    bwrap: { ...BWRAP, ...given(all.bwrap), ...given(own.bwrap) },
    docker: { ...DOCKER, ...given(all.docker), ...(scope !== "shared" && given(own.docker)) },
    prune: { idleHours: 24, maxAgeDays: 7, ...given(all.prune), ...given(own.prune) },
  };
}

/** The value without keys whose value is undefined, which would hide a default. */
const given = (value: object = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));

function absolute(path: string, { home, stateDir }: Places): string {
  const full = path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
  return isAbsolute(full) ? full : join(stateDir, full);
}

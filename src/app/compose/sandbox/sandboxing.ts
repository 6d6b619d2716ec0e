import { homedir } from "node:os";
import { join } from "node:path";
import { hostBackends, hostExec, type HostOptions } from "../../../tools/host/host.ts";
import { sandboxBackends } from "../../../tools/sandbox/backends.ts";
import { pruneFolders } from "../../../tools/sandbox/folders.ts";
import { workspaceInside } from "../../../tools/sandbox/launcher.ts";
import { SandboxMachine } from "../../../tools/sandbox/machine.ts";
import type { Warn } from "../../../tools/sandbox/watch.ts";
import { isMainKey, parseKey } from "../../../sessions/keys.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { Backends } from "../../../types/run/backend.ts";
import { hasOwnerRights, type Acting } from "../../../types/run/principal.ts";
import type { SandboxNote, ToolScene, ToolSet } from "../../../types/run/tool.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import type { SandboxSettings } from "../../../types/sandbox.ts";
import type { Unusable } from "../../../types/sandbox-engine.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { background } from "../../../utils/background.ts";
import { loadOnce } from "../../../utils/share-calls.ts";
import { within } from "../../../utils/within.ts";
import type { Live } from "../../live.ts";

/** The tools of a run that are in a sandbox. */
export interface Confined {
  readonly commands: boolean;
  readonly files: boolean;
}

export type Machine = Pick<SandboxMachine, "known">;

/**
 * Decides which tools of a run are in a sandbox: by the agent's settings, the session and the person, never by an
 * answer of the model.
 */
export function confinedIn(agent: Pick<AgentSettings, "sandbox" | "exec">, acting: Acting, machine: Machine): Confined {
  const files = isSandboxed(agent, acting.sessionKey);
  switch (agent.exec.host ?? "auto") {
    case "sandbox":
      return { commands: true, files };
    case "gateway":
      return { commands: false, files };
    case "auto":
      return { commands: files || isConfinedWherePossible(agent, acting, machine), files };
  }
}

/** The reason why commands of a run are not in a sandbox, as a sentence; undefined when they are. */
export function whyOutside(
  agent: Pick<AgentSettings, "sandbox" | "exec">,
  acting: Acting,
  machine: Machine,
): string | undefined {
  const { sandbox, exec } = agent;
  if (confinedIn(agent, acting, machine).commands) return undefined;
  if (exec.host === "gateway") return "Commands run on the machine (tools.exec.host).";
  if (!sandbox || sandbox.mode === "off") return "No session is confined (sandbox.mode is off).";
  if (sandbox.mode === "non-main") return "This is the main session, which the mode non-main leaves out.";
  const probe = machine.known(sandbox);
  if (probe?.ok === false) return `No sandbox works on this machine: ${probe.why}`;
  if (!probe) return "The sandbox has not been tried yet.";
  return "The mode auto confines only turns of guests and in groups.";
}

/** Whether a `mode` that the config sets puts the session into a sandbox. */
function isSandboxed({ sandbox }: Pick<AgentSettings, "sandbox">, key: SessionKey): boolean {
  return sandbox?.mode === "all" || (sandbox?.mode === "non-main" && !isMainKey(key));
}

/** Whether the mode `auto` confines the turn: guests and groups, if the machine can. */
function isConfinedWherePossible(
  { sandbox }: Pick<AgentSettings, "sandbox">,
  acting: Acting,
  machine: Machine,
): boolean {
  if (sandbox?.mode !== "auto" || machine.known(sandbox)?.ok !== true) return false;
  return !hasOwnerRights(acting.principal) || isOfGroup(acting.root ?? acting.sessionKey);
}

/** Whether a session is a group's, or that of a subagent that works for one. */
function isOfGroup(key: SessionKey): boolean {
  const parsed = parseKey(key);
  return parsed.kind === "subagent" ? isOfGroup(parsed.parent) : parsed.kind === "group";
}

/** The backends of a run. */
export function backendsOf(
  agent: AgentSettings,
  acting: Acting,
  { host, machine, warn }: { readonly host: HostOptions; readonly machine: SandboxMachine; readonly warn: Warn },
): Backends & Pick<ToolScene, "isSandboxed" | "elevation" | "sandboxed"> & Pick<ToolSet, "sandbox"> {
  if (!agent.sandbox) return hostBackends(host);
  // A config that was changed since the start may name a backend that has not been tried.
  if (agent.sandbox.mode === "auto") background("trial of the sandbox", machine.probe(agent.sandbox));
  const confined = confinedIn(agent, acting, machine);
  const place = {
    settings: agent.sandbox,
    machine,
    owner: { agentId: agent.id, sessionKey: acting.sessionKey },
    home: process.env["HOME"] ?? homedir(),
    warn,
  };
  const inside = withSkills(host, agent.sandbox);
  const backends = sandboxBackends({ host: inside, confined, place });
  const canBeIn = !confined.commands && agent.exec.host !== "gateway" && machine.known(agent.sandbox)?.ok === true;
  const { elevated: level } = acting;
  // Where the config, or the conversation, wants every command in a sandbox, none leaves it.
  const isOpen = level !== undefined && agent.exec.host !== "sandbox";
  return {
    ...backends,
    isSandboxed: confined.files,
    ...(canBeIn && {
      sandboxed: () => sandboxBackends({ host: inside, confined: { ...confined, commands: true }, place }).exec,
    }),
    ...(isOpen && { elevation: { level, backend: hostExec(host), acting } }),
    ...((confined.commands || confined.files) && {
      sandbox: noteOf(confined, { ...place, workspace: agent.workspace }),
    }),
  };
}

/**
 * Adds the workspace's skills to the readable paths of a sandbox that has nothing else of the workspace: the prompt
 * offers them.
 */
const withSkills = (host: HostOptions, { workspaceAccess }: SandboxSettings): HostOptions =>
  workspaceAccess === "none"
    ? { ...host, readablePaths: [...(host.readablePaths ?? []), join(host.settings.workspace, "skills")] }
    : host;

/**
 * The prompt's note about the sandbox, the same for everybody who writes in a session, so that the provider's cache of
 * the prompt lasts.
 */
function noteOf({ commands, files }: Confined, place: Parameters<typeof workspaceInside>[0]): SandboxNote {
  const { workspaceAccess: access } = place.settings;
  const inside = [...(commands ? ["commands"] : []), ...(files ? ["file tools"] : [])].join(" and ");
  const text = [
    `${inside.charAt(0).toUpperCase()}${inside.slice(1)} work in a sandbox with the workspace access "${access}".`,
    files ? OF_FILES[access] : undefined,
    commands ? OF_COMMANDS : undefined,
  ];
  return {
    text: text.filter((part) => part !== undefined).join(" "),
    ...(files && { directory: workspaceInside(place) }),
  };
}

const OF_FILES: Readonly<Record<SandboxSettings["workspaceAccess"], string>> = {
  none:
    "Your directory is one of the sandbox's own: the agent's workspace, whose files you may be shown below, is not in it, but for its skills, " +
    "which you can read.",
  ro: "File tools read the workspace, and write nothing.",
  rw: "File tools read and write the workspace.",
};

const OF_COMMANDS =
  "The description of exec says what commands see there and " +
  "where they write. They need no approval in it. `elevated: true` runs a command on the machine, where whoever wrote may permit " +
  "that, and a person is asked: use it only for what the sandbox cannot do and the user wants.";

/** Most milliseconds for which the first run waits for sandboxes: a container engine may answer late, or never. */
const START_MS = 2000;

/** The sandboxes of this machine. */
export interface OpenSandboxes {
  readonly machine: SandboxMachine;
  /** Tries the sandboxes, if that has not begun, and waits for the result, but two seconds at most. Never rejects. */
  tried(): Promise<unknown>;
  /** Begins to try the sandboxes. */
  begin(): void;
}

export function openSandboxes(live: SandboxedLive, ports: StartPorts): OpenSandboxes {
  const { agents, paths, contributions } = live;
  const { clock, log } = ports;
  const machine = new SandboxMachine({ env: process.env, dir: paths.stateSub, contributions });
  const tried = loadOnce(() => {
    const all = probeSandboxes(agents, machine);
    background("removal of copies of workspaces", machine.copies.clear());
    background(
      "removal of containers",
      all.then(() => removeContainers(agents, machine, log)),
    );
    return within(all, START_MS, clock);
  });
  return { machine, tried, begin: () => background("trial of the sandboxes", tried()) };
}

type SandboxedLive = Pick<Live, "agents" | "paths" | "contributions">;

interface StartPorts {
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
}

/** Removes the containers that a killed gateway left. Never rejects. */
async function removeContainers(
  agents: readonly AgentSettings[],
  machine: SandboxMachine,
  log: Pick<Log, "warn">,
): Promise<void> {
  for (const sandbox of wantedOf(agents)) {
    const containers = await machine.removeLeft(sandbox);
    if (containers.length > 0) log.warn("containers of an earlier process removed", { containers });
  }
}

/** Tries the sandboxes that the agents' settings name, at the same time. Never rejects. */
export async function probeSandboxes(agents: readonly AgentSettings[], machine: SandboxMachine): Promise<void> {
  await Promise.all(wantedOf(agents).map((sandbox) => machine.probe(sandbox)));
}

/** The settings of sandboxes that commands may be in. */
const wantedOf = (agents: readonly AgentSettings[]): readonly SandboxSettings[] =>
  agents.flatMap(({ sandbox, exec }) =>
    sandbox && (sandbox.mode !== "off" || exec.host === "sandbox") ? [sandbox] : [],
  );

/** An agent whose sandbox does not work on this machine. */
export interface Unsandboxed {
  readonly agent: string;
  /**
   * True when the config demands a sandbox, so the agent's tools refuse; otherwise commands run on the machine, with
   * approvals.
   */
  readonly isDemanded: boolean;
  readonly probe: Unusable;
}

/** Agents without the sandbox that their settings name, as far as was tried. */
export function unsandboxed(agents: readonly AgentSettings[], machine: Machine): readonly Unsandboxed[] {
  return agents.flatMap(({ id, sandbox, exec }) => {
    if (!sandbox || (sandbox.mode === "off" && exec.host !== "sandbox")) return [];
    const probe = machine.known(sandbox);
    if (probe?.ok !== false) return [];
    return [{ agent: id, isDemanded: sandbox.mode !== "auto" || exec.host === "sandbox", probe }];
  });
}

/** The sandbox of each agent for `status`; `works` is unset where it was not tried. */
export const sandboxStates = (agents: readonly AgentSettings[], machine: Machine) =>
  agents.flatMap(({ id, sandbox }) => {
    if (!sandbox) return [];
    const works = machine.known(sandbox)?.ok;
    return [{ agent: id, mode: sandbox.mode, ...(works !== undefined && { works }) }];
  });

/** Removes the sandboxes' folders that are unused or old, by the agents' settings; resolves with their number. */
export async function pruneSandboxes(agents: readonly AgentSettings[], now: number): Promise<number> {
  const ofRoot = new Map(agents.flatMap(({ sandbox }) => (sandbox ? [[sandbox.workspaceRoot, sandbox.prune]] : [])));
  let removed = 0;
  for (const [root, prune] of ofRoot) removed += await pruneFolders(root, prune, now);
  return removed;
}

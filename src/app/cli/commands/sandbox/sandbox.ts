import { homedir } from "node:os";
import { OPERATOR_KEY } from "../../../../sessions/keys.ts";
import { folderOf, listFolders, removeFolder, type SandboxFolder } from "../../../../tools/sandbox/folders.ts";
import { SandboxMachine, type BackendProbe } from "../../../../tools/sandbox/machine.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { sessionKey } from "../../../../types/ids.ts";
import { OPERATOR, type Principal } from "../../../../types/run/principal.ts";
import { isContainer, type SandboxSettings } from "../../../../types/sandbox.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { confinedIn, type Confined } from "../../../compose/sandbox/sandboxing.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { canAsk, confirmed } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { pairs, table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { commandAccess } from "../../../../tools/sandbox/launcher.ts";
import { canListChildren } from "../../../../tools/sandbox/totals/process-tree.ts";
import { stagesFor } from "../../../../tools/policy/stages.ts";

export interface ExplainFlags {
  readonly agent?: string;
  readonly session?: string;
  readonly json?: boolean;
}

/** Prints what the sandbox means for one session of one agent, on this machine. */
export async function sandboxExplain(io: Io, { agent: id, session, json }: ExplainFlags): Promise<number> {
  const state = await requireState(io);
  const { sandbox, ...agent } = agentOf(agentsOf(state), id);
  if (!sandbox) throw new Error(`the agent ${agent.id} has no settings of a sandbox`);
  const machine = new SandboxMachine({ env: io.env, dir: state.paths.stateSub, contributions: io.contributions });
  const probe = await machine.probe(sandbox);
  const key = sessionKey(session ?? OPERATOR_KEY);
  const confined = (principal: Principal) => confinedIn({ ...agent, sandbox }, { principal, sessionKey: key }, machine);
  const ofOwner = confined(OPERATOR);
  const ofGuest = confined({ kind: "sender", id: "guest" });
  const folder = folderOf(sandbox, { agentId: agent.id, sessionKey: key });
  const limits = await limitsOf({ sandbox, probe });
  const mounts = mountsOf({ sandbox, probe }, { workspace: agent.workspace, folder });
  const tools = toolListsOf(agent);
  if (json === true) {
    const what = { agent: agent.id, session: key, owner: ofOwner, guest: ofGuest, folder, sandbox, probe };
    writeJson(io, { ...what, limits, mounts, tools });
    return 0;
  }
  io.out(
    pairs(io, [
      ["Agent", agent.id],
      ["Session", key],
      ["An owner's turn", confinedText(ofOwner)],
      ["A guest's turn", confinedText(ofGuest)],
      ["Mode", `${sandbox.mode} (agents.defaults.sandbox.mode)`],
      ["Commands", `${agent.exec.host ?? "auto"} (tools.exec.host)`],
      ["Backend", backendText(sandbox, probe)],
      ["Mend", probe.ok ? undefined : probe.fix],
      ["Workspace", `${agent.workspace}: ${sandbox.workspaceAccess} (workspaceAccess)`],
      ["Own folder", `${folder} (scope: ${sandbox.scope})`],
      ["Owners see", mounts.owner.join(", ")],
      ["Guests see", mounts.guest.join(", ")],
      ["One process", limits.each],
      ["A command", limits.all],
      ["Tools", ofOwner.files || ofGuest.files ? toolsText(tools) : "as without a sandbox; file tools are in none"],
      ["Network", networkOf(sandbox, probe)],
      ["Leave it", leaversOf(agent, state.config)],
    ]),
  );
  return 0;
}

const toolsText = ({ key, allow, deny }: ReturnType<typeof toolListsOf>): string =>
  `${allow.join(", ")}${deny.length > 0 ? `; never ${deny.join(", ")}` : ""} (${key})`;

function confinedText({ commands, files }: Confined): string {
  if (commands) return files ? "commands and file tools are in the sandbox" : "commands are in the sandbox";
  return files ? "file tools are in the sandbox; commands are not" : "nothing is in the sandbox";
}

function backendText({ backend }: SandboxSettings, probe: BackendProbe): string {
  if (!probe.ok) return `${backend}: does not work, for ${probe.why}`;
  return `${probe.facts.backend}${"version" in probe.facts ? ` ${probe.facts.version}` : ""}: works`;
}

/** Who may let commands run outside. */
function leaversOf({ id, exec }: Pick<AgentSettings, "id" | "exec">, { tools, agents }: State["config"]): string {
  const own = agents.list.find((entry) => entry.id === id)?.tools?.elevated;
  if (exec.host === "sandbox") return "nobody (tools.exec.host)";
  if (!tools.elevated.enabled || own?.enabled === false) return "nobody (tools.elevated.enabled)";
  return tools.elevated.allowFrom || own?.allowFrom
    ? "as tools.elevated.allowFrom says, and where it has no list, owners"
    : "owners (tools.elevated.allowFrom is not set)";
}

function networkOf({ bwrap, docker }: SandboxSettings, probe: BackendProbe): string {
  return probe.ok && isContainer(probe.facts.backend) ? docker.network : bwrap.network;
}

/** Lists the folders that sandboxes have of their own. */
export async function sandboxList(io: Io, { json }: { readonly json?: boolean }): Promise<number> {
  const folders = await foldersOf(await requireState(io));
  if (json === true) {
    writeJson(io, { folders });
    return 0;
  }
  io.out(folders.length === 0 ? "No sandbox has a folder.\n" : folderTable(io, folders));
  return 0;
}

function folderTable(io: Io, folders: readonly SandboxFolder[]): string {
  const rows = folders.map(({ scope, agent, session, usedAt, path }) => [
    scope,
    agent ?? "",
    session ?? "",
    `${showDuration(Date.now() - usedAt)} ago`,
    path,
  ]);
  return table(io, ["SCOPE", "AGENT", "SESSION", "USED", "FOLDER"], rows);
}

export interface RecreateFlags {
  readonly all?: boolean;
  readonly agent?: string;
  readonly session?: string;
  readonly force?: boolean;
}

/** Removes the folders of sandboxes, with all that is in them. Asks before, and throws `USAGE` where nobody can be asked. */
export async function sandboxRecreate(io: Io, flags: RecreateFlags): Promise<number> {
  const isMeant = chosenBy(flags);
  const folders = (await foldersOf(await requireState(io))).filter(isMeant);
  if (folders.length > 0 && flags.force !== true && !(await mayRemove(io, folders))) return 1;
  for (const folder of folders) await removeFolder(folder);
  io.out(`${folders.length === 1 ? "1 folder is" : `${folders.length} folders are`} removed.\n`);
  return 0;
}

function chosenBy({ all, agent, session }: RecreateFlags): (folder: SandboxFolder) => boolean {
  if (all !== true && agent === undefined && session === undefined) {
    throw new OpenClawError("USAGE", {
      message: "Nothing says which sandboxes are meant.",
      fix: "Add --all, --agent <id> or --session <key>.",
    });
  }
  return (folder) =>
    (agent === undefined || folder.agent === agent) && (session === undefined || folder.session === session);
}

async function mayRemove(io: Io, folders: readonly SandboxFolder[]): Promise<boolean> {
  if (!canAsk(io)) {
    throw new OpenClawError("USAGE", {
      message: `${folders.length} folders would be removed with their files, and nobody can be asked here.`,
      fix: "Add --yes.",
    });
  }
  io.err(folderTable(io, folders));
  return confirmed("Remove them with all their files?");
}

const agentsOf = ({ config, paths }: State): readonly AgentSettings[] =>
  resolveAgents(config, { home: process.env["HOME"] ?? homedir(), stateDir: paths.stateDir });

function agentOf(agents: readonly AgentSettings[], id: string | undefined): AgentSettings {
  const found = id === undefined ? agents[0] : agents.find((agent) => agent.id === id);
  if (found) return found;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no agent ${id}.`,
    fix: `The agents are: ${agents.map((agent) => agent.id).join(", ")}.`,
  });
}

async function foldersOf(state: State): Promise<readonly SandboxFolder[]> {
  const roots = agentsOf(state).flatMap(({ sandbox }) => (sandbox ? [sandbox.workspaceRoot] : []));
  return (await Promise.all([...new Set(roots)].map(listFolders))).flat();
}

interface Of {
  readonly sandbox: SandboxSettings;
  readonly probe: BackendProbe;
}

const isEngine = ({ probe }: Of): boolean => probe.ok && isContainer(probe.facts.backend);

/** The limits of a command, and the program that enforces each. */
async function limitsOf(of: Of): Promise<{ readonly each: string; readonly all: string }> {
  const { bwrap, docker } = of.sandbox;
  const written = `${bwrap.totalWriteMb} MiB written, by the gateway`;
  const engine = of.probe.ok && "holdsLimits" in of.probe.facts ? of.probe.facts : undefined;
  if (engine?.holdsLimits)
    return {
      each: `${bwrap.cpuSeconds} s of processor time and ${bwrap.fileSizeMb} MiB a file, by the kernel`,
      all: `${docker.pidsLimit} processes and ${docker.memory} of memory, by ${engine.backend}; ${written}`,
    };
  const memory = engine ? "" : `${bwrap.memoryMb} MiB of memory, `;
  const each = `${memory}${bwrap.cpuSeconds} s of processor time and ${bwrap.fileSizeMb} MiB a file, by the kernel`;
  if (!(await canListChildren())) return { each, all: `${written}; this system lets it count no processes` };
  return {
    each,
    all: `${bwrap.processes} processes, ${bwrap.totalMemoryMb} MiB of memory and ${written}, four times a second`,
  };
}

interface Places {
  readonly workspace: string;
  readonly folder: string;
}

/** The files of the machine that commands see, besides its programs. */
function mountsOf(of: Of, { workspace, folder }: Places) {
  const { sandbox } = of;
  const own = isEngine(of) ? sandbox.docker.binds : [];
  const binds = [
    ...sandbox.bwrap.binds.map((bind) =>
      bind.endsWith(":rw") ? `${bind.slice(0, -3)} (read, write)` : `${bind} (read)`,
    ),
    ...own.map((bind) => (bind.endsWith(":ro") ? `${bind.slice(0, -3)} (read)` : `${bind} (read, write)`)),
  ];
  const seenBy = (rights: "owner" | "guest"): readonly string[] => {
    const access = commandAccess(sandbox, rights);
    if (access === "rw") return [`${workspace} (read, write)`, ...binds];
    const shown = rights === "guest" ? "read; a copy without notes, repositories and archives" : "read";
    return [...(access === "ro" ? [`${workspace} (${shown})`] : []), `${folder} (read, write)`, ...binds];
  };
  return { owner: seenBy("owner"), guest: seenBy("guest") };
}

/** The tools of a session whose file tools are in the sandbox too, and the key of the lists. */
function toolListsOf({ tools }: Pick<AgentSettings, "tools">) {
  const stages = stagesFor(tools, { hasOwnerRights: true, senders: [], depth: 0, isSandboxed: true });
  const { key, allow = [], deny = [] } = stages.find(({ stage }) => stage === "sandbox") ?? { key: "" };
  return { key, allow, deny };
}

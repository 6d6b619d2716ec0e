import { isContainer } from "../../../../tools/sandbox/container/launch.ts";
import { commandAccess } from "../../../../tools/sandbox/launcher.ts";
import type { Probe } from "../../../../tools/sandbox/machine.ts";
import { canListChildren } from "../../../../tools/sandbox/totals/process-tree.ts";
import { stagesFor } from "../../../../tools/policy/stages.ts";
import type { SandboxSettings } from "../../../../types/sandbox.ts";
import type { AgentSettings } from "../../../../types/settings.ts";

interface Of {
  readonly sandbox: SandboxSettings;
  readonly probe: Probe;
}

const isEngine = ({ probe }: Of): boolean => probe.ok && isContainer(probe.facts.backend);

/** What limits a command, and who holds it to that. */
export async function limitsOf(of: Of): Promise<{ readonly each: string; readonly all: string }> {
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

/** What commands see of the machine's files, besides its programs. */
export function mountsOf(of: Of, { workspace, folder }: Places) {
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
export function toolListsOf({ tools }: Pick<AgentSettings, "tools">) {
  const stages = stagesFor(tools, { hasOwnerRights: true, senders: [], depth: 0, isSandboxed: true });
  const { key, allow = [], deny = [] } = stages.find(({ stage }) => stage === "sandbox") ?? { key: "" };
  return { key, allow, deny };
}

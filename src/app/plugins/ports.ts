import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AuxiliaryUsage } from "../../dispatch/maintenance/auxiliary-usage.ts";
import { complete } from "../../harness/complete.ts";
import type { PluginCaller, PluginPorts, PluginSessions } from "../../plugins/ports.ts";
import { buildKey } from "../../sessions/keys.ts";
import { keyNames } from "../../sessions/shown/wire-keys.ts";
import { openMediaStore } from "../../store/media.ts";
import type { LlmCompletion, LlmCompletionRequest } from "../../types/engine/context-engine.ts";
import { systemClock } from "../../types/clock.ts";
import { agentId } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Core } from "../compose/core.ts";
import type { Live } from "../live.ts";
import { allowedModels, requireSameAgent } from "../compose/allowed-models.ts";
import { channelPorts, noChannelPorts } from "./channel-ports.ts";
import { followingPorts } from "./event-ports.ts";
import { mediaPorts, noEventPorts } from "./local-ports.ts";
import { modelsOf } from "./models-of.ts";
import { sayByHook } from "./say-by-hook.ts";
import { settingsFor, shownForPlugin } from "./shown-for-plugin.ts";
import { noSubagentPorts, subagentPorts } from "./subagent-ports.ts";
import { fileOf, readRow, writeRow } from "../../sessions/rows/row.ts";
import type { SessionRow, Sessions } from "../../types/session.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { isMissing } from "../../utils/missing.ts";

/** Milliseconds of silence after which a model call of a plugin has stalled. */
const IDLE_MS = 120_000;

/** The parts of the core that plugins use. */
export type PluginCore = Pick<Core, "models" | "journal" | "media" | "ports" | "dispatch" | "sessions">;

interface Lent {
  readonly live: Live;
  readonly core: PluginCore;
  readonly log: Log;
  requestHeartbeat(reason: string): void;
}

/** Ports of the gateway for its plugins. */
export function pluginPorts({ live, core, log, requestHeartbeat }: Lent): PluginPorts {
  const costs = new AuxiliaryUsage(core.ports);
  return {
    ...readingPorts(live, log),
    sessions: sessionFiles(live, core.ports.storage.sessions),
    complete: (request, caller) => completeAs(request, caller, { live, core, costs }),
    events: {
      ...followingPorts(core, log),
      enqueueSystemEvent: (text, sessionKey) => core.journal.events.add(sessionKey, text),
      requestHeartbeat,
      say: sayByHook(live, core),
    },
    media: mediaPorts(core.media),
    channels: channelPorts(core),
    subagents: subagentPorts(live, core),
  };
}

/** Ports of a command of the command line for the plugin that it belongs to: nothing that needs the running gateway. */
export function commandPorts(live: Live, log: Log): PluginPorts {
  const needsGateway = async (): Promise<never> => {
    throw new Error("only the running gateway can do this");
  };
  return {
    ...readingPorts(live, log),
    complete: needsGateway,
    events: noEventPorts,
    media: mediaPorts(openMediaStore(live.paths.media)),
    channels: noChannelPorts,
    subagents: noSubagentPorts,
  };
}

type ReadingPorts = Omit<PluginPorts, "complete" | "events" | "media" | "channels" | "subagents">;

const readingPorts = (live: Live, log: Log): ReadingPorts => ({
  keys: keyNames(() => live.defaultAgent.id),
  stateDir: live.paths.stateDir,
  workspace: () => live.defaultAgent.workspace,
  shownConfig: (plugin) => shownForPlugin(live.coming.config, plugin),
  pluginsConfig: () => live.coming.config.plugins,
  settingsOf: (plugin) => settingsFor(live.coming.config, plugin),
  sessions: sessionFiles(live),
  clock: systemClock,
  log,
});

async function completeAs(
  request: LlmCompletionRequest,
  caller: PluginCaller,
  { live, core, costs }: Pick<Lent, "live" | "core"> & { readonly costs: AuxiliaryUsage },
): Promise<LlmCompletion> {
  const { model, agentId: wanted, ...rest } = request;
  const { plugin, llm, bound } = caller;
  if (bound) requireSameAgent(bound.agentId, wanted);
  const agent = agentFor(live, bound?.agentId ?? wanted);
  const sessionKey = bound?.sessionKey ?? buildKey({ kind: "main", agentId: agent.id }, live.defaultAgent.id);
  return complete(
    { ...rest, agentId: agent.id },
    {
      models: core.models.of(agent.id),
      candidates: allowedModels(modelsOf(agent), { plugin, what: "llm", grant: llm, model }),
      idleMs: agent.idleTimeoutMs ?? IDLE_MS,
      origin: { cause: "plugin", agentId: agent.id, sessionKey, plugin },
      spent: costs.ofPlugin(plugin, { sessionKey, agentId: agent.id }),
    },
  );
}

function agentFor(live: Live, wanted: string | undefined): AgentSettings {
  if (wanted === undefined) return live.defaultAgent;
  const found = live.agents.find(({ id }) => id === agentId(wanted));
  if (found) return found;
  throw new Error(`Plugin LLM completion names the agent "${wanted}", which does not exist.`);
}

/**
 * Conversations as files. With a running gateway the rows are the gateway's own, so that a plugin that changes them and
 * writes the file does not write old ones; in a command the rows are those of the file.
 */
function sessionFiles({ paths: { sessionsDir } }: Live, sessions?: Pick<Sessions, "list" | "withId">): PluginSessions {
  const storePath = join(sessionsDir, "sessions.json");
  return {
    storePath: () => storePath,
    load() {
      const file = readStore(storePath);
      return withPaths(sessions ? current(file, sessions.list()) : file, sessionsDir);
    },
    filePath(sessionId, entry) {
      const row = entry ?? sessions?.withId(sessionId)?.entry;
      const sessionFile = row?.["sessionFile"];
      return fileOf({ sessionId, updatedAt: 0, ...(typeof sessionFile === "string" && { sessionFile }) }, sessionsDir);
    },
  };
}

/** The rows with whole paths to their files, by which plugins open them. */
const withPaths = (members: Fields, dir: string): Fields =>
  Object.fromEntries(
    Object.entries(members).map(([key, member]) => {
      const row = readRow(member);
      return [key, isFields(member) && row?.sessionFile ? { ...member, sessionFile: fileOf(row, dir) } : member];
    }),
  );

/** The gateway's rows in place of the file's. Other members of the file are kept: they may be another program's. */
function current(file: Fields, rows: readonly SessionRow[]): Fields {
  const others = Object.entries(file).filter(([, member]) => readRow(member) === undefined);
  return Object.fromEntries([
    ...others,
    ...rows.map(({ key, entry }) => [key, structuredClone(writeRow(entry))] as const),
  ]);
}

/** The members of the file; empty when there is no file yet. Throws when the file is not JSON. */
function readStore(path: string): Fields {
  try {
    const rows: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isFields(rows) ? rows : {};
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
}

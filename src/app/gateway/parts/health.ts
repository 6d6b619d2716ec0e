import { join } from "node:path";
import type { Reports } from "../../../server/options.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { ExecApprovalsFile } from "../../../store/exec-approvals.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import { DEFAULT_AGENT } from "../../../types/ids.ts";
import { unsandboxed } from "../../compose/sandbox/sandboxing.ts";
import { wait } from "../../../utils/pause.ts";
import type { Parts } from "./parts.ts";
import { LATEST_RUNS, skippedRuns } from "../../../history/engines/skipped-runs.ts";
import { engineSettings } from "../../../history/engines/settings.ts";

type Readiness = ReturnType<Reports["ready"]>;

/**
 * Readiness: whether messages are taken, and the problems that wait for a person. A disk that takes no writes lets no
 * message in.
 */
export const readyOf = ({ live, channels, core }: Pick<Parts, "live" | "channels" | "core">): Readiness => ({
  ok: channels.isUp && channels.disk.takesWrites,
  problems: [
    ...(channels.disk.problem === undefined ? [] : [channels.disk.problem]),
    ...live.problems.map((problem) => problem.message),
    ...stoppedAgents(live.agents),
    ...withoutSandbox(live.agents, core),
    ...brokenApprovals(live.paths),
    ...core.models.refused(),
    ...channels.problems(),
  ],
});

/** The problem of the file with the rules of commands when it cannot be read: every command is asked about then. */
function brokenApprovals({ stateDir }: { readonly stateDir: string }): readonly string[] {
  const { broken } = new ExecApprovalsFile(join(stateDir, EXEC_APPROVALS_FILE)).policy(DEFAULT_AGENT);
  return broken === undefined ? [] : [broken];
}

/** Agents that answer nobody, each with the key that stops it. */
const stoppedAgents = (agents: readonly AgentSettings[]): readonly string[] =>
  agents.flatMap(({ id, stopped }) => (stopped === undefined ? [] : `The agent "${id}" is ${stopped}`));

/** Agents whose commands and file tools refuse, since the config demands a sandbox that does not work. */
const withoutSandbox = (agents: readonly AgentSettings[], { sandboxes }: Parts["core"]): readonly string[] =>
  unsandboxed(agents, sandboxes.machine).flatMap(({ agent, isDemanded, probe }) =>
    isDemanded ? [`The sandbox of the agent "${agent}" does not work: ${probe.why}. ${probe.fix}`] : [],
  );

/** The facts of `health` in addition to the server's own. */
export const healthOf = async (parts: Parts) => ({
  ...parts.channels.health(),
  heartbeatSeconds: heartbeatSeconds(parts.live.defaultAgent),
  contextEngine: await engineHealth(parts),
  plugins: { ...pluginHealth(parts), unavailable: [] },
  configReload: { hotReloadStatus: parts.live.started.gateway.reload.mode === "off" ? "disabled" : "active" },
});

const pluginHealth = ({ plugins: { plugins } }: Parts) => ({
  loaded: plugins.records.flatMap(({ id, state }) => (state === "loaded" ? [id] : [])),
  errors: plugins.records.flatMap(({ id, state, why }) =>
    state === "failed" || state === "broken" ? [{ id, why }] : [],
  ),
});

/** Seconds between two heartbeats; 0 for an agent without heartbeats. */
const heartbeatSeconds = ({ heartbeat }: AgentSettings): number => (heartbeat?.everyMs ?? 0) / 1000;

const LOOK_EVERY_MS = 2000;

/** What a client sees of the accounts, without times that pass by themselves. */
const accountStates = ({ channels }: Pick<Parts, "channels">) =>
  channels.status().map(({ channel, accountId, enabled, connected, lifecycle, lifecycleSince, ...row }) => [
    channel,
    accountId,
    // An account that ended and began again between two looks has another time.
    [enabled, connected, lifecycle, lifecycleSince],
    [row.retryAt, row.lastError, row.activity, row.notices, row.self],
  ]);

/** Publishes a `health` event when readiness, its problems or the state of an account have changed, so that open pages need not poll. */
export async function reportReadiness(
  parts: Pick<Parts, "live" | "channels" | "core" | "events">,
  signal: AbortSignal,
): Promise<void> {
  let published = JSON.stringify([readyOf(parts), accountStates(parts)]);
  while (!signal.aborted) {
    await wait(LOOK_EVERY_MS, signal);
    const ready = readyOf(parts);
    const now = JSON.stringify([ready, accountStates(parts)]);
    if (now === published) continue;
    published = now;
    parts.events.publish({ event: "health", payload: { ...ready, ts: Date.now() }, scope: "operator.read" });
  }
}

/** The selected engine, and whether the latest runs skipped it. Rejects when the journal cannot be read. */
async function engineHealth({ live, core }: Parts) {
  const { id } = engineSettings(live.config.plugins);
  const trouble = skippedRuns(id, await core.journal.runs.recent(LATEST_RUNS));
  return { id, ...(trouble && { passedBy: trouble }) };
}

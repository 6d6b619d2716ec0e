import { forPeople, shellText } from "../../../automation/cron/command/command-call.ts";
import type { CronPorts } from "../../../automation/cron/ports.ts";
import type { WatchedCommand } from "../../../automation/cron/watch/watch.ts";
import { checkCall } from "../../../harness/tools/single-call.ts";
import type { ToolSetting } from "../../../harness/tools/tools.ts";
import { UntrustedContent } from "../../../harness/tools/untrusted.ts";
import { buildKey } from "../../../sessions/keys.ts";
import type { BackgroundProcess } from "../../../tools/process/background-process.ts";
import { describeCause } from "../../../tools/exec/command-end.ts";
import type { CronJob } from "../../../types/cron/job.ts";
import { agentId, runId, type SessionKey } from "../../../types/ids.ts";
import type { RunningCommand } from "../../../types/run/backend.ts";
import type { Acting } from "../../../types/run/principal.ts";
import type { Tool } from "../../../types/run/tool.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { defined } from "../../../utils/defined.ts";
import type { Core } from "../../compose/core.ts";
import type { Live } from "../../live.ts";

interface Parts {
  readonly live: Live;
  readonly core: Pick<Core, "ports" | "processes">;
  readonly stopping: AbortSignal;
}

/**
 * Starts the command that a job watches as a call of `exec`, with the tool's rules for whoever set the job up. Nobody
 * is asked for approval. A command that cannot be started gives the reason as text.
 */
export function cronWatching(parts: Parts): CronPorts["watch"] {
  return async (job) => {
    const { live, core, stopping } = parts;
    const agent = live.agents.find(({ id }) => id === (job.agentId ?? live.defaultAgent.id));
    if (!agent) return `there is no agent "${job.agentId}"`;
    await core.ports.runs.toolsReady?.(stopping);
    const key = buildKey({ kind: "other", agentId: agent.id, text: `cron:${job.id}:watch` }, live.defaultAgent.id);
    const set = core.ports.runs.tools(agent, actingFor(job, key));
    const tool = set.tools.find(({ name }) => name === "exec");
    if (!tool) return `the tool exec is not there for its command: ${set.removed?.("exec")?.key ?? "the policy"}`;
    return started(job, tool, { agent, key, parts });
  };
}

const actingFor = ({ id, name, setUpBy }: CronJob, sessionKey: SessionKey): Acting => ({
  principal: { kind: "automation", id: `cron:${id}`, name, setUpBy },
  sessionKey,
  only: ["exec", "process"],
});

interface Place {
  readonly agent: AgentSettings;
  readonly key: SessionKey;
  readonly parts: Parts;
}

async function started(
  { id, schedule }: CronJob,
  tool: Tool,
  { agent, key, parts: { core, stopping } }: Place,
): Promise<WatchedCommand | string> {
  if (schedule.kind !== "on-exit" && schedule.kind !== "stream") throw new Error(`the job ${id} watches no command`);
  const command = schedule.kind === "stream" ? shellText(schedule.command) : schedule.command;
  const args = { command, background: true, timeout: 0, ...defined({ workdir: schedule.cwd }) };
  const checked = await checkCall(tool, args, settingFor({ agent, key, parts: { core, stopping } }));
  if (checked.kind === "invalid") return checked.why;
  const { content, details, isError } = await checked.run(`cron-${id}`, () => undefined);
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const process = core.processes?.all().find((one) => one.id === details?.["sessionId"]);
  return isError === true || !process ? forPeople(text) : watched(process);
}

function settingFor({
  agent,
  key,
  parts: { core, stopping },
}: Omit<Place, "parts"> & { readonly parts: Omit<Parts, "live"> }): ToolSetting {
  const {
    log,
    runs: { hooks },
    clock,
  } = core.ports;
  const id = runId(`watch-${key}-${clock.now()}`);
  const nothing = async () => ({ messages: [], estimatedTokens: 0, older: false });
  const context = { agentId: agent.id, sessionKey: key, runId: id, trigger: "cron", workspaceDir: agent.workspace };
  return {
    runId: id,
    sessionKey: key,
    agentId: agentId(agent.id),
    workspace: agent.workspace,
    signal: stopping,
    log: log.with({ session: key }),
    approvals: { ask: async () => "unattended" },
    untrusted: { content: new UntrustedContent(() => ({ window: nothing })), confirm: agent.tools.confirmUntrusted },
    ...(hooks && { hooks: { runner: hooks, context } }),
  };
}

const MOST_TAIL_CHARS = 2000;

function watched(process: BackgroundProcess): WatchedCommand {
  const { running, timeoutMs } = process.of;
  const { output } = running;
  // The tool `process` has a cursor of its own.
  let seen = 0;
  return {
    news: (signal) => (output.size > seen || process.end ? Promise.resolve() : untilNews(running, signal)),
    take() {
      const fresh = output.size - seen;
      seen = output.size;
      return fresh === 0 ? "" : output.text().slice(-fresh).toWellFormed();
    },
    get ended() {
      const { end } = process;
      if (!end) return undefined;
      const tail = output.text().trim().slice(-MOST_TAIL_CHARS).toWellFormed();
      return `The command has ended. ${describeCause(end, timeoutMs)}${tail === "" ? "" : `\n${tail}`}`;
    },
    stop: () => process.kill(),
  };
}

/** Resolves when a command has written something, when it has ended, or when the signal aborts. */
async function untilNews({ output, ended }: RunningCommand, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  const unwatch = output.watch(stop);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  await Promise.race([promise, ended]);
  signal.removeEventListener("abort", stop);
  unwatch();
}

import type { Run } from "../../../harness/run.ts";
import { Stopped, untilStopped } from "../../../harness/run/until-stopped.ts";
import { ToolSendBarrier } from "../../answer/tool-send-barrier.ts";
import { prompterFor } from "../../approvals/prompter.ts";
import { askedFor, askingOf } from "../acting.ts";
import { addressed } from "../addressed.ts";
import type { ModelRef } from "../../../types/run/model.ts";
import type { Session } from "../../../types/session.ts";
import { setBy } from "../../directives/said.ts";
import { candidatesFor } from "../candidates.ts";
import { logRun } from "../log-run.ts";
import { withPluginModel } from "../model-override.ts";
import { withSoftModel } from "./soft-model.ts";
import type { TurnPorts } from "../ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { safeTools } from "./reconcile.ts";
import { beginRun } from "../request.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Chooses the models and tools, and starts the run. From here on the lane can stop it. */
export async function startTurnRun(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const prepared = turn.get("prepared");
  const session = turn.get("session");
  const usedAt = session.entry.updatedAt;
  const candidates = await modelsOf(prepared, session, { ports, stopping: turn.slot.stopping });
  const before = candidates.length > 1 ? await ports.journal.runs.last(session.key) : undefined;
  const barrier = new ToolSendBarrier();
  const isAddressed = addressed(prepared.message) !== undefined;
  const tools = await safeTools(prepared, session, ports);
  await ports.toolsReady?.(turn.slot.stopping);
  // A failed sync ends the gateway: until it has ended no tool begins, no engine takes the turn in, and nothing is compacted.
  const stored = () => ports.journal.inbox.synced();
  const run: Run = beginRun(
    prepared,
    session,
    { ...ports, ...tools },
    {
      candidates,
      waits: {
        stored,
        beforeTool: async (callId) => {
          await stored();
          if (isAddressed) await barrier.wait(callId);
        },
      },
      askedBefore: before?.receipt.candidates?.[0],
      log: turn.queued.log,
      spentAfterEnd: ports.compactions.costs.afterRun(prepared.facts),
      approvals: ports.approvals.deskFor(
        askedFor(prepared, ports),
        prompterFor(askingOf(prepared), () => run, ports),
      ),
    },
  );
  announce(turn, run, ports);
  turn.set({ active: { run, candidates, barrier, usedAt } });
  return "next";
}

/** The models that may be asked; none for a turn that only calls a tool. */
async function modelsOf(
  prepared: PreparedTurn,
  session: Session,
  by: { readonly ports: TurnPorts; readonly stopping: AbortSignal },
): Promise<readonly ModelRef[]> {
  if (prepared.kind.call?.(prepared.message)) return [];
  return withSoftModel(await candidatesOf(prepared, session, by), prepared, session, by.ports);
}

async function candidatesOf(
  { message, rows, agent, facts, turn }: PreparedTurn,
  session: Session,
  { ports, stopping }: { readonly ports: TurnPorts; readonly stopping: AbortSignal },
): Promise<readonly ModelRef[]> {
  const messages = rows.map((row) => row.message);
  const { model: said } = setBy(messages, session.key, ports);
  const own = await candidatesFor({ message, said }, session, agent, ports);
  const { agentId, sessionKey, sessionId, runId } = facts;
  const context = { agentId, sessionKey, sessionId, runId, workspaceDir: agent.workspace };
  const asked = { prompt: turn.text, agent, session, context };
  return untilStopped(() => withPluginModel(own, asked, ports), stopping).catch((error: unknown) => {
    // The run ends before it asks a model.
    if (error instanceof Stopped) return own;
    throw error;
  });
}

/** Gives the run to the lane, the clients, the log and the typing signal. */
function announce(turn: Turn, run: Run, ports: TurnPorts): void {
  turn.slot.begin(run);
  ports.registry.add(run.stream, turn.get("prepared").message.options?.operator === true);
  logRun(run.stream, ports.log, turn.passage.waits);
  turn.get("typing").follow(run.stream);
}

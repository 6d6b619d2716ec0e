import type { Run } from "../../harness/run.ts";
import { Stopped, untilStopped } from "../../harness/run/until-stopped.ts";
import { ToolSendBarrier } from "../answer/tool-send-barrier.ts";
import { prompterFor } from "../approvals/prompter.ts";
import { askedFor, askingOf } from "../turn/acting.ts";
import { addressed } from "../chats.ts";
import { type ModelRef, isSameModel, modelName } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import { setBy } from "../directives/said.ts";
import { candidatesFor, mayUse } from "../candidates.ts";
import { logRun } from "../turn/log-run.ts";
import type { TurnPorts } from "../turn/ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { safeTools } from "./reconcile.ts";
import { beginRun } from "../turn/request.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";
import { callOriginOf } from "../../types/run/model-meter.ts";
import type { DispatchPorts } from "../ports.ts";
import type { HookContext } from "../../types/hook/hooks.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { isFields } from "../../utils/fields.ts";

/** Chooses the models and tools, and starts the run. From here on the lane can stop it. */
export async function startTurnRun(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const prepared = turn.get("prepared");
  const session = turn.get("session");
  const usedAt = session.entry.updatedAt;
  const candidates = await modelsOf(prepared, session, { ports, stopping: turn.slot.stopping });
  const before = candidates.length > 1 ? await ports.storage.journal.runs.last(session.key) : undefined;
  const barrier = new ToolSendBarrier();
  const isAddressed = addressed(prepared.message) !== undefined;
  const tools = await safeTools(prepared, session, ports);
  await ports.runs.toolsReady(turn.slot.stopping);
  // A failed sync ends the gateway: until the sync has ended no tool begins, no engine takes the turn in, and nothing
  // is compacted.
  const stored = () => ports.storage.journal.inbox.synced();
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
      spentAfterEnd: ports.shared.compactions.costs.afterRun(prepared.facts),
      approvals: ports.shared.approvals.deskFor(
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
  const own = await candidatesFor({ message, said }, session, agent, ports.runs);
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
  ports.shared.registry.add(run.stream, turn.get("prepared").message.options?.operator === true);
  logRun(run.stream, ports.log, turn.passage.waits);
  turn.get("typing").follow(run.stream);
}

type Ports = Pick<DispatchPorts, "runs" | "log"> & Pick<TurnPorts, "shared">;

/**
 * The candidates with the smaller model first, when most of a budget is used. A key that the user pinned keeps its
 * model, and a model that `agents.*.models` does not allow is not taken. The chat is informed once a day.
 */
async function withSoftModel(
  candidates: readonly ModelRef[],
  prepared: PreparedTurn,
  session: Pick<Session, "entry" | "key">,
  ports: Ports,
): Promise<readonly ModelRef[]> {
  const { agent, facts } = prepared;
  if (session.entry.authProfileOverrideSource === "user") return candidates;
  const soft = await ports.runs.budgets.softFor(callOriginOf(facts)).catch((error: unknown) => {
    ports.log.error("budgets not read", { run: facts.runId, error });
    return undefined;
  });
  const [first] = candidates;
  if (!soft || !mayUse(agent, soft.model) || (first && isSameModel(first, soft.model))) return candidates;
  await tell(soft, prepared, session, ports);
  return [soft.model, ...candidates.filter((ref) => !isSameModel(ref, soft.model))];
}

/**
 * Informs the chat about the smaller model. A failure is only logged: an answer without the notice is an answer all the
 * same.
 */
async function tell(
  { text, day }: { readonly text: string; readonly day: string },
  { rows, facts }: PreparedTurn,
  { key }: Pick<Session, "key">,
  { shared: { replies }, log }: Ports,
): Promise<void> {
  const [row] = rows;
  if (!row || !addressed(row.message)) return;
  try {
    await replies.notices.answer(row, { text, because: "fallback", key: `budget-soft:${day}:${key}` });
  } catch (error) {
    log.warn("the smaller model was not announced", { run: facts.runId, error });
  }
}

interface Asked {
  readonly prompt: string;
  readonly agent: AgentSettings;
  readonly session: Pick<Session, "entry">;
  readonly context: HookContext;
}

/**
 * The candidates with the model that a plugin chooses for this turn as the first. A model that `agents.*.models` does
 * not allow is not taken, and a key that the user pinned keeps its model.
 */
async function withPluginModel(
  candidates: readonly ModelRef[],
  { prompt, agent, session, context }: Asked,
  { runs: { hooks }, log }: Pick<DispatchPorts, "runs" | "log">,
): Promise<readonly ModelRef[]> {
  if (!hooks.has("before_model_resolve")) return candidates;
  if (session.entry.authProfileOverrideSource === "user") return candidates;
  const [first] = candidates;
  const chosen = await hooks.first({ name: "before_model_resolve", event: { prompt }, context }, (answer, owner) => {
    const ref = refIn(answer, first);
    if (!ref || mayUse(agent, ref)) return ref;
    log.warn("the model of a plugin is not allowed", { owner, model: modelName(ref) });
    return undefined;
  });
  return chosen ? [chosen, ...candidates.filter((ref) => !isSameModel(ref, chosen))] : candidates;
}

/**
 * The model in a plugin's answer `{modelOverride, providerOverride}`; a model may be named with its provider, and a
 * provider alone keeps the model's id.
 */
function refIn(answer: unknown, first: ModelRef | undefined): ModelRef | undefined {
  if (!isFields(answer)) return undefined;
  const [provider, model] = [answer["providerOverride"], answer["modelOverride"]].map((name) =>
    typeof name === "string" && name !== "" ? name : undefined,
  );
  if (model === undefined) return provider !== undefined && first ? { provider, id: first.id } : undefined;
  const slash = model.indexOf("/");
  if (provider !== undefined) {
    const id = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
    return { provider, id };
  }
  if (slash > 0) return { provider: model.slice(0, slash), id: model.slice(slash + 1) };
  return first && { provider: first.provider, id: model };
}

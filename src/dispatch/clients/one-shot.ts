import { startRun, type Run } from "../../harness/run.ts";
import { estimateInRequest } from "../../sessions/transcript/tokens.ts";
import type { OneShotRequest } from "../../types/chat/chat.ts";
import type { RunStream } from "../../types/run/events.ts";
import { runId, sessionKey } from "../../types/ids.ts";
import type { ChatMessage, UserMessage } from "../../types/run/model.ts";
import { OPERATOR } from "../../types/run/principal.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Dispatch } from "../dispatch.ts";
import { prompterFor } from "../approvals/prompter.ts";
import { runDepsOf } from "../turn/request.ts";
import type { DispatchPorts } from "../ports.ts";
import { runEndOf } from "../answer/run-end.ts";
import { ONE_SHOT } from "../turn-kinds.ts";

/**
 * Runs a given history without a session; only the run's receipt is kept. Resolves when the run begins, once a slot is
 * free.
 */
export function oneShot(request: OneShotRequest, dispatch: Dispatch, ports: DispatchPorts): Promise<RunStream> {
  const begun = Promise.withResolvers<RunStream>();
  void dispatch.lanes
    .inSlot(async () => {
      const run = await begin(request, dispatch, ports);
      begun.resolve(run.stream);
      await record(run, ports);
    })
    .catch(begun.reject);
  return begun.promise;
}

async function begin(request: OneShotRequest, dispatch: Dispatch, ports: DispatchPorts): Promise<Run> {
  const settings = ports.settings();
  const agent = settings.agents.get(request.agentId) ?? settings.agents.get(settings.defaultAgent);
  const last = request.messages.at(-1);
  if (!agent || last?.role !== "user") throw new Error("a one-shot request needs an agent and a user turn");
  const id = runId(request.idempotencyKey);
  const key = sessionKey(`openai:${id}`);
  const facts = { runId: id, sessionKey: key, sessionId: id, agentId: agent.id, trigger: ONE_SHOT.trigger };
  await ports.runs.toolsReady(request.signal);
  const set = ports.runs.tools(agent, { principal: OPERATOR, sessionKey: key });
  const run: Run = startRun(
    {
      facts,
      settings: agent,
      conversation: new MemoryConversation(request.messages.slice(0, -1)),
      turn: { entryId: id, ...contentOf(last), at: last.timestamp },
      choice: { candidates: await candidatesOf(agent, ports) },
      thinking: agent.thinking,
      timeoutMs: agent.timeoutMs,
      tools: set.tools,
      toolsOn: (model) => set.on(model),
      removed: (name, model) => set.removed?.(name, model),
      systemPrompt: (model) =>
        ports.prompts.systemPrompt({
          agent,
          model,
          tools: set.on(model),
          session: { key, entry: { sessionId: id, updatedAt: last.timestamp } },
          isPrivate: true,
          ...(request.system !== undefined && { extra: request.system }),
        }),
    },
    {
      ...runDepsOf(ports),
      models: ports.runs.models.of(agent.id),
      log: ports.log.with({ run: id, session: key }),
      approvals: dispatch.approvals.deskFor(
        { facts, principal: OPERATOR },
        prompterFor({ asks: ONE_SHOT.asks }, () => run, ports),
      ),
    },
  );
  if (request.signal.aborted) run.abort("user");
  request.signal.addEventListener("abort", () => run.abort("user"), { once: true });
  dispatch.registry.add(run.stream);
  return run;
}

const candidatesOf = async ({ id, model }: AgentSettings, { runs: { models } }: Pick<DispatchPorts, "runs">) => [
  model.primary ?? (await models.of(id).choose()),
  ...model.fallbacks,
];

function contentOf({ content }: UserMessage) {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return {
    text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
    images: parts.flatMap((part) => (part.type === "image" ? [part] : [])),
  };
}

/** Never rejects: the client gets its answer even when the receipt cannot be written. */
async function record(
  run: Run,
  { storage: { journal }, clock, log }: Pick<DispatchPorts, "storage" | "clock" | "log">,
): Promise<void> {
  const { runId: id, sessionKey: key, agentId } = run.stream.facts;
  const { receipt, result } = await runEndOf(run);
  const ended = result.kind === "failed" ? `failed:${result.failure.kind}` : result.kind;
  try {
    await journal.runs.record({ runId: id, sessionKey: key, agentId, at: clock.now(), receipt, result: ended });
  } catch (error) {
    log.error("run not recorded", { run: id, error });
  }
}

/** A conversation that is not stored. */
class MemoryConversation {
  readonly #messages: { entryId: string; message: ChatMessage }[];
  leafId: string | null;

  constructor(messages: readonly ChatMessage[]) {
    this.#messages = messages.map((message, index) => ({ entryId: `given-${index}`, message }));
    this.leafId = this.#messages.at(-1)?.entryId ?? null;
  }

  async window(): Promise<SessionWindow> {
    const estimatedTokens = this.#messages.reduce((sum, row) => sum + estimateInRequest(row.message), 0);
    return { messages: this.#messages, estimatedTokens, older: false };
  }

  async after(): Promise<undefined> {
    return undefined;
  }

  async append(body: { type: string; message?: ChatMessage }, options: { id?: string } = {}): Promise<string> {
    const id = options.id ?? `own-${this.#messages.length}`;
    if (body.message) this.#messages.push({ entryId: id, message: body.message });
    this.leafId = id;
    return id;
  }
}

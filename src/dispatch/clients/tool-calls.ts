import { randomUUID } from "node:crypto";
import { RunLog } from "../../harness/log/run-log.ts";
import { CallLoops, checkCall, noteCall, whyLooping } from "../../harness/tools/single-call.ts";
import { reporting, type ToolSetting } from "../../harness/tools/tools.ts";
import { UntrustedContent } from "../../harness/tools/untrusted.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import { normalName } from "../../tools/policy/names.ts";
import type { ToolCallOutcome, ToolCallRequest } from "../../types/chat/tool-call.ts";
import { runId, type SessionKey } from "../../types/ids.ts";
import { sessionExecOf } from "../../types/run/exec-wish.ts";
import type { ModelRef } from "../../types/run/model.ts";
import { OPERATOR, type Acting } from "../../types/run/principal.ts";
import type { RunFacts, RunResult } from "../../types/run/run.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { untrustedMarkOf } from "../../types/run/untrusted.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ToolLists } from "../../types/tool-policy.ts";
import { whyNobody } from "../approvals/reach.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DispatchPorts } from "../ports.ts";
import { ONE_SHOT } from "../turn-kinds.ts";
import { toolSchema } from "../../tools/schema.ts";
import { isFields } from "../../utils/fields.ts";
import { readableName } from "../../utils/text/clean-text.ts";

/** Calls one tool for a client. Rejects when the gateway itself fails. */
export type CallTool = (request: ToolCallRequest) => Promise<ToolCallOutcome>;

/**
 * Calls of single tools by whoever holds the gateway's token. A call acts for the operator, with the rules, the sandbox
 * and the settings of the session that the call names. `rules`: the rules of `gateway.tools`.
 */
export function openToolCalls(dispatch: Dispatch, ports: DispatchPorts, rules: () => ToolLists): CallTool {
  const loops = new CallLoops();
  return async (request) => {
    const { agents } = ports.settings();
    const agent = agents.get(request.agentId);
    if (!agent) return { kind: "missing" };
    await ports.runs.toolsReady(request.signal);
    const tool = await toolFor(request, agent, ports, rules());
    if (!tool) return { kind: "missing" };
    return callOf(request, { agent, tool, loops, dispatch, ports });
  };
}

interface Calling {
  readonly agent: AgentSettings;
  readonly tool: Tool;
  readonly loops: CallLoops;
  readonly dispatch: Dispatch;
  readonly ports: DispatchPorts;
}

/** The tool with the name in the request; undefined where the policy does not leave the tool to the call. */
async function toolFor(
  { tool: name, sessionKey }: ToolCallRequest,
  agent: AgentSettings,
  ports: DispatchPorts,
  http: ToolLists,
): Promise<Tool | undefined> {
  const set = ports.runs.tools(agent, { ...operatorIn(sessionKey, ports), http });
  const model = agent.model.primary ?? (await chosenModel(agent, ports));
  const tools = model ? set.on(model) : set.tools;
  return tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.name === normalName(name));
}

/**
 * The model by which rules about models hold, for an agent without a first model. Undefined when no model can be
 * chosen: then such rules hold for nothing. Never rejects.
 */
const chosenModel = ({ id }: AgentSettings, { runs: { models }, log }: DispatchPorts): Promise<ModelRef | undefined> =>
  models
    .of(id)
    .choose()
    .catch((error: unknown) => {
      log.debug("no model for the rules of a tool call", { error });
      return undefined;
    });

/** The operator in a session: with its settings, and the rules of its chat. */
export function operatorIn(key: SessionKey, { storage: { sessions }, settings }: DispatchPorts): Acting {
  const entry = sessions.peek(key);
  const { defaultAgent, chatTools } = settings();
  const peer = chatOf(key, entry, defaultAgent);
  const chatRules = peer && chatTools?.({ from: peer, sender: { id: "" } });
  const exec = sessionExecOf({ host: entry?.execHost, security: entry?.execSecurity, ask: entry?.execAsk });
  return {
    principal: OPERATOR,
    sessionKey: key,
    ...(entry && { sessionId: entry.sessionId }),
    ...(chatRules && chatRules.length > 0 && { chatRules }),
    ...(Object.keys(exec).length > 0 && { exec }),
  };
}

async function callOf(request: ToolCallRequest, calling: Calling): Promise<ToolCallOutcome> {
  const { tool, loops, ports, agent } = calling;
  const log = new RunLog(factsOf(request, ports));
  const args = argumentsFor(tool, request);
  const checked = await checkCall(tool, args, settingFor(request, calling, log));
  if (checked.kind === "invalid") return checked;
  if (request.isDryRun) return { kind: "fits", tool: tool.name };
  const guard = loops.of(request.sessionKey, agent.tools.loops, ports.clock.now());
  const looping = whyLooping(guard, tool.name, args);
  if (looping !== undefined) return { kind: "looping", why: looping };
  const result = await watched(checked.run, { tool, args, log, calling });
  noteCall(guard, tool, args, result);
  return { kind: "done", result };
}

function factsOf({ sessionKey, agentId }: ToolCallRequest, { storage: { sessions } }: DispatchPorts): RunFacts {
  const sessionId = sessions.peek(sessionKey)?.sessionId ?? "";
  return { runId: runId(`tool-${randomUUID()}`), sessionKey, sessionId, agentId, trigger: ONE_SHOT.trigger };
}

function settingFor({ signal }: ToolCallRequest, { agent, dispatch, ports }: Calling, log: RunLog): ToolSetting {
  const { facts } = log;
  const {
    runs: { hooks },
  } = ports;
  const { runId: id, sessionKey, agentId, sessionId, trigger } = facts;
  const desk = dispatch.approvals.deskFor(
    { facts, principal: OPERATOR },
    {
      whyUnasked: async () =>
        whyNobody({ asks: ONE_SHOT.asks, principal: OPERATOR, targets: [], isOnlyTargets: false }, ports),
      asked: (approval) => log.emit({ type: "approval_request", approval }),
      answered: ({ id: asked, askedBy }, decision) =>
        log.emit({ type: "approval_end", id: asked, decision, ...(askedBy && { askedBy }) }),
    },
  );
  const context = { agentId, sessionKey, sessionId, runId: id, trigger, workspaceDir: agent.workspace };
  return {
    runId: id,
    sessionKey,
    agentId,
    workspace: agent.workspace,
    signal,
    log: ports.log.with({ run: id, session: sessionKey }),
    approvals: reporting(desk, log),
    untrusted: {
      content: new UntrustedContent(
        () => ({ window: () => readWindow(sessionKey, ports) }),
        // The result of the call is no part of the conversation.
        () => ({
          known: () => untrustedMarkOf(ports.storage.sessions.peek(sessionKey)?.untrustedContent),
          keep: async () => {},
        }),
      ),
      confirm: agent.tools.confirmUntrusted,
    },
    ...(hooks && { hooks: { runner: hooks, context } }),
  };
}

/** Messages of the session that are searched for untrusted content. */
const SEARCHED = 2000;

/** The conversation, also while a run holds it. */
async function readWindow(key: SessionKey, { storage: { sessions } }: DispatchPorts): Promise<SessionWindow> {
  if (!sessions.peek(key)) return { messages: [], estimatedTokens: 0, older: false };
  const { entries, hasMore } = await sessions.history(key, SEARCHED);
  const messages = entries.flatMap((entry) =>
    entry.type === "message" ? [{ entryId: entry.id, message: entry.message }] : [],
  );
  return { messages, estimatedTokens: 0, older: hasMore };
}

interface Watched {
  readonly tool: Tool;
  readonly args: Record<string, unknown>;
  readonly log: RunLog;
  readonly calling: Calling;
}

/** Runs the call so that clients see it, with its questions, as a run of its session. */
async function watched(
  run: (callId: string, update: (partial: string) => void) => Promise<ToolResult>,
  { tool, args, log, calling: { agent, dispatch, ports } }: Watched,
): Promise<ToolResult> {
  const { clock } = ports;
  const { facts } = log;
  const { name } = tool;
  const callId = facts.runId;
  const startedAt = clock.now();
  dispatch.registry.add(log, false);
  log.emit({ type: "run_start", facts, startedAt });
  log.emit({ type: "tool_start", callId, name, args });
  const end = (result: RunResult, isError: boolean, text: string) => {
    const endedAt = clock.now();
    const durationMs = endedAt - startedAt;
    const model = agent.model.primary ?? { provider: "none", id: "none" };
    log.emit({ type: "tool_end", callId, name, isError, text, durationMs });
    const receipt = {
      model,
      usage: emptyUsage(),
      calls: 0,
      durationMs,
      trigger: facts.trigger,
      ...log.account.close([], []),
    };
    log.emit({ type: "run_end", result, receipt, endedAt });
    ports.log.info("tool called over HTTP", {
      tool: readableName(name),
      run: facts.runId,
      session: facts.sessionKey,
      isError,
      durationMs,
    });
  };
  try {
    const result = await run(callId, (partial) => log.emit({ type: "tool_update", callId, name, partial }));
    const text = result.content.map((part) => (part.type === "text" ? part.text : `[${part.mimeType}]`)).join("\n");
    end({ kind: "replied", stop: "stop" }, result.isError === true, text);
    return result;
  } catch (error) {
    end({ kind: "failed", failure: { kind: "unknown", message: "the call broke" } }, true, "the call broke");
    throw error;
  }
}

/** `action` of the request is the argument of that name, of a tool that has one. */
function argumentsFor(tool: Tool, { action, args }: ToolCallRequest): Record<string, unknown> {
  const { properties } = toolSchema(tool);
  const hasAction = isFields(properties) && "action" in properties;
  return action === undefined || !hasAction || "action" in args ? { ...args } : { ...args, action };
}

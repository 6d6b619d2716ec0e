import { randomUUID } from "node:crypto";
import { inheritedMark, untrustedMarkOf } from "../../types/run/untrusted.ts";
import { isUnfinished, runOutcomeOf } from "../../dispatch/answer/run-end.ts";
import { Stopped, untilStopped } from "../../harness/run/until-stopped.ts";
import { isSubagentKey, resolveAlias, canonicalKey, parseKey } from "../../sessions/keys.ts";
import type { Clock } from "../../types/clock.ts";
import type { HookRunner } from "../../types/hook/hooks.ts";
import { type AgentId, DEFAULT_ACCOUNT, type RunId, runId, type SessionKey, sessionKey } from "../../types/ids.ts";
import type { Inbox, InboxRow } from "../../types/journal.ts";
import type { InboundMessage, SubagentTurn } from "../../types/chat/message.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type {
  SpawnedRun,
  SubagentEnd,
  SubagentRequest,
  SubagentRequester,
  Subagents,
  SubagentSession,
  SubagentWait,
} from "../../types/subagent/subagent.ts";
import type { SessionPatch, Sessions } from "../../types/session.ts";
import { SUBAGENT, subagentRunId } from "../../tools/session/spawn-names.ts";
import { defined } from "../../utils/defined.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import { subagentEndOf, SUBAGENT_KIND } from "./subagent-turn.ts";

/** Milliseconds between two looks at a run that has not begun again after a restart or a full disk. */
const LOOK_MS = 500;

/** Settings of the config for subagents. */
export interface SubagentRules {
  readonly defaultAgent: AgentId;
  readonly agents: { has(agent: AgentId): boolean };
  agentOf(key: SessionKey): AgentId;
  readonly maxSpawnDepth: number;
}

export interface SubagentPorts {
  readonly clock: Clock;
  readonly inbox: Pick<Inbox, "find">;
  readonly sessions: Pick<Sessions, "acquire" | "history" | "patch" | "peek" | "remove">;
  readonly hooks?: HookRunner | undefined;
  /** Rules of the present config. */
  rules(): SubagentRules;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  /** Resolves when the message waits for its run, or has ended. */
  decided(row: InboxRow): Promise<void>;
  /** A run that waits, is active, or has ended a moment ago. */
  runOf(id: RunId): RunStream | undefined;
  /** Ends the runs of a session, and does the work when none of them is left. Rejects as the work does. */
  afterRuns<T>(key: SessionKey, work: () => Promise<T>): Promise<T>;
}

/** Subagents pass the pipeline of every message: journal, lane, run, receipt. A restart continues their runs. */
export class SubagentRuns implements Subagents {
  readonly #ports: SubagentPorts;
  /** Requests for one session are carried out one after the other. */
  readonly #requests = new KeyedQueue();
  /** Requests of one run, which may name several sessions, are carried out one after the other. */
  readonly #runs = new KeyedQueue();

  constructor(ports: SubagentPorts) {
    this.#ports = ports;
  }

  async run(request: SubagentRequest): Promise<{ readonly runId: RunId }> {
    const key = subagentKey(request.sessionKey, this.#ports.rules().defaultAgent);
    if (request.message.trim() === "") throw new Error("a subagent needs a message");
    const id = runIdOf(request);
    const begin = () => this.#begin(id, key, request);
    await this.#requests.run(key, () => this.#runs.run(id, begin));
    return { runId: id };
  }

  async #begin(id: RunId, key: SessionKey, request: SubagentRequest): Promise<void> {
    const known = await this.#find(id);
    if (known) {
      requireSame(known.message, request, key);
      return;
    }
    const place = { key, depth: this.#depthOf(request, key) };
    await this.#enterRow(place, request);
    await this.#ports.receive([messageOf(request, id, { ...place, now: this.#ports.clock.now() })]);
    const row = await this.#find(id);
    if (row) await this.#ports.decided(row);
    this.#notifySpawned(id, place, request);
  }

  async waitFor(wait: SubagentWait): Promise<SubagentEnd> {
    const { clock } = this.#ports;
    const overdue = new AbortController();
    const cancel = clock.after(wait.timeoutMs, () => overdue.abort());
    try {
      return await this.#ended(wait, AbortSignal.any([wait.signal, overdue.signal]));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      return wait.signal.aborted ? { status: "error", error: "nobody waits any more" } : { status: "timeout" };
    } finally {
      cancel();
    }
  }

  owns({ sessionKey: text, plugin }: SubagentSession): boolean {
    const entry = this.#ports.sessions.peek(this.#keyOf(text));
    return entry?.spawnDepth !== undefined && entry.spawnedByPlugin === plugin;
  }

  async messages(text: string, limit: number): Promise<readonly ChatMessage[]> {
    const { sessions } = this.#ports;
    const key = this.#keyOf(text);
    if (!sessions.peek(key)) return [];
    const { entries } = await sessions.history(key, limit);
    return entries.flatMap((entry) => (entry.type === "message" ? [structuredClone(entry.message)] : []));
  }

  async remove(session: SubagentSession): Promise<boolean> {
    const { sessions } = this.#ports;
    const key = this.#keyOf(session.sessionKey);
    if (!sessions.peek(key)) return false;
    if (!this.owns(session)) throw notOwned(key);
    return (await this.#ports.afterRuns(key, () => sessions.remove(key))) !== undefined;
  }

  #keyOf(text: string): SessionKey {
    return resolveAlias(text, this.#ports.rules().defaultAgent);
  }

  /** The depth of a request. Throws when the depth is not allowed. */
  #depthOf({ plugin, requester }: SubagentRequest, key: SessionKey): number {
    const { agents, agentOf, maxSpawnDepth } = this.#ports.rules();
    const agent = agentOf(key);
    if (!agents.has(agent)) throw new Error(`the agent "${agent}" does not exist`);
    const entry = this.#ports.sessions.peek(key);
    if (entry && !this.owns({ sessionKey: key, plugin })) throw notOwned(key);
    if (this.#isAbove(key, requester)) throw new Error(`the subagent ${key} would wait for itself`);
    // A conversation that was deeper before stays so: a session that asked for it may still wait.
    const depth = Math.max(this.#depthBelow(requester), entry?.spawnDepth ?? 1);
    if (depth <= maxSpawnDepth) return depth;
    throw new Error(`a subagent may not be ${depth} deep: agents.defaults.subagents.maxSpawnDepth is ${maxSpawnDepth}`);
  }

  #depthBelow(requester: SubagentRequester | undefined): number {
    if (!requester) return 1;
    const above = this.#ports.sessions.peek(requester.sessionKey)?.spawnDepth;
    return 1 + (above ?? (isSubagentKey(requester.sessionKey) ? 1 : 0));
  }

  /** Whether the requester is this session, or one below it. */
  #isAbove(key: SessionKey, requester: SubagentRequester | undefined): boolean {
    const seen = new Set<string>();
    for (let at: string | undefined = requester?.sessionKey; at !== undefined && !seen.has(at);) {
      if (at === key) return true;
      seen.add(at);
      at = this.#ports.sessions.peek(sessionKey(at))?.spawnedBy;
    }
    return false;
  }

  /** Notes the owner of the conversation before anything can be written into it. */
  async #enterRow({ key, depth }: Place, { plugin, requester, spawn }: SubagentRequest): Promise<void> {
    const { sessions } = this.#ports;
    const entry = sessions.peek(key);
    const above = requester && sessions.peek(requester.sessionKey);
    const mark = untrustedMarkOf(above?.untrustedContent);
    const patch = {
      // Limits for the commands of the session above also apply to this one.
      ...(above && { execHost: above.execHost, execSecurity: above.execSecurity, execAsk: above.execAsk }),
      // The author of untrusted content that the session above has read may have shaped this task.
      ...(mark && { untrustedContent: inheritedMark(mark, untrustedMarkOf(entry?.untrustedContent)) }),
      spawnDepth: depth,
      ...(requester && { spawnedBy: requester.sessionKey }),
      ...(plugin !== undefined && { spawnedByPlugin: plugin }),
      ...(spawn && entryOf(spawn)),
    };
    if (entry) {
      await sessions.patch(key, patch, { now: true });
      return;
    }
    const session = await sessions.acquire(key);
    try {
      await session.update(patch, { now: true });
      await spawn?.fill?.(session);
    } finally {
      session.release();
    }
  }

  async #ended({ runId: text, plugin }: SubagentWait, stop: AbortSignal): Promise<SubagentEnd> {
    const id = runId(text);
    for (;;) {
      const row = await this.#find(id);
      if (!row || row.message.options?.subagent?.plugin !== plugin)
        return { status: "error", error: `there is no run ${id}` };
      if (row.outcome) return subagentEndOf(row.outcome);
      const stream = this.#ports.runOf(id);
      const result = stream && (await untilStopped(() => stream.done, stop));
      if (result && !isUnfinished(result)) return subagentEndOf(runOutcomeOf(result, true));
      await untilStopped(() => this.#pause(), stop);
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#ports.clock.after(LOOK_MS, resolve));
  }

  #find(id: RunId): Promise<InboxRow | undefined> {
    return this.#ports.inbox.find(SUBAGENT, DEFAULT_ACCOUNT, id);
  }

  #notifySpawned(id: RunId, { key }: Place, { requester }: SubagentRequest): void {
    const agentId = this.#ports.rules().agentOf(key);
    this.#ports.hooks?.notify(
      "subagent_spawned",
      { childSessionKey: key, agentId, runId: id, mode: "run", threadRequested: false },
      {
        agentId,
        sessionKey: key,
        runId: id,
        childSessionKey: key,
        ...(requester && { requesterSessionKey: requester.sessionKey }),
      },
    );
  }
}

const notOwned = (key: SessionKey): Error => new Error(`the session ${key} is somebody else's`);

/** Fields of the session's row for all of its runs. */
const entryOf = ({ label, archiveAt, model, thinking }: SpawnedRun): SessionPatch => ({
  label,
  ...defined({ archiveAt, thinkingLevel: thinking }),
  ...(model && { providerOverride: model.provider, modelOverride: model.id }),
});

/** Most characters of a key: a UUID with an agent, and some room for names of plugins. */
const MOST_CHARS = 200;

/** Keys without a colon that the gateway uses itself. */
const RESERVED = new Set(["main", "heartbeat", "subagent"]);

/**
 * The key of a subagent's session: `agent:<agent>:subagent:<name>`. Plugins also write `<word>:subagent:<name>` and
 * names without a colon; such keys belong to the default agent. Throws for the key of a chat and for a text that cannot
 * be a key.
 */
function subagentKey(text: string, defaultAgent: AgentId): SessionKey {
  if (text.length > MOST_CHARS || !/^[\w.:-]+$/.test(text) || text.includes("::"))
    throw new Error(
      `the session key of a subagent has letters, digits, ".", "_", "-" and ":", and at most ${MOST_CHARS} characters`,
    );
  const key = canonicalKey(sessionKey(text), defaultAgent);
  const name = withoutAgent(key);
  const isOfSubagent = /^(?:[^:]+:)?subagent:[^:]/.test(name) || (!name.includes(":") && !RESERVED.has(name));
  if (isOfSubagent && parseKey(key, defaultAgent).kind !== "main") return key;
  throw new Error(`the session key "${text}" is no subagent's: use agent:<agent>:subagent:<name>`);
}

function withoutAgent(key: SessionKey): string {
  const [first, , ...rest] = key.split(":");
  return first === "agent" && rest.length > 0 ? rest.join(":") : key;
}

/** The session of a subagent, and its depth. */
interface Place {
  readonly key: SessionKey;
  readonly depth: number;
}

const runIdOf = ({ plugin, idempotencyKey = randomUUID() }: SubagentRequest): RunId =>
  subagentRunId(idempotencyKey, plugin);

/** Throws when the known message is from another request. */
function requireSame({ text, options }: InboundMessage, request: SubagentRequest, key: SessionKey): void {
  if (text === request.message && options?.sessionKey === key) return;
  throw new Error("this idempotencyKey was used for another request");
}

/** A request as a message of the inbox: durable, run once, and with an outcome like every other. */
function messageOf(
  request: SubagentRequest,
  id: RunId,
  { key, depth, now }: Place & { readonly now: number },
): InboundMessage {
  const { message: text, model, requester, spawn } = request;
  const whenEnded = spawn?.whenEnded(id, depth);
  return {
    id,
    eventKey: id,
    from: { channel: SUBAGENT, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: key } },
    sender: { id: "gateway", name: "Subagent" },
    text,
    media: [],
    mentionsBot: true,
    receivedAt: now,
    options: {
      operator: true,
      sessionKey: key,
      kind: SUBAGENT_KIND,
      subagent: turnOf(request, depth),
      ...defined({ model, timeoutMs: spawn?.timeoutMs, broughtBy: requester?.runId, whenEnded }),
    },
  };
}

const turnOf = ({ plugin, requester, systemPrompt, spawn }: SubagentRequest, depth: number): SubagentTurn => ({
  depth,
  ...(requester?.isOwner === true && { isOwner: true }),
  ...(requester && { parent: requester.sessionKey, root: requester.root ?? requester.sessionKey }),
  ...defined({ plugin, tools: requester?.tools, systemPrompt, files: spawn?.files }),
});

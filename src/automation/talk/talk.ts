import { randomUUID } from "node:crypto";
import { conversationLines } from "../../dispatch/commands/reports/conversation.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import { agentOf, resolveAlias, wireKey } from "../../sessions/keys.ts";
import type { Clock } from "../../types/clock.ts";
import {
  agentId as asAgentId,
  type SessionKey,
  channelId,
  DEFAULT_ACCOUNT,
  runId,
  type RunId,
  sessionKey as asSessionKey,
} from "../../types/ids.ts";
import type { Inbox, OutboxJournal } from "../../types/journal.ts";
import type { InboundMessage, Peer, RelayTurn } from "../../types/chat/message.ts";
import type {
  SaidLine,
  SendAnswer,
  SendAsk,
  SessionAsker,
  SessionsFilter,
  SessionTalk,
  SessionView,
} from "../../types/subagent/spawn.ts";
import type { SessionHits } from "../../types/subagent/search.ts";
import type { Sessions, SessionRow } from "../../types/session.ts";
import { endedRow } from "../follow.ts";
import { passMark } from "../../sessions/pass-mark.ts";
import { shownTitle } from "../../sessions/shown/title.ts";
import { replyOf, rowOfRun } from "./answers.ts";
import { searchSessions } from "./search.ts";
import { type TalkRules, whySessionHidden, kindOf } from "./visible.ts";
import { defined } from "../../utils/defined.ts";
import { RELAY_KIND } from "./relay-turn.ts";

/** Most sessions that the messages of one trace may be in, the first one included. */
const MOST_HOPS = 6;
/** Entries of a transcript that are read for one of its lines. */
const ENTRIES_A_LINE = 8;

export interface TalkPorts {
  readonly clock: Clock;
  readonly inbox: Inbox;
  readonly outbox: Pick<OutboxJournal, "of">;
  readonly sessions: Pick<Sessions, "peek" | "patch" | "newest" | "history" | "fileOf">;
  rules(): TalkRules;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
}

const keyOf = (session: string, asker: SessionAsker, rules: TalkRules): SessionKey =>
  session === "current" ? asker.sessionKey : resolveAlias(session, rules.defaultAgent);

const ROLES = { person: "user", agent: "assistant", tool: "tool" } as const;

/** Views of other sessions for agents, and messages to them. */
export class Talk implements SessionTalk {
  readonly #ports: TalkPorts;

  constructor(ports: TalkPorts) {
    this.#ports = ports;
  }

  list(filter: SessionsFilter, asker: SessionAsker): readonly SessionView[] {
    const { sessions, clock, rules } = this.#ports;
    return listSessions(filter, asker, { sessions, rules: rules(), now: clock.now() });
  }

  async said(
    session: string,
    { limit, withTools }: { readonly limit: number; readonly withTools: boolean },
    asker: SessionAsker,
  ): Promise<readonly SaidLine[] | string> {
    const { sessions } = this.#ports;
    const rules = this.#ports.rules();
    const key = keyOf(session, asker, rules);
    const why = whySessionHidden(key, asker, { sessions, rules });
    if (why !== undefined) return why;
    if (!sessions.peek(key)) return `There is no session ${wireKey(key, rules.defaultAgent)}.`;
    const { entries } = await sessions.history(key, limit * ENTRIES_A_LINE);
    await passMark(key, asker.sessionKey, sessions);
    const lines = conversationLines(entries, true).filter(({ by }) => withTools || by !== "tool");
    return lines.slice(-limit).map(({ by, name, text, at }) => ({
      role: ROLES[by],
      text: by === "tool" ? [name, text].join(" ").trim() : text,
      at,
    }));
  }

  async search(
    { agentId, sessionKeys, ...ask }: Parameters<SessionTalk["search"]>[0],
    asker: SessionAsker,
  ): Promise<SessionHits> {
    const { sessions } = this.#ports;
    const rules = this.#ports.rules();
    const wanted = sessionKeys && new Set<string>(sessionKeys.map((key) => keyOf(key, asker, rules)));
    const rows = [...sessions.newest()].filter(
      ({ key }) =>
        (wanted?.has(key) ?? true) &&
        (agentId === undefined || agentOf(key, rules.defaultAgent) === agentId) &&
        whySessionHidden(key, asker, { sessions, rules }) === undefined,
    );
    const hits = await searchSessions(ask, rows, sessions);
    for (const key of new Set(hits.results.map((hit) => asSessionKey(hit.sessionKey))))
      if (key !== asker.sessionKey) await passMark(key, asker.sessionKey, sessions);
    const shown = (sessionKey: string) => wireKey(sessionKey, rules.defaultAgent);
    return { ...hits, results: hits.results.map((hit) => ({ ...hit, sessionKey: shown(hit.sessionKey) })) };
  }

  async send(ask: SendAsk, asker: SessionAsker): Promise<SendAnswer> {
    const answer = await this.#send(ask, asker);
    if (!("sessionKey" in answer)) return answer;
    return { ...answer, sessionKey: wireKey(answer.sessionKey, this.#ports.rules().defaultAgent) };
  }

  async #send(ask: SendAsk, asker: SessionAsker): Promise<SendAnswer<SessionKey>> {
    const { sessions, clock, receive } = this.#ports;
    const rules = this.#ports.rules();
    const key = targetOf(ask, { asker, rules, sessions });
    if (typeof key === "object") return { status: "error", error: key.why };
    const trace = await this.#traceOf(asker);
    const refusal = whySessionHidden(key, asker, { sessions, rules }) ?? whyNoHop(key, trace);
    if (refusal !== undefined) return { status: "forbidden", error: refusal };
    const exchange = {
      traceId: randomUUID(),
      trace,
      asker: asker.sessionKey,
      asked: key,
      by: asker.runId,
      text: ask.message,
      rights: asker.isOwner ? { isOwner: true } : {},
      maxPingPongTurns: rules.maxPingPongTurns,
      to: chatOf(key, sessions.peek(key), rules.defaultAgent),
      now: clock.now(),
    };
    await receive([relayMessage(exchange)]);
    const runId = stepRun(exchange, 1);
    if (ask.timeoutSeconds === 0) return { status: "accepted", runId, sessionKey: key };
    return this.#await({ runId, sessionKey: key }, ask, asker);
  }

  /** The sessions that have led to the asking run. */
  async #traceOf({ runId, sessionKey: own }: SessionAsker): Promise<readonly SessionKey[]> {
    const row = runId === undefined ? undefined : await rowOfRun(runId, this.#ports.inbox);
    const before = row?.message.options?.relay?.trace ?? [];
    return before.at(-1) === own ? before : [...before, own];
  }

  async #await(
    sent: { readonly runId: RunId; readonly sessionKey: SessionKey },
    { timeoutSeconds, signal }: SendAsk,
    asker: SessionAsker,
  ): Promise<SendAnswer<SessionKey>> {
    const { clock, inbox, outbox, sessions } = this.#ports;
    const overdue = new AbortController();
    const cancel = clock.after(timeoutSeconds * 1000, () => overdue.abort());
    try {
      const stop = AbortSignal.any([signal, overdue.signal]);
      const row = await endedRow(
        { channel: RELAY, eventKey: sent.runId },
        { clock, journal: { inbox, outbox }, signal: stop },
      );
      if (!row) return { status: "timeout", ...sent };
      if (row.outcome?.kind === "failed") return { status: "error", error: row.outcome.why };
      const reply = await replyOf(row, sent.sessionKey, sessions);
      if (reply === undefined) return { status: "no_reply", ...sent };
      await passMark(sent.sessionKey, asker.sessionKey, sessions);
      return { status: "ok", ...sent, reply };
    } finally {
      cancel();
    }
  }
}

/** The session that a request names, or the reason why there is none. */
function targetOf(
  { sessionKey: named, label, agentId }: SendAsk,
  { asker, rules, sessions }: { asker: SessionAsker; rules: TalkRules; sessions: Pick<Sessions, "peek" | "newest"> },
): SessionKey | { readonly why: string } {
  if (named !== undefined) {
    const key = resolveAlias(named, rules.defaultAgent);
    if (sessions.peek(key) || key === resolveAlias("main", rules.defaultAgent)) return key;
    return { why: `There is no session ${named}; see sessions_list.` };
  }
  if (label !== undefined) {
    for (const { key, entry } of sessions.newest())
      if (entry.label === label && (agentId === undefined || agentOf(key, rules.defaultAgent) === agentId)) return key;
    return { why: `No session has the label "${label}"; see sessions_list.` };
  }
  if (agentId === undefined) return { why: "Name the session by sessionKey, label or agentId." };
  if (!rules.agents.has(asAgentId(agentId))) return { why: `The agent "${agentId}" does not exist; see agents_list.` };
  if (agentId === asker.agentId) return { why: "That is this agent itself: name a session." };
  return resolveAlias(`agent:${agentId}:main`, rules.defaultAgent);
}

/**
 * Reason why a message may not go to a session: two agents that answer each other without end cost money and help
 * nobody.
 */
function whyNoHop(key: SessionKey, trace: readonly SessionKey[]): string | undefined {
  if (trace.includes(key)) return "That session is one of those that this message comes from.";
  return trace.length > MOST_HOPS
    ? `The message has been in ${trace.length} sessions already, which is the most.`
    : undefined;
}

const MINUTE_MS = 60_000;

/** The sessions that a run may see, the latest first. */
function listSessions(
  filter: SessionsFilter,
  asker: SessionAsker,
  ports: { readonly sessions: Pick<Sessions, "newest" | "peek">; readonly rules: TalkRules; readonly now: number },
): readonly SessionView[] {
  const since = filter.activeMinutes === undefined ? 0 : ports.now - filter.activeMinutes * MINUTE_MS;
  const found: SessionView[] = [];
  for (const row of ports.sessions.newest()) {
    if (row.entry.updatedAt < since || found.length >= filter.limit) break;
    const view = viewOf(row, ports.rules);
    if (fits(view, filter) && whySessionHidden(row.key, asker, ports) === undefined) found.push(view);
  }
  return found;
}

function viewOf({ key, entry }: SessionRow, { defaultAgent }: TalkRules): SessionView {
  const { providerOverride, modelOverride } = entry;
  const shown = (text: string | undefined) => text && wireKey(text, defaultAgent);
  return {
    key: wireKey(key, defaultAgent),
    kind: kindOf(key, defaultAgent),
    channel: entry.lastChannel ?? entry.channel ?? "none",
    agentId: agentOf(key, defaultAgent),
    updatedAt: entry.updatedAt,
    ...defined({
      label: entry.label,
      displayName: shownTitle({ displayName: entry.displayName, subject: entry.subject }),
      spawnedBy: shown(entry.spawnedBy),
      totalTokens: entry.totalTokens,
      model: modelOverride === undefined ? undefined : `${providerOverride ?? ""}/${modelOverride}`,
    }),
  };
}

function fits(view: SessionView, { kinds, label, agentId, search }: SessionsFilter): boolean {
  const text = [view.key, view.label, view.displayName].join(" ").toLowerCase();
  return (
    (kinds === undefined || kinds.length === 0 || kinds.includes(view.kind)) &&
    (label === undefined || view.label === label) &&
    (agentId === undefined || view.agentId === agentId) &&
    (search === undefined || text.includes(search.toLowerCase()))
  );
}

/** The channel of messages between sessions. No adapter has this name. */
const RELAY = channelId("relay");

/** A message to another session, with all messages that may follow from it. */
interface Exchange {
  readonly traceId: string;
  /** The sessions before the asked one, the asking one last. */
  readonly trace: readonly SessionKey[];
  readonly asker: SessionKey;
  readonly asked: SessionKey;
  /** The run that wrote the first message. */
  readonly by: RunId | undefined;
  readonly text: string;
  readonly rights: Pick<RelayTurn, "isOwner">;
  readonly maxPingPongTurns: number;
  /** The chat of the asked session, which may get its agent's report at the end; unset when the session has none. */
  readonly to: Peer | undefined;
  readonly now: number;
}

/** Id of the run of a step. */
const stepRun = ({ traceId }: Pick<Exchange, "traceId">, step: number): RunId => runId(`relay:${traceId}:${step}`);

/**
 * The message to the asked session. It contains the messages that follow from it, so that they are sent through
 * restarts, and once.
 */
function relayMessage(exchange: Exchange): InboundMessage {
  const last = lastStep(exchange);
  let next = last;
  for (let step = exchange.maxPingPongTurns + 1; step > 1; step -= 1) next = answerStep(exchange, step, next);
  return message(exchange, 1, {
    to: exchange.asked,
    text: exchange.text,
    relay: { ...relayOf(exchange, exchange.asker, exchange.maxPingPongTurns), step: "answer" },
    whenEnded: next,
  });
}

/** The message of a later step. The asked agent answers in the odd steps. */
function answerStep(exchange: Exchange, step: number, whenEnded: InboundMessage): InboundMessage {
  const { asker, asked, maxPingPongTurns } = exchange;
  const [to, from] = step % 2 === 0 ? [asker, asked] : [asked, asker];
  const turnsLeft = maxPingPongTurns + 1 - step;
  return message(exchange, step, {
    to,
    text: "",
    relay: {
      ...relayOf(exchange, from, turnsLeft),
      step: "answer",
      answerOf: { key: from, runId: stepRun(exchange, step - 1) },
    },
    whenEnded,
  });
}

function lastStep(exchange: Exchange): InboundMessage {
  const { asker, asked, text, maxPingPongTurns, to } = exchange;
  return message(exchange, maxPingPongTurns + 2, {
    to: asked,
    text: `Another agent wrote:\n${text}`,
    relay: { ...relayOf(exchange, asker, 0), step: "last", answerOf: { key: asked, runId: stepRun(exchange, 1) } },
    deliverTo: to,
  });
}

const relayOf = (
  { traceId, trace, asker, asked, rights }: Exchange,
  from: SessionKey,
  turnsLeft: number,
): Omit<RelayTurn, "step"> => ({
  from,
  between: [asker, asked],
  traceId,
  trace: [...trace, asked],
  turnsLeft,
  ...rights,
});

interface Step {
  readonly to: SessionKey;
  readonly text: string;
  readonly relay: RelayTurn;
  readonly whenEnded?: InboundMessage;
  readonly deliverTo?: Peer | undefined;
}

function message(exchange: Exchange, step: number, { to, text, relay, whenEnded, deliverTo }: Step): InboundMessage {
  const id = stepRun(exchange, step);
  return {
    id,
    eventKey: id,
    from: { channel: RELAY, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: to } },
    sender: { id: "gateway", name: "Agent" },
    text,
    media: [],
    mentionsBot: true,
    receivedAt: exchange.now,
    options: {
      operator: true,
      sessionKey: to,
      kind: RELAY_KIND,
      relay,
      ...(whenEnded && { whenEnded }),
      ...(deliverTo && { deliverTo }),
      ...(exchange.by !== undefined && { broughtBy: exchange.by }),
    },
  };
}

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { agentOf, buildKey, parseKey } from "../../sessions/keys.ts";
import { isHousekeeping } from "../../sessions/transcript/history.ts";
import { PLACE_TYPE } from "../../sessions/transcript/tree.ts";
import { branchAnswers } from "../../types/answers/branches.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import { keyParam } from "../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import type { ConversationBranch, MessageEntry, Session, SessionPatch } from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";
import { requireAgent } from "./patch.ts";
import { entryText } from "./session-row.ts";

type Ports = Pick<ServerPorts, "chat" | "sessions" | "keys" | "catalog" | "clock">;

const ofSession = z.looseObject({ sessionKey: keyParam(), agentId: z.string().min(1).optional() });
const ofMessage = ofSession.extend({ entryId: z.string().min(1) });

/** Methods that continue a conversation at an earlier place: in the same session, or in a copy. */
export const branchMethods = (ports: Ports, hub: Hub): readonly Method[] => [
  ...branchReads(ports),
  defineMethod({
    name: "sessions.branches.switch",
    mayWait: true,
    scope: "operator.admin",
    params: ofSession.extend({ leafEntryId: z.string().min(1) }),
    result: branchAnswers.switch,
    run: async ({ sessionKey: key, leafEntryId, ...params }) => {
      requireAgent(params, key, ports);
      await requireLeaf(key, leafEntryId, ports);
      await inIdleSession(key, ports, async (session) => {
        await requireLeaf(key, leafEntryId, ports);
        await continueAt(session, leafEntryId, "branch-switch");
      });
      hub.announceSession(key, "branch-switch", ports.clock.now());
      return {};
    },
  }),
  defineMethod({
    name: "sessions.rewind",
    mayWait: true,
    scope: "operator.admin",
    params: ofMessage,
    result: branchAnswers.rewind,
    run: async ({ sessionKey: key, entryId, ...params }) => {
      requireAgent(params, key, ports);
      const editorText = await rewindTo(key, entryId, ports);
      hub.announceSession(key, "rewind", ports.clock.now());
      return { editorText };
    },
  }),
  defineMethod({
    name: "sessions.fork",
    scope: "operator.write",
    params: ofMessage,
    result: branchAnswers.fork,
    run: async ({ sessionKey: key, entryId, ...params }) => {
      requireAgent(params, key, ports);
      const turn = await personsTurn(key, entryId, ports);
      const to = newChatOf(agentOf(key, ports.catalog.defaultAgent), ports);
      await ports.sessions.fork(key, { to, until: turn.parentId, patch: { parentSessionKey: key } });
      hub.announceSession(to, "fork", ports.clock.now());
      return { sessionKey: to, editorText: entryText(turn) };
    },
  }),
];

/** Methods that show the branches of a conversation. */
const branchReads = (ports: Ports): readonly Method[] => [
  defineMethod({
    name: "sessions.branches.list",
    scope: "operator.read",
    params: ofSession,
    result: branchAnswers.list,
    run: async ({ sessionKey: key, ...params }) => {
      requireAgent(params, key, ports);
      const { branches } = await ports.sessions.tree(key);
      return { branches: branches.flatMap((branch) => showBranch(branch) ?? []) };
    },
  }),
  defineMethod({
    name: "sessions.branches.versions",
    scope: "operator.read",
    params: ofSession,
    result: branchAnswers.versions,
    run: async ({ sessionKey: key, ...params }) => {
      requireAgent(params, key, ports);
      const { branches } = await ports.sessions.tree(key);
      return { branches: branches.length, versions: versionsIn(branches) };
    },
  }),
];

/** Characters of a branch's headline. */
const HEADLINE_CHARS = 200;

/** Undefined for a conversation that begins again at its root. */
function showBranch({ leafId, isActive, messages }: ConversationBranch) {
  const [last] = messages;
  if (!last) return undefined;
  const headline = messages.map(entryText).find((text) => text !== "") ?? "";
  return {
    leafEntryId: leafId,
    headline: headline.slice(0, HEADLINE_CHARS),
    messageCount: messages.length,
    updatedAt: last.timestamp,
    active: isActive,
  };
}

/** A turn of a person, and the end of the newest branch that has it. */
interface Version {
  readonly turn: MessageEntry;
  readonly leafId: string;
}

/**
 * The turns of the active branch that have other versions: turns of people in other branches that follow the same message. `branches`:
 * the one written last first.
 */
function versionsIn(branches: readonly ConversationBranch[]) {
  const active = branches.find(({ isActive }) => isActive);
  if (!active || branches.length < 2) return [];
  const following = new Map<string | undefined, Map<string, Version>>();
  for (const { leafId, messages } of [active, ...branches])
    for (const [at, turn] of messages.entries()) {
      if (turn.message.role !== "user" || isHousekeeping(turn.message)) continue;
      const before = messages[at + 1]?.id;
      const known = following.get(before) ?? new Map<string, Version>();
      if (!known.has(turn.id)) known.set(turn.id, { turn, leafId });
      following.set(before, known);
    }
  return active.messages.toReversed().flatMap(({ id: entryId }, at, messages) => {
    const found = following.get(messages[at - 1]?.id);
    if (!found?.has(entryId) || found.size < 2) return [];
    const all = [...found.values()].toSorted((one, other) => timeOf(one) - timeOf(other));
    return [{ entryId, at: all.findIndex(({ turn }) => turn.id === entryId), leaves: all.map(({ leafId }) => leafId) }];
  });
}

const timeOf = ({ turn }: Version): number => Date.parse(turn.timestamp) || 0;

async function rewindTo(key: SessionKey, entryId: string, ports: Ports): Promise<string> {
  // A request that is refused stops no run.
  await personsTurn(key, entryId, ports);
  return inIdleSession(key, ports, async (session) => {
    const turn = await personsTurn(key, entryId, ports);
    await continueAt(session, turn.parentId, "rewind");
    return entryText(turn);
  });
}

/** Stops the session's run, and works in the session once it is free. Messages that wait get their turns afterwards. */
async function inIdleSession<T>(key: SessionKey, { chat, sessions }: Ports, work: (session: Session) => Promise<T>) {
  for (const { runId } of chat.active(key)) await chat.abort(key, runId);
  const session = await sessions.acquire(key);
  try {
    return await work(session);
  } finally {
    session.release();
  }
}

/** The entry keeps the place when the file is opened again: a conversation continues from its last line. */
async function continueAt(session: Session, entryId: string | null, why: "rewind" | "branch-switch"): Promise<void> {
  const from = session.leafId;
  session.branch(entryId);
  await session.append({ type: "custom", customType: PLACE_TYPE, data: { why, from } }, { durable: true });
  await session.update({ abortedLastRun: undefined, totalTokensFresh: undefined });
}

const invalid = (text: string): MethodError => new MethodError("INVALID_REQUEST", text);
const notFound = (text: string): MethodError => new MethodError("NOT_FOUND", text);

async function requireLeaf(key: SessionKey, leafEntryId: string, { sessions }: Ports): Promise<void> {
  const tree = await sessions.tree(key);
  if (tree.branches.some(({ leafId }) => leafId === leafEntryId)) return;
  throw invalid(
    tree.find(leafEntryId) ? `entry is not a branch tip: ${leafEntryId}` : `branch entry not found: ${leafEntryId}`,
  );
}

/** The turn of a person on the branch that is continued. */
async function personsTurn(key: SessionKey, entryId: string, { sessions, keys }: Ports): Promise<MessageEntry> {
  if (!sessions.peek(key)) throw notFound(`session not found: ${keys.wire(key)}`);
  const found = (await sessions.tree(key)).find(entryId);
  if (!found) throw notFound(`message entry not found: ${entryId}`);
  const { entry, isActive } = found;
  if (entry.type !== "message" || entry.message.role !== "user")
    throw invalid(`entry is not a user message: ${entryId}`);
  if (!isActive) throw invalid(`message entry is not on the active path: ${entryId}`);
  return entry;
}

/** The key of a chat of its own on the page, as the page's "New chat" makes it. */
export const newChatOf = (agent: AgentId, { catalog }: Pick<Ports, "catalog">): SessionKey =>
  buildKey(
    { kind: "direct", agentId: agent, channel: "webchat", account: "default", sender: randomUUID() },
    catalog.defaultAgent,
  );

/** Whether messages of a channel's people arrive in the session, who would read the copy in their answers. */
function isOfChannel(key: SessionKey, { catalog }: Pick<Ports, "catalog">): boolean {
  const parsed = parseKey(key, catalog.defaultAgent);
  if (parsed.kind === "direct" || parsed.kind === "group") return parsed.channel !== "webchat";
  return parsed.kind === "peer";
}

/** Begins a session with a copy of its parent's conversation. A turn that is not answered yet is left out. */
export async function forkParent(key: SessionKey, parent: SessionKey | undefined, patch: SessionPatch, ports: Ports) {
  const { chat, sessions, keys } = ports;
  if (parent === undefined) throw invalid("fork requires parentSessionKey");
  if (isOfChannel(key, ports))
    throw invalid(`a conversation is not copied into the chat of a channel: ${keys.wire(key)}`);
  if (sessions.peek(key)) throw new MethodError("CONFLICT", `there is a session already: ${keys.wire(key)}`);
  const active = (await sessions.tree(parent)).branches.find(({ isActive }) => isActive);
  const open = active?.messages.find(({ message }) => message.role === "user");
  const until = chat.active(parent).length > 0 ? open?.parentId : undefined;
  const entry = await sessions.fork(parent, { to: key, until, patch });
  if (!entry) throw notFound(`session not found: ${keys.wire(parent)}`);
  return { key, sessionId: entry.sessionId, entry };
}

import type { FastifyRequest } from "fastify";
import { buildKey, isSubagentKey, parseKey } from "../../sessions/keys.ts";
import type { GivenHistory } from "../../types/chat/client-ask.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { ServerPorts } from "../options.ts";
import { badRequest, type ApiError } from "./errors.ts";
import { missingAgent } from "./models.ts";

/** The conversation that a request continues. */
export interface ClientPlace {
  readonly key: SessionKey;
  /** The conversation is the client's alone, and the client sends all of it with each request. */
  readonly isAll: boolean;
  /** `user` names the conversation. */
  readonly isUsers?: true;
  /** The history that the turn compares with the conversation. */
  readonly history?: GivenHistory;
}

type Ports = Pick<ServerPorts, "catalog" | "keys">;

/** Keys of sessions that the gateway begins itself. */
const RESERVED = /^(?:subagent|cron|acp):/;

export function headerOf({ headers }: Pick<FastifyRequest, "headers">, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

interface Named {
  readonly agent: AgentId;
  /** The model's id, or the header, names the agent. */
  readonly isNamed: boolean;
  readonly user: string | undefined;
}

/**
 * The conversation that a request continues: the one that `x-openclaw-session-key` names, else the one of a conversation header,
 * else the one of `user`, unless that is an account. Undefined for a request of no conversation. Throws `MethodError` for a name
 * that cannot be a session's.
 */
export function clientPlaceOf(
  request: Pick<FastifyRequest, "headers">,
  { agent, isNamed, user }: Named,
  conversationHeaders: readonly string[],
  ports: Ports,
): ClientPlace | ApiError | undefined {
  const key = headerOf(request, "x-openclaw-session-key");
  if (key !== undefined) return namedSession(key, { agent, isNamed }, ports);
  const ofAgent = (text: string) => {
    const built = buildKey({ kind: "other", agentId: agent, text }, ports.catalog.defaultAgent);
    return ports.keys.inner(built);
  };
  const conversation = conversationHeaders
    .map((name) => headerOf(request, name.toLowerCase()))
    .find((value) => value !== undefined);
  if (conversation !== undefined) return { key: ofAgent(`openai-chat:${escaped(conversation)}`), isAll: true };
  if (user === undefined || isAccount(user, request)) return undefined;
  return { key: ofAgent(`openai:${escaped(user)}`), isAll: false, isUsers: true };
}

/** A name as a part of a key. */
const escaped = (name: string): string => name.slice(0, 256).replaceAll("%", "%25").replaceAll(":", "%3A");

function namedSession(
  text: string,
  { agent, isNamed }: Pick<Named, "agent" | "isNamed">,
  ports: Ports,
): ClientPlace | ApiError {
  const { defaultAgent } = ports.catalog;
  const param = "x-openclaw-session-key";
  if (text.length > 512) return badRequest("the session key is too long", param);
  // A key that names no agent is one of the agent's that the request asks.
  const isBare = !text.startsWith("agent:") && agent !== defaultAgent;
  const key = ports.keys.inner(isBare ? buildKey({ kind: "other", agentId: agent, text }, defaultAgent) : text);
  const parsed = parseKey(key, defaultAgent);
  const body = parsed.kind === "other" ? parsed.text : key;
  if (isSubagentKey(key) || RESERVED.test(body)) return badRequest(`the session key ${text} is reserved`, param);
  const unknown = missingAgent(parsed.agentId, param, ports.catalog);
  if (unknown) return unknown;
  if (parsed.agentId === agent) return { key, isAll: false };
  if (isNamed)
    return badRequest(`the session belongs to the agent ${parsed.agentId}, and the request asks ${agent}`, param);
  return { key, isAll: false };
}

/** Headers in which clients name the account of their user. */
const ACCOUNT_HEADERS = ["x-openwebui-user-id", "x-openwebui-user-email", "x-librechat-user-id"];

/** The ids of accounts in LibreChat, which sends one as `user` with every request of that account. */
const OBJECT_ID = /^[0-9a-f]{24}$/;

/** Whether `user` is known to name an account, whose conversations it does not tell apart. */
const isAccount = (user: string, request: Pick<FastifyRequest, "headers">): boolean =>
  OBJECT_ID.test(user) || ACCOUNT_HEADERS.some((name) => headerOf(request, name) === user);

import { dirname, join, resolve } from "node:path";
import type { HookAct } from "../../../automation/hooks/acts.ts";
import type { HooksConfig } from "../../../automation/hooks/config.ts";
import { HookDesk } from "../../../automation/hooks/desk.ts";
import type { HookPlace } from "../../../automation/hooks/hook-message.ts";
import type { WebhookPaths } from "../../../server/options.ts";
import { buildKey, parseKey, resolveAlias } from "../../../sessions/keys.ts";
import { agentId, type AgentId, type SessionKey } from "../../../types/ids.ts";
import { chatFor } from "../cron/place.ts";
import { lastChat, mainKey, type PlaceParts } from "../parts/heartbeat-place.ts";
import type { Parts } from "../parts/parts.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import { WrongCredentials } from "../../../server/transport/auth.ts";
import { countingName, type RemotePeer } from "../../../server/remote-peer.ts";
import { readBody } from "../../../server/webhooks/webhook-body.ts";
import {
  answerHook,
  mayBeAllowed,
  UNKNOWN,
  type HookAnswer,
  type HookRequest,
  type HookRequestPorts,
} from "./hook-requests.ts";

type DeskParts = Pick<Parts, "live" | "core" | "channels" | "stopping">;

/** Opens the desk that begins turns which nobody in a chat has asked for. */
export function hookDesk({ live, core, channels, stopping }: DeskParts, config: () => HooksConfig): HookDesk {
  const places: PlaceParts = { live, channels, sessions: core.sessions };
  return new HookDesk({
    clock: core.ports.clock,
    journal: core.journal,
    config,
    placeOf: (act, session) => placeOfHook(act, session, places),
    receive: (messages) => core.dispatch.receive(messages),
    signal: stopping,
  });
}

/** Answers the requests of other programs, and those of platforms by `others`. */
export function openWebhooks(parts: DeskParts & Pick<Parts, "log">, others: WebhookPaths): WebhookPaths {
  const { live, core, log } = parts;
  const { clock } = core.ports;
  const config = () => live.config.hooks;
  const desk = hookDesk(parts, config);
  const folder = dirname(live.paths.configPath);
  const dir = () => resolve(folder, config().transformsDir ?? join("hooks", "transforms"));
  const hasAgent = (id: string) => live.agents.some((one) => one.id === id);
  return new HookPaths({ desk, clock, log, config, hasAgent, transforms: { clock, dir } }, others);
}

/**
 * The conversation in which the turn of a request runs and the chat to which it reports; a text is the reason why it
 * cannot.
 */
async function placeOfHook(act: HookAct, session: string | undefined, parts: PlaceParts): Promise<HookPlace | string> {
  const { id: defaultAgent } = parts.live.defaultAgent;
  const agent = agentId(act.agentId ?? defaultAgent);
  const sessionKey = session === undefined ? undefined : keyIn(session, agent, defaultAgent);
  const why = sessionKey === undefined ? undefined : whyNotIn(sessionKey, act, parts);
  if (why !== undefined) return why;
  if (act.kind === "wake") return placeOfWake(agent, sessionKey, parts);
  const key = sessionKey ?? keyIn("hook", agent, defaultAgent);
  if (!act.deliver) return { sessionKey: key };
  const { found, problem } = await chatFor(
    { channel: act.channel, to: act.to, accountId: act.accountId },
    { agent, origin: undefined },
    parts,
  );
  // Nobody may have written yet: the answer is in the transcript then. A chat that was named must be there.
  if (!found && act.to !== undefined) return problem ?? "there is no such chat";
  return { sessionKey: key, ...(found && { to: found.to }) };
}

/** The session key of a text. A text without an agent is a key of the agent that the request is for. */
function keyIn(text: string, agent: AgentId, defaultAgent: AgentId): SessionKey {
  const key = text.startsWith("agent:") ? text : buildKey({ kind: "other", agentId: agent, text }, defaultAgent);
  return resolveAlias(key, defaultAgent);
}

async function placeOfWake(agent: AgentId, sessionKey: SessionKey | undefined, parts: PlaceParts): Promise<HookPlace> {
  const { found } = await lastChat(agent, undefined, parts);
  if (sessionKey !== undefined) return { sessionKey, ...(found && { to: found.to }) };
  return found && found.to.channel !== "webchat"
    ? { sessionKey: found.key, to: found.to }
    : { sessionKey: mainKey(agent, parts.live.defaultAgent.id) };
}

/**
 * The reason why a conversation that a request or a template names may not have the turn; undefined when it may. The
 * conversation's key chooses the agent, too.
 */
function whyNotIn(
  key: SessionKey,
  { agentId: wanted }: HookAct,
  { live }: Pick<PlaceParts, "live">,
): string | undefined {
  const { kind, agentId: own } = parseKey(key, live.defaultAgent.id);
  if (kind === "subagent") return "sessionKey: it is that of a subagent";
  if (wanted !== undefined) return own === wanted ? undefined : "sessionKey: it belongs to another agent than agentId";
  if (own === live.defaultAgent.id) return undefined;
  const { allowedAgentIds: ids } = live.config.hooks;
  if (ids && !ids.includes("*") && !ids.includes(own)) return "sessionKey: its agent is none of hooks.allowedAgentIds";
  return live.agents.some(({ id }) => id === own) ? undefined : "sessionKey: there is no such agent";
}

/** Wrong tokens of one sender after which the sender is locked out. */
const GUESSES = { maxAttempts: 20, windowMs: 60_000, lockoutMs: 60_000 };
const READ_MS = 30_000;
/** Most requests that are in work at once; each has its body in memory. */
const MOST_AT_ONCE = 64;
const BEGINS = new AbortController().signal;

/** Answers the requests of other programs below `hooks.path`. Requests to a channel's own path go to `others`. */
class HookPaths implements WebhookPaths {
  readonly #ports: HookRequestPorts;
  readonly #others: WebhookPaths;
  readonly #guesses: WrongCredentials;
  #open = 0;

  constructor(ports: HookRequestPorts, others: WebhookPaths) {
    this.#ports = ports;
    this.#others = others;
    this.#guesses = new WrongCredentials(GUESSES, ports.clock);
  }

  has(path: string): boolean {
    return this.#others.has(path) || this.#nameOf(path) !== undefined;
  }

  async take(path: string, request: IncomingMessage, response: ServerResponse, peer: RemotePeer): Promise<void> {
    if (this.#others.has(path)) return this.#others.take(path, request, response, peer);
    const answer = await this.#answer(path, request, countingName(peer));
    send(answer, request, response);
  }

  #nameOf(path: string): string | undefined {
    const { enabled, path: base } = this.#ports.config();
    return enabled && path.startsWith(`${base}/`) ? path.slice(base.length + 1) : undefined;
  }

  async #answer(path: string, request: IncomingMessage, sender: string): Promise<Sent> {
    const name = this.#nameOf(path) ?? "";
    const headers = headersOf(request);
    const asked = { headers, name, isLocked: this.#guesses.lockedFor(sender) > 0 };
    const early = this.#refusedEarly(request) ?? this.#refusedUnread(asked, sender);
    if (early) return early;
    this.#open += 1;
    try {
      return await this.#answerRead(asked, request, sender);
    } catch (error) {
      this.#ports.log.error("a request of a hook failed", { path, error });
      return fail(503, "it could not be stored; send it again", { "retry-after": "5" });
    } finally {
      this.#open -= 1;
    }
  }

  #refusedEarly(request: IncomingMessage): Sent | undefined {
    if (request.method !== "POST") return fail(405, "send it with POST", { allow: "POST" });
    const { searchParams } = new URL(request.url ?? "/", "http://gateway");
    if (searchParams.has("token")) return fail(400, "send the token in a header: addresses are written into logs");
    return this.#open >= MOST_AT_ONCE ? fail(503, "too many requests at once", { "retry-after": "5" }) : undefined;
  }

  /**
   * The refusal before the body is read: nobody without the token keeps a place for the time that a slow body takes.
   */
  #refusedUnread(asked: Asked, sender: string): Sent | undefined {
    return mayBeAllowed(asked, this.#ports.config()) ? undefined : this.#refused(sender);
  }

  /** The answer to a wrong token. A locked sender does not learn whether its token is right. */
  #refused(sender: string): Sent {
    const lockedMs = this.#guesses.lockedFor(sender);
    if (lockedMs > 0)
      return fail(429, "too many wrong tokens; try again later", { "retry-after": String(Math.ceil(lockedMs / 1000)) });
    this.#guesses.fail(sender);
    return UNKNOWN;
  }

  async #answerRead(given: Asked, request: IncomingMessage, sender: string): Promise<Sent> {
    const { clock, config } = this.#ports;
    const read = await readBody(request, clock, BEGINS, { mostBytes: config().maxBodyBytes, readMs: READ_MS });
    if (read.kind === "refused") return fail(read.status, "the body is too large, too slow or cut off");
    const { searchParams } = new URL(request.url ?? "/", "http://gateway");
    const query = Object.fromEntries(searchParams);
    const answer = await answerHook({ ...given, method: "POST", query, body: read.body }, this.#ports);
    return answer.status === 401 ? this.#refused(sender) : answer;
  }
}

type Asked = Pick<HookRequest, "headers" | "name" | "isLocked">;

function headersOf(request: IncomingMessage): Asked["headers"] {
  const given = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as const],
  );
  return Object.fromEntries(given);
}

interface Sent extends HookAnswer {
  readonly headers?: Readonly<Record<string, string>>;
}

const fail = (status: number, error: string, headers: Readonly<Record<string, string>> = {}): Sent => ({
  status,
  body: { ok: false, error },
  headers,
});

function send({ status, body, headers = {} }: Sent, request: IncomingMessage, response: ServerResponse): void {
  const bytes = Buffer.from(status === 204 ? "" : JSON.stringify(body), "utf8");
  // The unread rest of a body would be taken for the next request.
  const ends: Record<string, string> = request.complete ? {} : { connection: "close" };
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(status !== 204 && { "content-length": String(bytes.byteLength) }),
    ...headers,
    ...ends,
  });
  response.end(bytes);
}

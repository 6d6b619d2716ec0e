import { randomUUID } from "node:crypto";
import { agentId, runId, type AgentId } from "../../types/ids.ts";
import type { RunStream } from "../../types/run/events.ts";
import { buildKey } from "../../sessions/keys.ts";
import { storeAttachments } from "../methods/attachments.ts";
import { background } from "../../utils/background.ts";
import type { Catalog, ServerPorts } from "../options.ts";
import { findRun } from "../events/runs.ts";
import type { CompletionRequest } from "./request.ts";
import { seedFrom, textOf } from "./seed.ts";

export type StartPorts = Pick<ServerPorts, "chat" | "media" | "resolveSessionKey" | "catalog" | "clock">;

/**
 * Begins the run that answers a request: a stateless one, or a turn of the session that `user` names. The run is aborted
 * with the signal. Undefined when the signal aborts before the run begins.
 */
export async function startRun(
  request: CompletionRequest,
  agent: AgentId,
  ports: StartPorts,
  signal: AbortSignal,
): Promise<RunStream | undefined> {
  if (request.user) return startInSession({ ...request, user: request.user }, agent, ports, signal);
  const seed = seedFrom(request.messages, ports.clock.now());
  return ports.chat.oneShot({ agentId: agent, ...seed, idempotencyKey: `openai-${randomUUID()}`, signal });
}

async function startInSession(
  request: CompletionRequest & { readonly user: string },
  agent: AgentId,
  ports: StartPorts,
  signal: AbortSignal,
): Promise<RunStream | undefined> {
  const text = `openai:${request.user.replaceAll("%", "%25").replaceAll(":", "%3A")}`;
  const sessionKey = ports.resolveSessionKey(
    buildKey({ kind: "other", agentId: agent, text }, ports.catalog.defaultAgent),
  );
  const content = request.messages.at(-1)?.content ?? "";
  const images = Array.isArray(content)
    ? content.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []))
    : [];
  const media = await storeAttachments(
    images.map((url) => ({ type: "image", content: url })),
    ports.media,
  );
  const id = runId(`openai-${randomUUID()}`);
  // The client has disconnected. If the abort fails, nobody waits for the result, and the run ends at its own time limit.
  const abort = () => background("abort after a client left", ports.chat.abort(sessionKey, id));
  signal.addEventListener("abort", abort, { once: true });
  const sent = await ports.chat.send({ sessionKey, text: textOf(content), media, idempotencyKey: id });
  const stream = await findRun(ports.chat, sent.runId, signal);
  // Work after the answer, such as a compaction, continues when the client disconnects.
  if (stream) {
    background(
      "release of a client's abort",
      stream.done.then(() => signal.removeEventListener("abort", abort)),
    );
  }
  return stream;
}

/** Undefined when the gateway has no such agent. */
export function findAgent(asked: string | undefined, { agents, defaultAgent }: Catalog): AgentId | undefined {
  if (asked === undefined) return defaultAgent;
  const wanted = agentId(asked);
  return agents().some(({ id }) => id === wanted) ? wanted : undefined;
}

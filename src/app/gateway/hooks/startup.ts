import { isFields } from "../../../utils/fields.ts";
import type { Parts } from "../parts.ts";
import { hookDesk } from "./open-hooks.ts";

type StartParts = Pick<Parts, "live" | "core" | "channels" | "stopping" | "startedAt">;

/**
 * The context of `gateway:startup`: the agents with their workspaces, and a function that begins a turn of one, whose answer the
 * owner gets.
 */
export function startupFacts(parts: StartParts): Readonly<Record<string, unknown>> {
  const { live, channels, startedAt } = parts;
  const config = () => ({ ...live.config.hooks, allowedSessionKeyPrefixes: [] });
  const desk = hookDesk(parts, config);
  const beginTurn = async (asked: unknown): Promise<boolean> => {
    // With another gateway on the same chats, this one sends nothing on its own.
    if (channels.held !== undefined) return false;
    const { name, agentId, message } = readTurn(asked);
    const place = { agentId, sessionKey: name, sessionMode: "isolated" as const, deliver: true };
    const act = { kind: "agent" as const, name, message, ...place, isTrusted: true, isOwn: true as const };
    // Each start has a turn of its own, which the journal keeps until it has ended.
    const begun = await desk.begin([act], [name, agentId, startedAt].join("\n"));
    if ("error" in begun) throw new Error(begun.error);
    return true;
  };
  return {
    workspaceDir: live.defaultAgent.workspace,
    agents: live.agents.map(({ id, workspace }) => ({ agentId: id, workspaceDir: workspace })),
    beginTurn,
  };
}

function readTurn(asked: unknown) {
  const { name, agentId, message } = isFields(asked) ? asked : {};
  if (typeof name === "string" && typeof agentId === "string" && typeof message === "string")
    return { name, agentId, message };
  throw new Error("beginTurn needs a name, an agentId and a message");
}

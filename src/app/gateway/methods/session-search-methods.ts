import { z } from "zod";
import { searchSessions } from "../../../automation/talk/search.ts";
import { agentOf } from "../../../sessions/keys.ts";
import { keyParam } from "../../../types/key-field.ts";
import type { AgentId } from "../../../types/ids.ts";
import { isArchived } from "../../../sessions/rows/row.ts";
import { shownTitle } from "../../../sessions/shown/title.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import type { SessionRow } from "../../../types/session.ts";
import { sessionHits } from "../../../types/subagent/search.ts";
import { defined } from "../../../utils/defined.ts";
import type { Parts } from "../parts/parts.ts";

const listed = z.looseObject({
  agentId: z.string().min(1).optional(),
  label: z.string().min(1).optional(),
  spawnedBy: keyParam().optional(),
  archived: z.union([z.boolean(), z.literal("all")]).optional(),
});

function rowOf({ key, entry }: SessionRow, defaultAgent: AgentId) {
  const { sessionId, updatedAt, chatType = "direct", label, displayName, channel } = entry;
  const kind = chatType === "direct" ? "direct" : "group";
  const named = defined({ label, displayName: shownTitle({ displayName }), channel });
  return { key, kind, agentId: agentOf(key, defaultAgent), chatType, sessionId, updatedAt, ...named };
}

/** Finds what was said in the conversations of this gateway. */
export const sessionSearchMethods = ({ live, core, stopping }: Parts): readonly Method[] => [
  defineMethod({
    name: "sessions.search",
    scope: "operator.read",
    params: z.looseObject({
      query: z.string().min(1).max(4096),
      agentId: z.string().min(1).optional(),
      sessionKeys: z.array(keyParam()).min(1).max(200).optional(),
      limit: z.int().min(1).max(25).default(10),
      /** The list in which a client shows what was found; the answer then has the rows of it. */
      scope: listed.optional(),
    }),
    result: sessionHits,
    run: async ({ query, agentId, sessionKeys, limit, scope }) => {
      const defaultAgent = live.defaultAgent.id;
      const wanted = sessionKeys && new Set(sessionKeys);
      const agents = [agentId, scope?.agentId].filter((one) => one !== undefined);
      const rows = [...core.sessions.newest()].filter(
        ({ key, entry }) =>
          (wanted?.has(key) ?? true) &&
          agents.every((one) => agentOf(key, defaultAgent) === one) &&
          (scope?.label === undefined || entry.label === scope.label) &&
          (scope?.spawnedBy === undefined || entry.spawnedBy === scope.spawnedBy) &&
          (typeof scope?.archived !== "boolean" || isArchived(entry) === scope.archived),
      );
      const hits = await searchSessions({ query, limit, signal: stopping }, rows, core.sessions);
      if (!scope) return hits;
      const found = new Set<string>(hits.results.map((hit) => hit.sessionKey));
      const sessions = rows.filter(({ key }) => found.has(key)).map((row) => rowOf(row, defaultAgent));
      return { ...hits, sessions };
    },
  }),
];

import { z } from "zod";
import { searchSessions } from "../../../automation/talk/search.ts";
import { agentOf } from "../../../sessions/keys.ts";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { sessionHits } from "../../../types/subagent/search.ts";
import type { Parts } from "../parts/parts.ts";

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
    }),
    result: sessionHits,
    run: async ({ query, agentId, sessionKeys, limit }) => {
      const defaultAgent = live.defaultAgent.id;
      const wanted = sessionKeys && new Set(sessionKeys);
      const rows = [...core.sessions.newest()].filter(
        ({ key }) => (wanted?.has(key) ?? true) && (agentId === undefined || agentOf(key, defaultAgent) === agentId),
      );
      return searchSessions({ query, limit, signal: stopping }, rows, core.sessions);
    },
  }),
];

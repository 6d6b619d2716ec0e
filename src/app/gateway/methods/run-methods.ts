import { z } from "zod";
import { agentOf } from "../../../sessions/keys.ts";
import { fileOf } from "../../../sessions/rows/row.ts";
import { runAnswers } from "../../../types/answers/runs.ts";
import { ofAgent } from "../../../types/run/agent-filter.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { listRuns, showPrompt, showRun } from "../../runs/list.ts";
import type { RunPlace } from "../../runs/prompt.ts";
import type { Parts } from "../parts/parts.ts";
import { auditMethods } from "./audit-methods.ts";

const oneRun = z.looseObject({ runId: z.string().min(1) });

/** The protocol's methods that show runs. */
export function runMethods(parts: Parts): readonly Method[] {
  const place = placeOf(parts);
  return [
    ...auditMethods(parts),
    defineMethod({
      name: "runs.list",
      scope: "operator.read",
      params: z.looseObject({
        limit: z.int().min(1).max(1000).default(20),
        sessionKey: keyParam().optional(),
        agentId: z.string().min(1).optional(),
        failed: z.boolean().optional(),
      }),
      result: runAnswers.list,
      run: ({ limit, sessionKey, agentId, failed: isFailed }) =>
        listRuns(place, limit, { sessionKey, isFailed, ...ofAgent(agentId, parts.live.defaultAgent.id) }),
    }),
    defineMethod({
      name: "runs.get",
      scope: "operator.read",
      params: oneRun,
      result: runAnswers.get,
      run: ({ runId }) => answered(showRun(place, runId)),
    }),
    defineMethod({
      name: "runs.prompt",
      scope: "operator.read",
      params: oneRun,
      result: runAnswers.prompt,
      run: ({ runId }) => answered(showPrompt(place, runId)),
    }),
  ];
}

function placeOf({ core, live }: Parts): RunPlace {
  const dir = live.paths.sessionsDir;
  return {
    journal: core.journal,
    sessionsDir: dir,
    async currentFile(key) {
      const entry = core.sessions.peek(key);
      return entry && fileOf(entry, dir);
    },
    pruningOf: (key) => live.agents.find(({ id }) => id === agentOf(key, live.defaultAgent.id))?.pruning,
  };
}

/** Converts an operator's error to an error of the protocol. */
export async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    const details = { fix: error.fix };
    if (error.code === "NOT_FOUND") throw new MethodError("NOT_FOUND", error.message, { details });
    if (error.code === "USAGE") throw new MethodError("INVALID_REQUEST", error.message, { details });
    throw error;
  }
}

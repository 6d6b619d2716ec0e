import { existsSync } from "node:fs";
import { homedir } from "node:os";
import type { z } from "zod";
import { agentOf, resolveAlias } from "../../../../sessions/keys.ts";
import { openJournalToRead, type RunSource } from "../../../../store/journal/read-only.ts";
import { ofAgent } from "../../../../types/run/agent-filter.ts";
import { defined } from "../../../../utils/defined.ts";
import { journalPath } from "../../../config/paths.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { listRuns, showPrompt, showRun } from "../../../runs/list.ts";
import type { RunPlace } from "../../../runs/prompt.ts";
import { runAnswers, type RunLine, type ShownPrompt, type WholeRun } from "../../../../types/answers/runs.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import { answerHere, readState, type State } from "../../state.ts";
import { readStoredSessions } from "../sessions/session-files.ts";

export interface RunsAsked {
  readonly session?: string;
  readonly agent?: string;
  readonly failed?: boolean;
  readonly limit: number;
}

/** Runs, the latest first: the gateway's answer, or the journal's when none runs. */
export async function readRuns(io: Io, { session, agent, failed, limit }: RunsAsked): Promise<readonly RunLine[]> {
  const found = await ask(io, {
    method: "runs.list",
    params: { limit, ...defined({ sessionKey: session, agentId: agent }), ...(failed === true && { failed }) },
    shape: runAnswers.list,
    here: (place, defaultAgent) =>
      listRuns(place, limit, {
        sessionKey: session === undefined ? undefined : resolveAlias(session, defaultAgent),
        isFailed: failed,
        ...ofAgent(agent, defaultAgent),
      }),
  });
  return found.runs;
}

/** One run. Throws NOT_FOUND, and USAGE when several ids begin with the given text. */
export const readRun = (io: Io, id: string): Promise<WholeRun> =>
  ask(io, { method: "runs.get", params: { runId: id }, shape: runAnswers.get, here: (place) => showRun(place, id) });

/** The prompt of a run. Throws as `readRun`, and NOT_FOUND when the prompt was not kept. */
export const readPrompt = (io: Io, id: string): Promise<ShownPrompt> =>
  ask(io, {
    method: "runs.prompt",
    params: { runId: id },
    shape: runAnswers.prompt,
    here: (place) => showPrompt(place, id),
  });

interface Question<T> {
  readonly method: string;
  readonly params: object;
  readonly shape: z.ZodType<T>;
  here(place: RunPlace, defaultAgent: ReturnType<typeof agentsOf>[number]["id"]): Promise<unknown>;
}

async function ask<T>(io: Io, question: Question<T>): Promise<T> {
  const state = await readState(io);
  if (hasGateway(io, state)) return callOnce(io, state, question);
  const path = journalPath(state.paths);
  const journal = existsSync(path) ? await openJournalToRead(path) : EMPTY;
  const [first] = agentsOf(state);
  if (!first) throw new Error("there is always an agent");
  try {
    return answerHere(question.shape, await question.here(placeOf(journal, state), first.id), state);
  } finally {
    await journal.close();
  }
}

function placeOf(journal: RunSource, state: State): RunPlace {
  const agents = agentsOf(state);
  return {
    journal,
    sessionsDir: state.paths.sessionsDir,
    currentFile: async (key) => (await readStoredSessions(state)).find((session) => session.key === key)?.file,
    pruningOf: (key) => agents.find(({ id }) => id === agentOf(key, agents[0]?.id))?.pruning,
  };
}

const agentsOf = ({ config, paths }: State) => resolveAgents(config, { home: homedir(), stateDir: paths.stateDir });

/** A state directory without runs. */
const EMPTY = {
  runs: { recent: async () => [], find: async () => undefined, beginningWith: async () => [] },
  inbox: { ofRun: async () => [] },
  outbox: { ofRun: async () => [] },
  texts: { get: async () => undefined },
  close: async () => undefined,
};

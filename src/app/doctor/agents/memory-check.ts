import { homedir } from "node:os";
import { changesFileOf, unreadableChanges } from "../../../../extensions/memory-core/changes.ts";
import { embed } from "../../../../extensions/memory-core/index/embeddings.ts";
import type { VectorSettings } from "../../../../extensions/memory-core/job.ts";
import { Memory } from "../../../../extensions/memory-core/memory.ts";
import { leftOutNotes } from "../../../../extensions/memory-core/notes.ts";
import type { Check, CheckResult } from "../../../types/check.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import type { StatePaths } from "../../config/paths.ts";
import type { Config } from "../../config/schema/schema.ts";
import { resolveAgents } from "../../config/settings.ts";
import type { Env } from "../../../utils/env.ts";

/** The slot's name of the memory that these checks know. */
const OWN = "memory-core";
/** Milliseconds for one answer of an endpoint. */
const ENDPOINT_MS = 4000;
/** Most notes that a result names. */
const NAMED = 3;

interface Scene {
  readonly config: Config;
  readonly paths: Pick<StatePaths, "stateDir">;
  readonly env: Env;
}

/**
 * Whether agents find their notes: the endpoint of vectors answers, no note is left out, and the origins can be read.
 */
export function memoryCheck({ config, paths, env }: Scene): Check {
  return {
    id: "app.memory",
    title: "Memory",
    timeoutMs: ENDPOINT_MS + 2000,
    async run() {
      const { memory: slot } = config.plugins.slots;
      if (slot !== OWN) return [{ status: "ok", message: `The memory is ${slot}.` }];
      const all = resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });
      const agents = all.filter(({ memorySearch }) => memorySearch?.isOn !== false);
      const found = await Promise.all(agents.map((agent) => checkAgent(agent, new Memory(paths.stateDir))));
      const problems = found.flat();
      return problems.length > 0 ? problems : [{ status: "ok", message: okText(agents) }];
    },
  };
}

function okText(agents: readonly AgentSettings[]): string {
  const models = [...new Set(agents.flatMap(({ memorySearch }) => memorySearch?.vectors?.model ?? []))];
  const how = models.length === 0 ? "by their words" : `by their words and the vectors of ${models.join(", ")}`;
  return agents.length === 0 ? "No agent searches its notes." : `Agents find their notes ${how}.`;
}

async function checkAgent(agent: AgentSettings, memory: Memory): Promise<readonly CheckResult[]> {
  const place = memory.placeOf(agent);
  const problem = agent.memorySearch?.vectorsProblem;
  return [
    ...(problem === undefined ? [] : [misconfigured(agent.id, problem)]),
    ...(place.vectors ? await checkEndpoint(agent.id, place.vectors) : []),
    ...checkNotes(agent),
    ...checkOrigins(agent.id, changesFileOf(place.db)),
  ];
}

const misconfigured = (id: string, problem: string): CheckResult => ({
  status: "fail",
  message: `Agent "${id}" compares words alone: ${problem}.`,
  fix: "Set that key, or set memorySearch.provider to none.",
});

/** Sends one word to the endpoint of vectors. */
async function checkEndpoint(id: string, settings: VectorSettings): Promise<readonly CheckResult[]> {
  try {
    await embed(settings, ["test"], { kind: "query", ms: ENDPOINT_MS });
    return [];
  } catch (error) {
    return [
      {
        status: "warn",
        message: `Agent "${id}" compares words alone, because ${settings.model} gives no vectors: ${errorText(error)}.`,
        fix: `Start the server at ${new URL(settings.url).host}, or mend memorySearch.remote and memorySearch.model.`,
      },
    ];
  }
}

function checkNotes({ id, workspace }: AgentSettings): readonly CheckResult[] {
  const left = leftOutNotes(workspace);
  if (left.length === 0) return [];
  const more = left.length > NAMED ? ` and ${left.length - NAMED} more` : "";
  return [
    {
      status: "warn",
      message: `Agent "${id}" does not find ${left.slice(0, NAMED).join(", ")}${more}: links, files of more than 4 MB and what cannot be read are left out.`,
      fix: "Put the file itself there, or split it.",
    },
  ];
}

function checkOrigins(id: string, file: string): readonly CheckResult[] {
  const unreadable = unreadableChanges(file);
  if (unreadable === 0) return [];
  return [
    {
      status: "warn",
      message: `${unreadable} lines of ${file} cannot be read, so the origins of some notes of agent "${id}" are not known.`,
      fix: "Restore the file from a backup, or delete these lines.",
    },
  ];
}

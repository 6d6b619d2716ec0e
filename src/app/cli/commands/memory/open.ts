import { homedir } from "node:os";
import type { JobAnswer, MemoryPlace } from "../../../../../extensions/memory-core/job.ts";
import { Memory, type JobOutcome } from "../../../../../extensions/memory-core/memory.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { resolveAgents } from "../../../config/settings.ts";
import type { Io } from "../../io.ts";
import { requireState } from "../../state.ts";

/** The memory whose index these commands show. */
const OWN = "memory-core";

export interface MemoryFlags {
  readonly agent?: string;
  readonly json?: boolean;
}

interface OpenMemory {
  readonly memory: Memory;
  readonly agent: AgentSettings;
  readonly place: MemoryPlace;
}

/** The memory of the agent that the flags name, else of the default one. Throws NOT_FOUND. */
export async function openFor(io: Io, { agent: id }: MemoryFlags): Promise<OpenMemory> {
  const { config, paths } = await requireState(io);
  const agents = resolveAgents(config, { home: io.env["HOME"] ?? homedir(), stateDir: paths.stateDir });
  const agent = id === undefined ? agents[0] : agents.find((one) => one.id === id);
  if (!agent) {
    throw new OpenClawError("NOT_FOUND", {
      message: `There is no agent ${id}.`,
      fix: `The agents are: ${agents.map((one) => one.id).join(", ")}.`,
    });
  }
  const { memory: slot } = config.plugins.slots;
  if (slot !== OWN)
    io.err(`plugins.slots.memory is ${slot}, so that no agent searches this index, which is that of ${OWN}.\n`);
  const memory = new Memory(paths.stateDir);
  return { memory, agent, place: memory.placeOf(agent) };
}

export function jobAnswer(outcome: JobOutcome): JobAnswer {
  if ("failed" in outcome) throw new Error(`the index cannot be used: ${outcome.failed}`);
  return outcome;
}

import { z } from "zod";
import type { NoteRecord } from "../../../../extensions/memory-core/changes.ts";
import { degradedIn } from "../../../../extensions/memory-core/degraded.ts";
import type { JobAnswer } from "../../../../extensions/memory-core/job.ts";
import type { JobOutcome, Memory } from "../../../../extensions/memory-core/memory.ts";
import { readNoteText } from "../../../../extensions/memory-core/notes.ts";
import { memoryAnswers, type MemoryState } from "../../../types/answers/memory.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { defined } from "../../../utils/defined.ts";
import { forgetLines } from "../../agents/forget-lines.ts";
import { agentCalled } from "../parts/agent-called.ts";
import type { Parts } from "../parts/parts.ts";

const NO_PHASE = { enabled: false, cron: "", managedCronPresent: false };

/** Nothing goes over the notes at night here; without this the Control UI tells that something does. */
const NO_DREAMING = {
  enabled: false,
  verboseLogging: false,
  storageMode: "separate",
  separateReports: false,
  shortTermEntries: [],
  signalEntries: [],
  promotedEntries: [],
  phases: { light: NO_PHASE, deep: NO_PHASE, rem: NO_PHASE },
  shortTermCount: 0,
  recallSignalCount: 0,
  dailySignalCount: 0,
  groundedSignalCount: 0,
  totalSignalCount: 0,
  phaseSignalCount: 0,
  lightPhaseHitCount: 0,
  remPhaseHitCount: 0,
  promotedTotal: 0,
  promotedToday: 0,
};

const UNCHECKED = "run `openclaw memory status --deep` to check the memory";
const OWN = "memory-core";
/** Lines of a note in one answer. */
const MOST_LINES = 2000;

const agentId = z.string().min(1).max(200).optional();
const path = z.string().min(1).max(4096);
const line = z.int().min(1);

/** What the methods need: the agents, and their memory once it is asked for. */
interface Ports extends Pick<Parts, "live"> {
  readonly memory: () => Promise<Memory>;
}

/** The methods that show what an agent remembers and where it comes from. No request for vectors is made for them. */
export function memoryMethods({ live }: Pick<Parts, "live">): readonly Method[] {
  let memory: Promise<Memory> | undefined;
  const made = async (): Promise<Memory> =>
    new (await import("../../../../extensions/memory-core/memory.ts")).Memory(live.paths.stateDir);
  const ports: Ports = { live, memory: () => (memory ??= made()) };
  return [statusMethod(ports), ...noteMethods(ports), forgetMethod(ports)];
}

const statusMethod = (ports: Ports): Method =>
  defineMethod({
    name: "doctor.memory.status",
    scope: "operator.read",
    params: z.looseObject({ agentId }),
    result: memoryAnswers.status,
    run: async (asked) => {
      const agent = agentCalled(asked.agentId, ports);
      const index = await stateOf(agent, ports);
      const ok = index.vectors !== undefined && index.degraded === undefined;
      const error = index.off ?? index.failed ?? index.degraded ?? UNCHECKED;
      return {
        agentId: agent.id,
        ...(index.vectors && { provider: index.vectors.model.split("/")[0] }),
        embedding: { ok, checked: false, ...(!ok && { error }) },
        dreaming: NO_DREAMING,
        index,
      };
    },
  });

async function stateOf(agent: AgentSettings, ports: Ports): Promise<MemoryState> {
  const off = offOf(agent, ports);
  if (off) return off;
  const memory = await ports.memory();
  const outcome = await memory.status(memory.placeOf(agent));
  if ("failed" in outcome) return { failed: outcome.failed, fix: `openclaw memory index --force --agent ${agent.id}` };
  const { files, conversations, chunks, pending, syncedAt } = outcome.state;
  const degraded = degradedIn({ ...outcome, vectorsProblem: agent.memorySearch?.vectorsProblem });
  const { vectors } = outcome;
  return {
    files,
    conversations,
    chunks,
    pending,
    syncedAt,
    ...(degraded !== undefined && { degraded, fix: `openclaw memory status --index --deep --agent ${agent.id}` }),
    ...(vectors && { vectors: { model: `${vectors.provider}/${vectors.model}`, pending: vectors.pending } }),
  };
}

/** Why the agent does not search this index, and the command that lets it; undefined when it does. */
function offOf({ id, memorySearch }: AgentSettings, { live }: Ports): Pick<MemoryState, "off" | "fix"> | undefined {
  const { plugins, agents } = live.config;
  const { memory: slot } = plugins.slots;
  const off =
    slot === "none"
      ? "no memory is in use: plugins.slots.memory is none"
      : `the plugin ${slot} is the memory, as plugins.slots.memory says`;
  if (slot !== OWN) return { off, fix: `openclaw config set plugins.slots.memory ${OWN}` };
  if (memorySearch?.isOn !== false) return undefined;
  const own = agents.list.findIndex((entry) => entry.id === id && entry.memorySearch?.enabled === false);
  const key = `${own < 0 ? "agents.defaults" : `agents.list[${own}]`}.memorySearch.enabled`;
  return { off: `the agent may not search its notes: ${key} is false`, fix: `openclaw config set ${key} true` };
}

const noteMethods = (ports: Ports): readonly Method[] => [
  defineMethod({
    name: "memory.notes",
    scope: "operator.read",
    params: z.looseObject({ agentId }),
    result: memoryAnswers.notes,
    run: async (asked) => {
      const agent = agentCalled(asked.agentId, ports);
      const memory = await ports.memory();
      const { notes = [] } = answered(await memory.notes(memory.placeOf(agent)));
      return { agentId: agent.id, notes: notes.map(({ version: _version, ...note }) => note) };
    },
  }),
  defineMethod({
    name: "memory.note",
    scope: "operator.read",
    params: z.looseObject({
      agentId,
      path,
      from: line.default(1),
      lines: line.max(MOST_LINES).default(MOST_LINES),
    }),
    result: memoryAnswers.note,
    run: async ({ path: asked, from, lines: most, ...of }) => {
      const agent = agentCalled(of.agentId, ports);
      const memory = await ports.memory();
      const { written } = answered(await memory.lines(memory.placeOf(agent), asked, { from, most }));
      if (!written) throw noNote(asked);
      const records = [...new Set(written.lines.flatMap(({ record }) => record ?? []))];
      const lines = written.lines.map(({ text, record }) => ({
        text,
        ...(record && { origin: records.indexOf(record) }),
      }));
      return { agentId: agent.id, path: asked, from, total: written.total, lines, origins: records.map(originOf) };
    },
  }),
];

const originOf = ({ at, origin, by, tool, sources, session, run, added }: NoteRecord) => ({
  at,
  origin,
  by,
  tool,
  ...defined({ sources, sessionKey: session, runId: run }),
  ...(added === undefined && { isGuess: true }),
});

const forgetMethod = (ports: Ports): Method =>
  defineMethod({
    name: "memory.forget",
    scope: "operator.admin",
    // The text of the line, as it was shown, keeps another line from being removed in its place.
    params: z.looseObject({ agentId, path, line, text: z.string() }),
    result: memoryAnswers.forget,
    run: async ({ path: asked, line: number, text, ...of }) => {
      const agent = agentCalled(of.agentId, ports);
      const place = (await ports.memory()).placeOf(agent);
      const all = readNoteText(place, asked)?.split("\n");
      if (!all) throw noNote(asked);
      if (all[number - 1] !== text || !(await forgotten(place, { path: asked, all, gone: [number] })))
        throw new MethodError("CONFLICT", `${asked} was changed since it was read: line ${number} is another one now`);
      return { agentId: agent.id, path: asked, line: number };
    },
  });

const forgotten: typeof forgetLines = async (place, lines) => {
  try {
    return await forgetLines(place, lines);
  } catch (error) {
    throw error instanceof OpenClawError ? new MethodError("UNAVAILABLE", withFix(error)) : error;
  }
};

const noNote = (asked: string): MethodError => new MethodError("NOT_FOUND", `there is no note "${asked}"`);

function answered(outcome: JobOutcome): JobAnswer {
  if ("failed" in outcome) throw new MethodError("UNAVAILABLE", `the notes cannot be read: ${outcome.failed}`);
  return outcome;
}

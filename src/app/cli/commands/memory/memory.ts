import { degradedIn } from "../../../../../extensions/memory-core/degraded.ts";
import type { JobAnswer, MemoryPlace } from "../../../../../extensions/memory-core/job.ts";
import { embed } from "../../../../../extensions/memory-core/index/embeddings.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { jobAnswer, openFor, type MemoryFlags } from "./open.ts";

export interface IndexFlags extends MemoryFlags {
  readonly force?: boolean;
}

export interface SearchFlags extends MemoryFlags {
  readonly limit?: number;
  /** `limit` by its other name. */
  readonly maxResults?: number;
}

export interface MemoryStatusFlags extends MemoryFlags {
  readonly deep?: boolean;
  readonly index?: boolean;
}

/** Prints the state of the index as it is; with `index`, after it was completed. `deep` asks the endpoint for a vector. */
export async function memoryStatus(io: Io, flags: MemoryStatusFlags): Promise<number> {
  const { memory, place, agent } = await openFor(io, flags);
  const answer = jobAnswer(await (flags.index === true ? memory.sync(place, false) : memory.status(place)));
  const endpoint = flags.deep === true && place.vectors ? await tried(place.vectors) : undefined;
  return show(io, { agent, place, answer, ...(endpoint !== undefined && { endpoint }) }, flags);
}

/** One word is sent. */
async function tried(vectors: NonNullable<MemoryPlace["vectors"]>): Promise<string> {
  try {
    await embed(vectors, ["test"], { kind: "query", ms: ENDPOINT_MS });
    return "answers";
  } catch (error) {
    return errorText(error);
  }
}

const ENDPOINT_MS = 10_000;

/** Brings the index up to date, then prints its state. */
export async function memoryIndex(io: Io, flags: IndexFlags): Promise<number> {
  const { memory, place, agent } = await openFor(io, flags);
  return show(io, { agent, place, answer: jobAnswer(await memory.sync(place, flags.force === true)) }, flags);
}

/** Prints what a search finds, the best first. Gives 1 when it finds nothing. */
export async function memorySearch(io: Io, query: string, flags: SearchFlags): Promise<number> {
  const { memory, place, agent } = await openFor(io, flags);
  jobAnswer(await memory.sync(place, false));
  const asked = { query, maxResults: flags.limit ?? flags.maxResults ?? 6, isPrivate: true };
  const answer = jobAnswer(await memory.search(place, asked));
  const { hits, state, mode } = answer;
  const degraded = degradedIn({ ...answer, vectorsProblem: agent.memorySearch?.vectorsProblem });
  if (flags.json === true) writeJson(io, { results: hits, mode, index: state, degraded });
  else if (hits.length === 0) io.out("Nothing is found.\n");
  else io.out(hits.map((hit) => pairs(io, [[`${hit.path}#${hit.startLine}`, hit.snippet]])).join(""));
  if (flags.json !== true && degraded !== undefined) io.err(`Degraded: ${degraded}.\n`);
  return hits.length === 0 ? 1 : 0;
}

interface Shown {
  readonly agent: AgentSettings;
  readonly place: MemoryPlace;
  readonly answer: JobAnswer;
  /** The outcome of a request for a vector; unset when none was made. */
  readonly endpoint?: string;
}

function show(io: Io, { agent, place, answer, endpoint }: Shown, { json }: MemoryFlags): number {
  const { state, vectors } = answer;
  const { files, conversations, chunks, pending, syncedAt } = state;
  const said = conversations > 0 ? ` and ${conversations} conversations` : "";
  const degraded = degradedIn({ ...answer, vectorsProblem: agent.memorySearch?.vectorsProblem });
  const mode = vectors?.isComplete === true && vectors.failed === undefined ? "hybrid" : "keyword";
  if (json === true) {
    const shown = { ...state, degraded, ...(vectors && { vectors }), ...(endpoint !== undefined && { endpoint }) };
    writeJson(io, { agent: agent.id, workspace: place.workspace, index: place.db, mode, ...shown });
    return 0;
  }
  io.out(
    pairs(io, [
      ["Agent", agent.id],
      ["Workspace", place.workspace],
      ["Index", place.db],
      ["Notes", `${files - conversations} files${said}, ${chunks} parts, ${pending} not in the index`],
      ["Vectors", vectors && vectorsText(vectors)],
      ["Endpoint", endpoint],
      ["Complete", syncedAt === null ? "never" : `${showDuration(Date.now() - syncedAt)} ago`],
      ["Degraded", degraded],
    ]),
  );
  return 0;
}

const vectorsText = ({ provider, model, dimensions, pending }: NonNullable<JobAnswer["vectors"]>): string =>
  `${provider}/${model}, ${dimensions === undefined ? "none yet" : `${dimensions} numbers`}, ${pending} parts without one`;

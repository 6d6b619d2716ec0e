import { type Compacted, compactedSizes, withCompactionHooks } from "../../harness/compaction/compact.ts";
import { engineModel } from "../../harness/context/engine-view.ts";
import type { RunRequest } from "../../harness/request.ts";
import { untilStopped } from "../../harness/run/until-stopped.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import type { EngineCompacted, EngineTurn } from "../../types/engine/engine-turn.ts";
import type { Log } from "../../types/log.ts";
import type { SideCost } from "../../types/run/run.ts";
import type { UsageTally } from "./auxiliary-usage.ts";

interface Job {
  readonly handle: Pick<ModelHandle, "info" | "profile">;
  readonly tokenBudget: number;
  readonly signal: AbortSignal;
  readonly instructions?: string;
  readonly tally: UsageTally;
  readonly watched: Parameters<typeof withCompactionHooks>[0];
}

/**
 * Compacts a conversation on request with the context engine, which may call the built-in compaction. Does nothing when
 * the engine cannot be opened.
 */
export async function compactByEngine(
  open: NonNullable<RunRequest["openEngine"]>,
  { handle, tokenBudget, signal, instructions, tally, watched }: Job,
  builtIn: () => Promise<Compacted>,
  log: Log,
): Promise<Compacted> {
  const spent = (cost: SideCost) => tally.add(cost);
  const host = { signal, spent, compact: async () => asEngineResult(await builtIn()) };
  const release = (late: EngineTurn) => void late.end(undefined);
  const engine = await untilStopped(() => open(host), signal, release).catch((error: unknown) => {
    if (!signal.aborted) log.error("context engine not available", { error });
    return undefined;
  });
  if (!engine && signal.aborted) return { kind: "aborted" };
  if (!engine) return { kind: "nothing", because: "no_engine" };
  try {
    await engine.begin(signal);
    const wishes = instructions !== undefined && { instructions };
    const done = await withCompactionHooks(watched, undefined, () =>
      engine.compact({ ...engineModel(handle), why: "asked", tokenBudget, signal, ...wishes }),
    );
    if (done.kind === "nothing")
      return { kind: "nothing", because: "unchanged", reason: `Nothing was compacted: ${done.reason}.` };
    return { ...done, isListed: false };
  } finally {
    await engine.end(undefined);
  }
}

function asEngineResult(done: Compacted): EngineCompacted {
  if (done.kind === "done") return compactedSizes(done);
  return { kind: "nothing", reason: done.kind === "aborted" ? "aborted" : done.because };
}

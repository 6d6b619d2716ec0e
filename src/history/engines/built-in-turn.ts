import type { EngineCompacted, EngineCompaction, EngineTurn } from "../../types/engine-turn.ts";

/** The part of the built-in engine in a run: nothing is copied, nothing is waited for. */
export class BuiltInTurn implements EngineTurn {
  readonly id: string;
  readonly ownsCompaction = false;
  /** Why it stands in for the engine of this id. */
  readonly degraded: string | undefined;
  readonly compact: (job: EngineCompaction) => Promise<EngineCompacted>;

  constructor(id: string, compact: (job: EngineCompaction) => Promise<EngineCompacted>, degraded?: string) {
    this.id = id;
    this.compact = compact;
    this.degraded = degraded;
  }

  begin = nothing;
  assemble = nothing;
  reassemble = nothing;
  end = nothing;
}

const nothing = async (): Promise<undefined> => undefined;

import type { EngineCompacted, EngineCompaction, EngineTurn } from "../../../types/engine/engine-turn.ts";

/** The engine that the built-in one replaces for this turn. */
interface PassedBy {
  /** The reason. */
  readonly degraded: string;
  /**
   * Set when the engine owns compaction: nothing is compacted meanwhile, because the engine would later find the
   * summary in the transcript.
   */
  readonly ownsCompaction: boolean;
}

/** The built-in engine's part in a run. It copies nothing and waits for nothing. */
export class BuiltInTurn implements EngineTurn {
  readonly id: string;
  readonly ownsCompaction: boolean;
  readonly degraded: string | undefined;
  readonly compact: (job: EngineCompaction) => Promise<EngineCompacted>;

  constructor(id: string, compact: (job: EngineCompaction) => Promise<EngineCompacted>, instead?: PassedBy) {
    this.id = id;
    this.ownsCompaction = instead?.ownsCompaction === true;
    this.degraded = instead?.degraded;
    const reason = this.ownsCompaction ? instead?.degraded : undefined;
    this.compact = reason === undefined ? compact : async () => ({ kind: "nothing", reason });
  }

  begin = nothing;
  assemble = nothing;
  reassemble = nothing;
  end = nothing;
}

const nothing = async (): Promise<undefined> => undefined;

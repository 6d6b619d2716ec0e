import type { EngineCompacted, EngineCompaction, EngineTurn } from "../../../types/engine/engine-turn.ts";

/** The engine that the built-in one replaces for a turn. */
interface PassedBy {
  /** Why. */
  readonly degraded: string;
  /** Nothing is compacted in its place: it would find that in the transcript later. */
  readonly ownsCompaction: boolean;
}

/** The part of the built-in engine in a run: nothing is copied, nothing is waited for. */
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

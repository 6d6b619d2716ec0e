import type {
  SubagentEndedParams,
  SubagentSpawnParams,
  SubagentSpawnPreparation,
} from "../../types/engine/context-engine.ts";
import type { Clock } from "../../types/clock.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { Inbox } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { Subagents } from "../../types/subagent/subagent.ts";
import type { Sessions } from "../../types/session.ts";
import type { SpawnRules } from "./rules.ts";

/** Work of the selected context engine for subagents. */
export interface EngineSpawns {
  /** Prepares the start of a subagent. Rejects when the engine cannot prepare it. */
  prepare(params: SubagentSpawnParams): Promise<SubagentSpawnPreparation | undefined>;
  /** Called when a subagent has ended. Never rejects. */
  ended(params: SubagentEndedParams): Promise<void>;
}

export interface SpawnPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runs: Pick<Subagents, "run">;
  readonly inbox: Pick<Inbox, "find" | "ofRun" | "open">;
  readonly sessions: Pick<Sessions, "peek" | "list" | "patch" | "history" | "remove" | "fileOf">;
  readonly engine: EngineSpawns;
  rules(): SpawnRules;
  /** The runs of all sessions, waiting ones included. */
  running(): readonly { readonly stream: RunStream }[];
  /** Ends the runs of a session, and of its subagents. */
  stop(key: SessionKey): Promise<readonly RunId[]>;
  /** Ends the runs of a session, and does the work when its lane is free. */
  afterRuns<T>(key: SessionKey, work: () => Promise<T>): Promise<T>;
}

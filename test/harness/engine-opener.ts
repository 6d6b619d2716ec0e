import type { RunRequest } from "../../src/harness/request.ts";
import { CompactionDesk } from "../../src/history/engines/compaction-desk.ts";
import type { EngineServices } from "../../src/history/engines/options.ts";
import { openEngineTurn } from "../../src/history/engines/turn/turn.ts";
import { KeyedQueue } from "../../src/utils/keyed-queue.ts";
import { type EngineOptions, TIMEOUTS } from "../kit/engine.ts";
import type { RunFixture } from "../kit/run.ts";

type OpenEngine = NonNullable<RunRequest["openEngine"]>;
type Host = Parameters<OpenEngine>[0];

/** What a test says of its engine; `more` may take from the run that opens it. */
export interface Opening extends Pick<EngineOptions, "id" | "engines"> {
  readonly turnKey?: string;
  readonly more?: (host: Host) => Partial<EngineOptions>;
}

/** Opens an engine as the gateway does for the engine of its slot. */
export const openerAt =
  (fixture: RunFixture, { id, engines, turnKey = "turn-1", more = () => ({}) }: Opening): OpenEngine =>
  (host) => {
    const all = {
      id,
      engines,
      session: {
        sessionId: fixture.session.id,
        sessionKey: fixture.session.key,
        sessionFile: fixture.session.file,
        agentId: "main",
        workspace: fixture.dir,
      },
      turn: { key: turnKey },
      services: servicesOf(host),
      timeouts: TIMEOUTS,
      background: new KeyedQueue(),
      desk: new CompactionDesk(),
      clock: fixture.clock,
      log: fixture.log,
      ...more(host),
    };
    return openEngineTurn(all, all);
  };

/** The run's own compaction, and a model that always says the same. */
export const servicesOf = (host: Host): EngineServices => ({
  complete: async () => ({ text: "A summary.", provider: "fake", model: "fake-1" }),
  compact: (job) => host.compact(job),
});

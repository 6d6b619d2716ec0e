import type { SpawnPorts } from "../../../automation/spawn/ports.ts";
import { Spawner } from "../../../automation/spawn/spawner.ts";
import { Talk } from "../../../automation/talk/talk.ts";
import type { Dispatch } from "../../../dispatch/dispatch.ts";
import type { DispatchPorts } from "../../../dispatch/ports.ts";
import type { SandboxMachine } from "../../../tools/sandbox/machine.ts";
import { background } from "../../../utils/background.ts";
import type { Engines } from "../engines.ts";
import type { Live } from "../live.ts";
import { spawnRules, talkRules } from "./rules.ts";
import { openSubagents } from "./subagents.ts";

interface Sources {
  readonly dispatch: Dispatch;
  readonly ports: DispatchPorts;
  readonly engines: Pick<Engines, "spawns">;
  readonly machine: SandboxMachine;
}

/** What agents do with other sessions, and what follows from that. */
export interface OpenSessions {
  readonly spawner: Spawner;
  readonly talk: Talk;
  close(): Promise<void>;
}

export function openOtherSessions(live: Live, { dispatch, ports, engines, machine }: Sources): OpenSessions {
  const { clock, log, journal, sessions } = ports;
  const { inbox, outbox } = journal;
  const shared = { clock, log, inbox, sessions };
  const spawning: SpawnPorts = {
    ...shared,
    runs: openSubagents(live, { dispatch, journal, sessions, ports }),
    engine: engines.spawns,
    rules: () => spawnRules(live, machine),
    running: () => dispatch.registry.running(),
    stop: (key) => dispatch.stop(key),
    afterRuns: (key, work) => dispatch.afterRuns(key, work),
  };
  const spawner = new Spawner(spawning);
  const rules = () => talkRules(live);
  const talk = new Talk({ ...shared, outbox, rules, receive: (messages) => dispatch.receive(messages) });
  const stop = new AbortController();
  background("messages that follow from others", admitFollowing(dispatch, ports, stop.signal), log);
  return {
    spawner,
    talk,
    async close() {
      stop.abort();
      await spawner.archive.close();
    },
  };
}

/** Each message that the journal accepted because another one ended goes the way of every message. */
async function admitFollowing(dispatch: Dispatch, { journal }: DispatchPorts, signal: AbortSignal): Promise<void> {
  for await (const row of journal.inbox.followed(signal))
    background("a message that follows from another", dispatch.admit(row));
}

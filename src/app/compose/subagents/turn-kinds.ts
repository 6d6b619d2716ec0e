import { announceTurn } from "../../../automation/announce/announce-turn.ts";
import { subagentTurn } from "../../../automation/subagents/subagent-turn.ts";
import { relayTurn } from "../../../automation/talk/relay-turn.ts";
import { AUTOMATION_TURNS } from "../../../automation/turns.ts";
import { TURN_KINDS, turnKinds } from "../../../dispatch/turn-kinds/table.ts";
import type { Hooks } from "../../../plugins/hooks.ts";
import type { Journal } from "../../../types/journal.ts";
import type { TurnKinds } from "../../../types/run/turn-kind.ts";
import type { Sessions } from "../../../types/session.ts";
import type { Engines } from "../engines.ts";
import type { Live } from "../live.ts";

interface KindSources {
  readonly live: Live;
  readonly hooks: Hooks;
  readonly engines: Pick<Engines, "spawns">;
  readonly sessions: Sessions;
  readonly journal: Pick<Journal, "inbox" | "runs">;
}

/** Every kind of turn of this gateway. */
export function kindsOf({ live, hooks, engines, sessions, journal }: KindSources): TurnKinds {
  const { inbox, runs } = journal;
  const ofSessions = [
    subagentTurn(hooks, engines.spawns),
    announceTurn({ sessions, inbox, runs }),
    relayTurn({ sessions, inbox }),
  ];
  return turnKinds([...TURN_KINDS, ...AUTOMATION_TURNS, ...ofSessions, ...live.contributions.turnKinds]);
}

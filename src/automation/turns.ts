import type { TurnKind } from "../types/run/turn-kind.ts";
import { EXEC_TURN } from "./command-exit.ts";
import { CRON_TURN } from "./cron/cron-turn.ts";
import { HOOK_TURN } from "./hooks/hook-turn.ts";
import { HEARTBEAT_TURN } from "./heartbeat-turn.ts";

/** The kinds of turns that the gateway begins by itself and that need no ports. */
export const AUTOMATION_TURNS: readonly TurnKind[] = [HEARTBEAT_TURN, CRON_TURN, HOOK_TURN, EXEC_TURN];

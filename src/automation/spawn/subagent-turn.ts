import type { InboundMessage } from "../../types/chat/message.ts";
import type { HookRunner } from "../../types/hook/hooks.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { EndedTurnRef, TurnKind } from "../../types/run/turn-kind.ts";
import type { Session } from "../../types/session.ts";
import type { EngineSpawns } from "./ports.ts";
import type { HookEvents } from "../../types/hook/events.ts";
import type { Outcome } from "../../types/journal.ts";
import type { SubagentEnd } from "../../types/subagent/subagent.ts";

/** Name of the turn kind in messages. */
export const SUBAGENT_KIND = "subagent";

/** The turn of a subagent: another run, or a plugin, asked for the turn and reads its answer in the transcript. */
export const subagentTurn = (hooks?: HookRunner, engine?: Pick<EngineSpawns, "ended">): TurnKind => ({
  name: SUBAGENT_KIND,
  trigger: "subagent",
  actsFor,
  provenance: { kind: "internal_system", sourceTool: "subagent" },
  takesCommands: false,
  queue: "alone",
  overCap: "first",
  transcript: "always",
  isUse: true,
  // Nobody reads a subagent's chat.
  asks: "clients",
  refusals: "logged",
  answer: "whole",
  maintenance: "none",
  promptFiles: ({ options }) => options?.subagent?.files,
  systemPrompt: ({ options }) => options?.subagent?.systemPrompt,
  depth: ({ options }) => options?.subagent?.depth ?? 1,
  async end(turn, session, { now }) {
    notifyEnded(turn, session, { hooks, endedAt: now() });
    await engine?.ended({ childSessionKey: session.key, reason: "completed" });
  },
});

function actsFor({ options }: Pick<InboundMessage, "options">): Principal {
  const isOwner = options?.subagent?.isOwner === true;
  const plugin = options?.subagent?.plugin;
  const setUpBy = isOwner ? "owner" : "guest";
  return plugin === undefined
    ? { kind: "automation", id: SUBAGENT_KIND, setUpBy }
    : { kind: "plugin", id: plugin, setUpBy };
}

function notifyEnded(
  { message: { id, options }, outcome }: EndedTurnRef,
  { key, agentId }: Session,
  { hooks, endedAt }: { readonly hooks: HookRunner | undefined; readonly endedAt: number },
): void {
  const parent = options?.subagent?.parent;
  const end = { reason: "subagent-complete", runId: id, endedAt, ...hookEndOf(outcome) };
  hooks?.notify(
    "subagent_ended",
    { targetSessionKey: key, targetKind: "subagent", ...end },
    {
      agentId,
      sessionKey: key,
      runId: id,
      childSessionKey: key,
      ...(parent !== undefined && { requesterSessionKey: parent }),
    },
  );
}

/** The beginning of the `why` of a run that took too long; see `runOutcomeOf` in dispatch. */
const TIMEOUT = "timeout:";

/** The end of a subagent's run, for a caller that waited for it. */
export function subagentEndOf(outcome: Outcome): SubagentEnd {
  switch (outcome.kind) {
    case "failed":
    case "dropped":
      return { status: "error", error: outcome.why };
    case "aborted":
      return { status: "error", error: "the run was stopped" };
    default:
      return { status: "ok" };
  }
}

type HookEnd = Pick<HookEvents["subagent_ended"], "outcome" | "error">;

/** The end of a subagent's run in the terms of the hook `subagent_ended`. */
function hookEndOf(outcome: Outcome): HookEnd {
  if (outcome.kind === "aborted") return { outcome: "killed" };
  const end = subagentEndOf(outcome);
  if (end.status !== "error") return { outcome: "ok" };
  return { outcome: end.error.startsWith(TIMEOUT) ? "timeout" : "error", error: end.error };
}

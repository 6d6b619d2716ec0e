import type { RefusedCall } from "../../providers/budget/meter.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { lastChat } from "./methods/heartbeat-place.ts";
import type { Parts } from "./parts.ts";

/** Who is waiting for these is asked or told in the chat. */
const ATTENDED: ReadonlySet<string> = new Set(["message", "api", "probe"]);

/** Tells an owner, once for each limit and its time, that work which nobody waits for was skipped. */
export async function tellRefusals(parts: Parts, signal: AbortSignal): Promise<void> {
  for await (const refused of parts.core.models.budgets.refusals.watch(signal)) {
    parts.log.warn("a budget did not allow a model call", factsOf(refused));
    if (ATTENDED.has(refused.call.cause)) continue;
    try {
      await tell(refused, parts);
    } catch (error) {
      parts.log.error("nobody was told that a budget is used up", { error: errorText(error) });
    }
  }
}

const factsOf = ({ cap, call: { cause, sessionKey, runId }, text }: RefusedCall) => ({
  budget: cap.key,
  cause,
  session: sessionKey,
  run: runId,
  why: text,
});

async function tell(refused: RefusedCall, { live, core, channels, log }: Parts): Promise<void> {
  const { call, text } = refused;
  const agent = call.agentId ?? live.defaultAgent.id;
  const places = { live, channels, sessions: core.sessions };
  // Not in the conversation itself: others may read there what is spent.
  const { found, problem } = lastChat(agent, undefined, places);
  if (!found) return log.warn("no chat to tell that a budget is used up", { why: problem });
  const markdown =
    `💰 Skipped (${call.cause}): ${text} I do not say this again for this budget. ` +
    "`/budget` shows the budgets, `/budget raise` allows more.";
  // The outbox sends each key once, also after a restart.
  await core.outbox.deliver({
    replyKey: keyOf(refused),
    to: found.to,
    blocks: [{ kind: "notice", markdown, because: "error" }],
  });
}

/** The same as long as the same limit is meant. */
function keyOf({ cap: { key, place }, because, call }: RefusedCall): string {
  const of = place ? [place.scope, place.name, place.since ?? "", place.until ?? ""] : [call.model.id];
  return ["budget", key, because, ...of].join(":");
}

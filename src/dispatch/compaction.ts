import { compact, type Compacted, logCompaction } from "../harness/compact.ts";
import { sizesFor, writersFor } from "../harness/upkeep.ts";
import type { InboundMessage } from "../types/message.ts";
import type { Session } from "../types/session.ts";
import type { DispatchPorts } from "./ports.ts";
import { candidatesFor } from "./turn.ts";

interface Asked {
  readonly signal: AbortSignal;
  /** The person's own wishes for the summary. */
  readonly instructions?: string;
  readonly message?: InboundMessage;
}

/** Compacts a conversation because somebody asks for it. The session must be the caller's. */
export async function compactSession(session: Session, asked: Asked, ports: DispatchPorts): Promise<Compacted> {
  const settings = ports.settings();
  const agent = settings.agents.get(session.agentId) ?? settings.agents.get(settings.defaultAgent);
  if (!agent) throw new Error(`no agent ${session.agentId}`);
  const candidates = await candidatesFor(asked.message, session, agent, ports);
  const [first] = await writersFor(candidates, {}, ports.models);
  if (!first) return { kind: "nothing", because: "no_model" };
  const log = ports.log.with({ session: session.key });
  const compacted = await compact({
    conversation: session,
    writers: await writersFor(candidates, agent, ports.models),
    ...sizesFor(first, agent),
    clock: ports.clock,
    signal: asked.signal,
    why: "asked",
    instructions: asked.instructions,
    emit: (event) => logCompaction(event, log),
  });
  if (compacted.kind === "done") await noteCompaction(session, compacted.tokensAfter);
  return compacted;
}

/** The row's figures; the tokens are an estimate until the model is asked again. */
export function noteCompaction(session: Session, tokensAfter: number): Promise<void> {
  const compactionCount = (session.entry.compactionCount ?? 0) + 1;
  return session.update({ compactionCount, totalTokens: tokensAfter, totalTokensFresh: false });
}

const WHY_NOT = {
  no_model: "No model is there that could write the summary.",
  small: "There is nothing to compact yet.",
  unchanged: "Nothing was said since the last compaction.",
  no_gain: "The summary would not have been shorter than what it stands for; nothing was changed.",
};

/** What the person who asked is told. */
export function compactedText(done: Compacted): string {
  if (done.kind === "aborted") return "The compaction was stopped; nothing was changed.";
  if (done.kind === "nothing") return WHY_NOT[done.because];
  const shown = (tokens: number) => tokens.toLocaleString("en");
  const sizes = `Compacted: about ${shown(done.tokensBefore)} → ${shown(done.tokensAfter)} tokens.`;
  return done.isListed
    ? `${sizes} No model wrote a summary, so a short list of what was said stands in for it.`
    : sizes;
}

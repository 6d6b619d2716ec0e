import { randomUUID } from "node:crypto";
import { z } from "zod";
import { compact, type Compacted, logCompaction } from "../../harness/compaction/compact.ts";
import { costsOf } from "../../harness/log/log.ts";
import { stoppableModels } from "../../harness/run/until-stopped.ts";
import { sizesFor, summarizerModelsFor } from "../../harness/compaction/summarizer-models.ts";
import { readFilesIn } from "../../history/compaction/reads.ts";
import { readAudit, sectionsReminder } from "../../prompt/after-compaction.ts";
import { loadContextFiles } from "../../prompt/bootstrap.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import type { CompactionUpdate } from "../../types/chat/chat.ts";
import type { CompactionEvent } from "../../types/run/events.ts";
import { runId } from "../../types/ids.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import type { Session, TranscriptEntry } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { Feed } from "../../utils/feed.ts";
import type { DispatchPorts } from "../ports.ts";
import { compactByEngine } from "./engine-compaction.ts";
import { AuxiliaryUsage } from "./auxiliary-usage.ts";
import type { Replies } from "../replies.ts";
import { candidatesFor } from "../turn/candidates.ts";

interface Asked {
  readonly signal: AbortSignal;
  /** The person's own wishes for the summary. */
  readonly instructions?: string;
  readonly message?: InboundMessage;
}

interface CompactionPorts extends DispatchPorts {
  readonly replies: Replies;
}

type Notice = Parameters<Replies["tell"]>[1];

type CompactionEntry = Extract<TranscriptEntry, { type: "compaction" }>;

/** Compactions outside of runs, and what every compaction leaves to be said. */
export class Compactions {
  readonly #ports: CompactionPorts;
  readonly #feed = new Feed<CompactionUpdate>();
  readonly #closing = new AbortController();

  constructor(ports: CompactionPorts) {
    this.#ports = ports;
    this.costs = new AuxiliaryUsage(ports);
  }

  /** What compactions outside of runs cost. */
  readonly costs: AuxiliaryUsage;

  /** Aborted when the gateway stops: nothing of this is worth waiting for, since the next turn looks again. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends what goes on behind turns. */
  close(): void {
    this.#closing.abort("shutdown");
  }

  /** Those that no run's own events tell. */
  watch(signal: AbortSignal): AsyncIterable<CompactionUpdate> {
    return this.#feed.watch(signal);
  }

  /** Compacts a conversation because somebody asks for it. The session must be the caller's. */
  async compact(session: Session, asked: Asked): Promise<Compacted> {
    const { clock } = this.#ports;
    const models = stoppableModels(this.#ports.models, asked.signal);
    const agent = agentOf(session, this.#ports);
    const candidates = await candidatesFor(asked.message, session, agent, this.#ports);
    const [first] = await summarizerModelsFor(candidates, {}, models);
    if (asked.signal.aborted) return { kind: "aborted" };
    if (!first) return { kind: "nothing", because: "no_model" };
    const { leafId } = session;
    const log = this.#ports.log.with({ session: session.key });
    const tell = this.publisherFor(session);
    const of = { sessionKey: session.key, sessionId: session.id };
    const id = runId(`compact-${randomUUID()}`);
    const tally = this.costs.open(id, of);
    const builtIn = async () =>
      compact({
        conversation: session,
        summarizers: await summarizerModelsFor(candidates, agent, models),
        models,
        ...sizesFor(first, agent),
        origin: { cause: "compaction", agentId: session.agentId, sessionKey: session.key, runId: id },
        clock,
        signal: asked.signal,
        why: "asked",
        instructions: asked.instructions,
        emit: (event) => {
          logCompaction(event, log);
          for (const cost of costsOf(event)) tally.add(cost);
          tell(event);
        },
      });
    const openEngine = this.#ports.engineFor?.({ session, agent, candidates, turnKey: `compact-${randomUUID()}` });
    const job = { model: first.info, tokenBudget: sizesFor(first, agent).window, ...asked, tally };
    const compacted = openEngine ? await compactByEngine(openEngine, job, builtIn, log) : await builtIn();
    await tally.close(compacted.kind);
    if (compacted.kind !== "done") return compacted;
    await noteCompaction(session, compacted.tokensAfter);
    if (leafId !== null) await this.addReminders(session, leafId, agent);
    return compacted;
  }

  /** Tells the watchers of one compaction outside of a run. */
  publisherFor(session: Pick<Session, "key" | "id" | "agentId">): (event: CompactionEvent) => void {
    const id = runId(`compaction-${randomUUID()}`);
    const { key: sessionKey, id: sessionId, agentId } = session;
    const facts = { runId: id, sessionKey, sessionId, agentId, trigger: "message" as const };
    let seq = 0;
    return (event) => {
      seq += 1;
      this.#feed.publish({ facts, event: { ...event, seq, ts: this.#ports.clock.now() } });
    };
  }

  /**
   * News for the next turn when the conversation was compacted behind this entry: the rules that its summary has lost the
   * feel of, and the files that the model has read and no longer sees. The newest compaction, if there was one.
   */
  async addReminders(session: Session, sinceId: string, agent: AgentSettings): Promise<CompactionEntry | undefined> {
    // A turn that was summed up itself is not there any more.
    const entries = (await session.after(sinceId)) ?? (await session.newest(MOST_ENTRIES));
    const compactions = entries.filter((entry) => entry.type === "compaction");
    const last = compactions.at(-1);
    if (!last) return undefined;
    const read = readFilesIn(entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : [])));
    const lost = compactions.flatMap(lostFiles).filter((path) => !read.includes(path));
    for (const text of await reminders(agent, lost)) await this.#ports.journal.events.add(session.key, text);
    return last;
  }

  /** One line to the chat, where the config wants it. */
  async notify(session: Session, { entry, to }: { entry: CompactionEntry; to: Peer | undefined }): Promise<void> {
    if (agentOf(session, this.#ports).compaction?.notifyUser !== true) return;
    const notice = { key: `compaction:${entry.id}`, text: COMPACTED, because: "compaction" as const };
    await this.sendNotice(session, notice, to);
  }

  /** A line of the gateway's own to the chat; for the web, which has no outbox, it is written into the transcript. */
  async sendNotice(session: Session, notice: Notice, to: Peer | undefined): Promise<void> {
    if (to) await this.#ports.replies.tell(to, notice);
    else await session.append({ type: "custom", customType: NOTICE_TYPE, data: { text: notice.text } });
  }
}

function agentOf(session: Pick<Session, "agentId">, ports: DispatchPorts): AgentSettings {
  const settings = ports.settings();
  const agent = settings.agents.get(session.agentId) ?? settings.agents.get(settings.defaultAgent);
  if (!agent) throw new Error(`no agent ${session.agentId}`);
  return agent;
}

const MOST_ENTRIES = 1000;

const details = z.object({ readFiles: z.array(z.string()) });

const lostFiles = (entry: CompactionEntry): readonly string[] => details.safeParse(entry.details).data?.readFiles ?? [];

const USUAL_CHARS = 3000;

async function reminders({ workspace, compaction, prompt }: AgentSettings, lost: readonly string[]) {
  const whole = await loadContextFiles(workspace, { maxChars: Infinity, totalMaxChars: Infinity });
  const rules = whole.find(({ path }) => path === "AGENTS.md" || path === "CLAUDE.md")?.content;
  const limits = { maxChars: prompt.bootstrapMaxChars, totalMaxChars: prompt.bootstrapTotalMaxChars };
  const inPrompt = prompt.override === undefined ? await loadContextFiles(workspace, limits) : [];
  const { sections = [], sectionsMaxChars = USUAL_CHARS } = compaction ?? {};
  const texts = [
    sectionsReminder(rules, { sections, maxChars: sectionsMaxChars }),
    readAudit(lost, { workspace, inPrompt: inPrompt.map(({ path }) => path) }),
  ];
  return texts.filter((text) => text !== undefined);
}

/**
 * The row's figures. The tokens are an estimate until the model is asked again; without one the last figure stays, marked as
 * no longer fresh.
 */
export function noteCompaction(session: Session, tokensAfter: number | undefined): Promise<void> {
  const compactionCount = (session.entry.compactionCount ?? 0) + 1;
  const totalTokens = tokensAfter === undefined ? {} : { totalTokens: tokensAfter };
  return session.update({ compactionCount, ...totalTokens, totalTokensFresh: false });
}

const COMPACTED = "The older part of this conversation is now a summary, so that there is room again.";

const WHY_NOT = {
  no_model: "No model is there that could write the summary.",
  no_engine:
    "The context engine could not be loaded, so nothing was changed. The operator can see why with `openclaw doctor`.",
  small: "There is nothing to compact yet.",
  unchanged: "Nothing was said since the last compaction.",
  no_gain: "The summary would not have been shorter than what it stands for; nothing was changed.",
  later: "No model has the time to write the summary just now; nothing was changed.",
};

/** What the person who asked is told. */
export function compactedText(done: Compacted): string {
  if (done.kind === "aborted") return "The compaction was stopped; nothing was changed.";
  if (done.kind === "nothing") return done.reason ?? WHY_NOT[done.because];
  const sizes = sizesText(done);
  return done.isListed
    ? `${sizes} No model wrote a summary, so a short list of what was said stands in for it.`
    : sizes;
}

/** A context engine need not say how large the conversation was, or is. */
function sizesText({ tokensBefore, tokensAfter }: Extract<Compacted, { kind: "done" }>): string {
  const shown = (tokens: number) => tokens.toLocaleString("en");
  if (tokensAfter === undefined) return "Compacted.";
  if (tokensBefore === undefined) return `Compacted: about ${shown(tokensAfter)} tokens are left.`;
  return `Compacted: about ${shown(tokensBefore)} → ${shown(tokensAfter)} tokens.`;
}

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { compactByEngine } from "./engine-compaction.ts";
import { compact, type Compacted, logCompaction } from "../../harness/compaction/compact.ts";
import { costsOf } from "../../harness/log/run-log.ts";
import { stoppableModels } from "../../harness/run/until-stopped.ts";
import { sizesFor, summarizerModelsFor } from "../../harness/compaction/summarizer-models.ts";
import { readFilesIn } from "../../history/compaction/reads.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import type { CompactionUpdate } from "../../types/chat/chat.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { CompactionEvent } from "../../types/run/events.ts";
import { runId } from "../../types/ids.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import type { Session, TranscriptEntry } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { Feed } from "../../utils/feed.ts";
import type { DispatchPorts } from "../ports.ts";
import { AuxiliaryUsage } from "./auxiliary-usage.ts";
import type { ChatNotice } from "../notices/chat-notices.ts";
import type { Replies } from "../notices/replies.ts";
import { candidatesFor } from "../candidates.ts";
import { readAudit, sectionsReminder } from "../../prompt/after-compaction.ts";
import { contextLimits, isConfined, loadContextFiles } from "../../prompt/bootstrap.ts";
import { verboseLevelOf } from "../../types/run/verbose.ts";

interface CompactionRequest {
  readonly signal: AbortSignal;
  /** The points that the person wants the summary to keep. */
  readonly instructions?: string;
  readonly message?: InboundMessage;
}

interface CompactionPorts extends Pick<DispatchPorts, "clock" | "runs" | "storage" | "log" | "settings"> {
  readonly replies: Pick<Replies, "notices">;
}

type CompactionEntry = Extract<TranscriptEntry, { type: "compaction" }>;

/** Compactions outside of runs, and the reminders and notices that follow every compaction. */
export class Compactions {
  readonly #ports: CompactionPorts;
  readonly #feed = new Feed<CompactionUpdate>();
  readonly #closing = new AbortController();

  constructor(ports: CompactionPorts) {
    this.#ports = ports;
    this.costs = new AuxiliaryUsage(ports);
  }

  /** The cost of compactions outside of runs. */
  readonly costs: AuxiliaryUsage;

  /**
   * The signal that aborts when the gateway stops. Nothing waits for maintenance, because it is due again after the
   * next turn.
   */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends the maintenance that follows turns. */
  close(): void {
    this.#closing.abort("shutdown");
  }

  /** The events of compactions outside of runs. */
  watch(signal: AbortSignal): AsyncIterable<CompactionUpdate> {
    return this.#feed.watch(signal);
  }

  /** Compacts a conversation on request. The caller must hold the session. */
  async compact(session: Session, asked: CompactionRequest): Promise<Compacted> {
    const { clock } = this.#ports;
    const agent = agentOf(session, this.#ports);
    const models = stoppableModels(this.#ports.runs.models.of(session.agentId), asked.signal);
    const candidates = await candidatesFor(asked, session, agent, this.#ports.runs);
    const [first] = await summarizerModelsFor(candidates, {}, models);
    if (asked.signal.aborted) return { kind: "aborted" };
    if (!first) return { kind: "nothing", because: "no_model" };
    const { leafId } = session;
    const log = this.#ports.log.with({ session: session.key });
    const tell = this.publisherFor(session);
    const of = { sessionKey: session.key, sessionId: session.id, agentId: session.agentId };
    const id = runId(`compact-${randomUUID()}`);
    const tally = this.costs.open(id, of);
    const watched = { conversation: session, hooks: this.#hooksOf(session, agent) };
    const openEngine = this.#ports.runs.engineFor({ session, agent, candidates, turnKey: `compact-${randomUUID()}` });
    const builtIn = async () =>
      compact({
        conversation: session,
        // The compaction of an engine calls the hooks itself.
        hooks: openEngine ? undefined : watched.hooks,
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
    const job = { handle: first, tokenBudget: sizesFor(first, agent).window, ...asked, tally, watched };
    const compacted = openEngine ? await compactByEngine(openEngine, job, builtIn, log) : await builtIn();
    await tally.close(compacted.kind);
    if (compacted.kind !== "done") return compacted;
    await noteCompaction(session, compacted.tokensAfter);
    if (leafId !== null) await this.addReminders(session, leafId, agent);
    return compacted;
  }

  #hooksOf({ key, id, agentId }: Session, { workspace }: AgentSettings): BoundHooks | undefined {
    const {
      runs: { hooks: runner },
    } = this.#ports;
    return runner && { runner, context: { agentId, sessionKey: key, sessionId: id, workspaceDir: workspace } };
  }

  /** Returns a function that publishes the events of one compaction outside of a run to the watchers. */
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
   * After a compaction, adds reminders to the next turn: the rules of AGENTS.md, and the files whose contents the model
   * no longer sees. Returns the newest compaction after `sinceId`, if there was one.
   */
  async addReminders(session: Session, sinceId: string, agent: AgentSettings): Promise<CompactionEntry | undefined> {
    // When the entry `sinceId` was summarised itself, the branch no longer has it.
    const entries = (await session.after(sinceId)) ?? (await session.newest(MOST_ENTRIES));
    const compactions = entries.filter((entry) => entry.type === "compaction");
    const last = compactions.at(-1);
    if (!last) return undefined;
    const read = readFilesIn(entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : [])));
    const lost = compactions.flatMap(lostFiles).filter((path) => !read.includes(path));
    for (const text of await reminders(agent, lost)) await this.#ports.storage.journal.events.add(session.key, text);
    return last;
  }

  /** Sends one line to the chat, where the config says so or tool calls are shown. */
  async notify(session: Session, { entry, to }: { entry: CompactionEntry; to: Peer | undefined }): Promise<void> {
    if (!showsCompaction(session, this.#ports)) return;
    const notice = { key: `compaction:${entry.id}`, text: COMPACTED, because: "compaction" as const };
    await this.sendNotice(session, notice, to);
  }

  /**
   * Sends a line of the gateway itself to the chat. For the web, which has no outbox, the line goes into the
   * transcript.
   */
  async sendNotice(session: Session, notice: ChatNotice, to: Peer | undefined): Promise<void> {
    if (to) await this.#ports.replies.notices.send(to, notice);
    else await session.append({ type: "custom", customType: NOTICE_TYPE, data: { text: notice.text } });
  }
}

const MOST_ENTRIES = 1000;

const details = z.object({ readFiles: z.array(z.string()) });

const lostFiles = (entry: CompactionEntry): readonly string[] => details.safeParse(entry.details).data?.readFiles ?? [];

/**
 * Updates the session's row. The tokens are an estimate until the next model call. Without an estimate the last figure
 * stays, marked as not fresh.
 */
export function noteCompaction(session: Session, tokensAfter: number | undefined): Promise<void> {
  const compactionCount = (session.entry.compactionCount ?? 0) + 1;
  const totalTokens = tokensAfter === undefined ? {} : { totalTokens: tokensAfter };
  return session.update({ compactionCount, ...totalTokens, totalTokensFresh: false });
}

const COMPACTED =
  "🧹 Auto-compaction complete: the older part of this conversation is now a summary, to free space for new messages.";

const WHY_NOT = {
  no_model: "No model is available to write the summary.",
  no_engine:
    "The context engine could not be loaded, so nothing was changed. The operator can see why with `openclaw doctor`.",
  small: "There is nothing to compact yet.",
  unchanged: "Nothing was said since the last compaction.",
  no_gain: "The summary would not have been shorter than the text it replaces, so nothing was changed.",
  off: "The config lets nothing be compacted unless somebody asks for it.",
  later: "No model can write the summary right now, so nothing was changed.",
};

/** The answer to whoever requested a compaction. */
export function compactedText(done: Compacted): string {
  if (done.kind === "aborted") return "The compaction was stopped, so nothing was changed.";
  if (done.kind === "nothing") return done.reason ?? WHY_NOT[done.because];
  const sizes = sizesText(done);
  return done.isListed ? `${sizes} No model wrote a summary, so a short list of the messages replaces it.` : sizes;
}

/** The sizes of a compacted conversation, as far as they are known: a context engine does not always report them. */
function sizesText({ tokensBefore, tokensAfter }: Extract<Compacted, { kind: "done" }>): string {
  const shown = (tokens: number) => tokens.toLocaleString("en");
  if (tokensAfter === undefined) return "Compacted.";
  if (tokensBefore === undefined) return `Compacted: about ${shown(tokensAfter)} tokens are left.`;
  return `Compacted: about ${shown(tokensBefore)} → ${shown(tokensAfter)} tokens.`;
}

const DEFAULT_REMINDER_CHARS = 3000;

/**
 * The reminders for the next turn after a compaction: sections of the rules, and the files that were read and that the
 * model no longer sees.
 */
async function reminders(
  { workspace, compaction, prompt, sandbox }: AgentSettings,
  lost: readonly string[],
): Promise<readonly string[]> {
  const whole = await loadContextFiles(workspace, {
    maxChars: Infinity,
    totalMaxChars: Infinity,
    ...isConfined(sandbox),
  });
  const rules = whole.find(({ path }) => path === "AGENTS.md" || path === "CLAUDE.md")?.content;
  const limits = contextLimits({ prompt, ...(sandbox && { sandbox }) });
  const inPrompt = prompt.override === undefined ? await loadContextFiles(workspace, limits) : [];
  const { sections = [], sectionsMaxChars = DEFAULT_REMINDER_CHARS } = compaction ?? {};
  const texts = [
    sectionsReminder(rules, { sections, maxChars: sectionsMaxChars }),
    readAudit(lost, { workspace, inPrompt: inPrompt.map(({ path }) => path) }),
  ];
  return texts.filter((text) => text !== undefined);
}

type Ports = Pick<DispatchPorts, "settings">;

/** The agent of a session, or the default agent when the config no longer has it. */
function agentOf(session: Pick<Session, "agentId">, ports: Ports): AgentSettings {
  const settings = ports.settings();
  const agent = settings.agents.get(session.agentId) ?? settings.agents.get(settings.defaultAgent);
  if (!agent) throw new Error(`no agent ${session.agentId}`);
  return agent;
}

/**
 * Whether people are informed that their conversation was summarised: where the config says so, and where they see tool
 * calls.
 */
function showsCompaction(session: Pick<Session, "agentId" | "entry">, ports: Ports): boolean {
  const { compaction, verbose = "off" } = agentOf(session, ports);
  const level = verboseLevelOf(session.entry.verboseLevel) ?? verbose;
  return compaction?.notifyUser === true || level !== "off";
}

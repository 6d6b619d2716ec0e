import type { RunEnd } from "../../harness/run-end.ts";
import type { Run } from "../../harness/run.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { InboxRow, Outcome } from "../../types/journal.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { AnswerFilter } from "../../types/turn-kind.ts";
import { answer } from "../answer/answer.ts";
import { showAtWork, type AtWork } from "../signals/typing.ts";
import { addressed, askerFor } from "../approvals/prompter.ts";
import { BeforeTool } from "../answer/tool-send-barrier.ts";
import { claimRows } from "./claim-rows.ts";
import { endAsBefore, finishRows, finishSteered } from "./earlier-end.ts";
import type { LaneTask, TurnPlace } from "../queue/lane.ts";
import { makeRoom } from "../maintenance/post-turn.ts";
import { keepRecord } from "./record-run.ts";
import { logRun } from "./log-run.ts";
import type { Waiting } from "../ports.ts";
import { leaveBehind } from "../recovery/unanswered-turns.ts";
import { endOf, isUnfinished, outcomeOf, wordsIn } from "./run-end.ts";
import type { ShedCause } from "../queue/lanes.ts";
import { readySession, safeTools } from "./reconcile.ts";
import type { RunnerPorts } from "./ports.ts";
import { candidatesFor } from "./candidates.ts";
import { askedFor, beginRun, joiningTurn, prepareTurn, type PreparedTurn } from "./prepare.ts";
import { agentGone, agentStopped, BROKEN, NOT_ANSWERED, QUEUE_FULL } from "../words.ts";

interface Going {
  readonly run: Run;
  readonly order: BeforeTool;
}

/** Brings waiting rows to their outcome. */
export class TurnRunner {
  readonly #ports: RunnerPorts;

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  async run(key: SessionKey, waiting: Waiting, place: TurnPlace): Promise<void> {
    const settings = this.#ports.settings();
    const agentId = settings.agentOf(key);
    const agent = settings.agents.get(agentId);
    if (!agent) return this.#refuseAgent(agentId, waiting);
    if (agent.stopped !== undefined) return this.#refuseStopped(agent, agent.stopped, waiting);
    const taken = await claimRows(waiting, key, this.#ports.journal.inbox);
    if (!taken) return this.#leave(waiting);
    this.#ports.replies.acks.end(waiting.rows.filter((row) => !taken.rows.includes(row)));
    const session = await this.#ports.sessions.acquire(key);
    try {
      if (!this.#mayAnswer(key, session, taken)) return await this.#refuseSession(key, taken);
      if (await endAsBefore(taken, session, { ...this.#ports, head: waiting.rows[0] })) return;
      await this.#renewWhenOver(session, taken);
      await this.#take(session, agent, taken, place);
    } finally {
      session.release();
    }
  }

  /** Somebody ended the messages while they waited. */
  #leave({ log, rows }: Waiting): void {
    this.#ports.replies.endLog(log, { kind: "aborted", by: "user" });
    this.#ports.replies.acks.end(rows);
  }

  /** Files may take a minute to come: the chat sees from the start that its message is being worked on. */
  async #take(session: Session, agent: AgentSettings, waiting: Waiting, place: TurnPlace): Promise<void> {
    const atWork = showAtWork(waiting.rows, agent, this.#ports);
    try {
      const prepared = await prepareTurn(waiting, session, agent, { ...this.#ports, stopping: place.stopping });
      if (!prepared) return;
      await readySession(prepared, session, this.#ports);
      await this.#runPrepared(prepared, session, waiting, { place, atWork });
    } finally {
      atWork.rest();
    }
  }

  async #refuseAgent(agent: AgentId, { rows, log }: Waiting): Promise<void> {
    this.#ports.log.warn("agent is gone", { agent, inbox: rows.map((row) => row.id) });
    await this.#ports.replies.refuse(rows, log, agentGone(agent), `agent_gone: there is no agent "${agent}" any more`);
  }

  /** Owners are told which key it is, others that it is no fault of theirs. */
  async #refuseStopped({ id }: AgentSettings, why: string, { rows, log }: Waiting): Promise<void> {
    this.#ports.log.warn("agent is stopped", { agent: id, why, inbox: rows.map((row) => row.id) });
    const { isOwner } = this.#ports.settings();
    const forOwners = rows.every(({ message }) => message.options?.operator === true || isOwner(message));
    await this.#ports.replies.refuse(rows, log, agentStopped(id, forOwners ? why : undefined), `agent_stopped: ${why}`);
  }

  #mayAnswer(key: SessionKey, { entry }: Session, { rows: [row] }: Waiting): boolean {
    if (entry.sendPolicy !== undefined) return entry.sendPolicy !== "deny";
    return row === undefined || this.#ports.settings().mayAnswer?.(key, row.message.from) !== false;
  }

  /** A chat hears nothing, as if the bot were not there; a client, which waits for an end, is told. */
  async #refuseSession(session: SessionKey, { rows, log }: Waiting): Promise<void> {
    const { replies, journal } = this.#ports;
    this.#ports.log.info("session is not answered", { session, inbox: rows.map((row) => row.id) });
    const why = `send_policy: the session ${session} is not to be answered`;
    if (log) return replies.refuse(rows, log, NOT_ANSWERED, why);
    await journal.inbox.finish(
      rows.map((row) => row.id),
      { kind: "dropped", why },
    );
    replies.acks.end(rows);
  }

  /** A conversation that was left alone for long begins anew; its transcript is archived. */
  async #renewWhenOver(session: Session, waiting: Waiting): Promise<void> {
    const [row] = waiting.rows;
    if (!row || waiting.isReplay === true || session.isNew || !this.#ports.kinds.of(row.message).isUse) return;
    const now = this.#ports.clock.now();
    if (!this.#ports.settings().isOver(row.message.from, session.entry.updatedAt, now)) return;
    this.#ports.log.info("conversation begins anew", { session: session.key });
    await session.reset();
  }

  async #runPrepared(
    prepared: PreparedTurn,
    session: Session,
    waiting: Waiting,
    { place, atWork }: { place: TurnPlace; atWork: AtWork },
  ): Promise<void> {
    const usedAt = session.entry.updatedAt;
    const candidates = await candidatesFor(prepared.message, session, prepared.agent, this.#ports);
    const before = candidates.length > 1 ? await this.#ports.journal.runs.last(session.key) : undefined;
    const order = new BeforeTool();
    const tools = await safeTools(prepared, session, this.#ports);
    const run: Run = beginRun(
      prepared,
      session,
      { ...this.#ports, ...tools },
      {
        candidates,
        ...(addressed(prepared.message) && { beforeTool: (callId) => order.wait(callId) }),
        askedBefore: before?.receipt.candidates?.[0],
        log: waiting.log,
        behind: this.#ports.compactions.costs.behind(prepared.facts),
        approvals: this.#ports.approvals.deskFor(
          askedFor(prepared, this.#ports),
          askerFor(prepared, () => run, this.#ports),
        ),
      },
    );
    const stopped = new AbortController();
    const abort: Run["abort"] = (by) => {
      run.abort(by);
      stopped.abort(by);
    };
    place.begin({ ...run, abort });
    this.#ports.board.add(run.stream, prepared.message.options?.operator === true);
    logRun(run.stream, this.#ports.log);
    atWork.follow(run.stream);
    const outcome = await this.#followToEnd(prepared, session, { run, order }).finally(() => atWork.rest());
    const diskError = run.diskError();
    if (diskError !== undefined) {
      // The lane waits for the disk and tells the chat; a record of this run would wait for the same disk first.
      await run.settle();
      throw diskError;
    }
    const isOver = await this.#settle(prepared, session, run, outcome);
    await run.settle();
    // A turn that is looked at again has to be found as it was.
    if (!isOver || outcome === "unfinished") return;
    await this.#end({ prepared, outcome, usedAt }, session, run);
    if (prepared.kind.maintenance === "full")
      await makeRoom({ prepared, session, run, candidates, signal: stopped.signal }, this.#ports);
  }

  async #end(
    { prepared, outcome, usedAt }: { prepared: PreparedTurn; outcome: Outcome; usedAt: number },
    session: Session,
    run: Run,
  ): Promise<void> {
    const { message, turn, kind } = prepared;
    if (!kind.end) return;
    const { texts } = await endOf(run);
    const { clock, journal, log, replies } = this.#ports;
    const ended = { message, turnId: turn.entryId, outcome, text: wordsIn(texts), usedAt };
    await kind.end(ended, session, {
      now: () => clock.now(),
      addEvent: (key, text) => journal.events.add(key, text),
      abandon: (of, turnId, why) => leaveBehind(of, turnId, log, why),
      note: (key, entry) => replies.noteElsewhere(key, entry),
    });
  }

  /** The session belongs to the run until it has ended, also when its answer cannot be brought. */
  async #followToEnd(prepared: PreparedTurn, session: Session, going: Going): Promise<Outcome | "unfinished"> {
    const { run } = going;
    try {
      return await this.#follow(prepared, session, going);
    } catch (error) {
      run.abort("shutdown");
      await run.stream.done;
      throw error;
    }
  }

  /** Channels are answered through the outbox; for web, HTTP and command line the transcript is the delivery. */
  async #follow(prepared: PreparedTurn, { entry }: Session, { run, order }: Going): Promise<Outcome | "unfinished"> {
    const message = addressed(prepared.message);
    const { kind } = prepared;
    const filter = kind.filter?.(prepared.message, entry, this.#ports.clock.now());
    if (!message) return operatorOutcome(await endOf(run), filter);
    const { journal, outbox } = this.#ports;
    const [row] = prepared.rows;
    const inboxId = row?.id ?? 0;
    const isReplay = (row?.attempts ?? 0) > 0;
    return answer(
      {
        stream: run.stream,
        inboxId,
        message,
        style: this.#ports.settings().chat(message.from),
        agent: prepared.agent,
        media: this.#ports.media,
        closedPaths: this.#ports.closedPaths,
        clock: this.#ports.clock,
        rowsNow: () => journal.outbox.of(inboxId),
        earlier: isReplay ? await journal.outbox.of(inboxId) : [],
        earlierPreview: isReplay ? await journal.outbox.previewOf(inboxId) : undefined,
        earlierLength: isReplay ? await journal.outbox.previewLengthOf(inboxId) : 0,
        said: (callId) => order.said(callId),
        kind,
        filter,
      },
      outbox,
    );
  }

  /** False when the turn is looked at again after the next start. */
  async #settle(prepared: PreparedTurn, session: Session, run: Run, outcome: Outcome | "unfinished"): Promise<boolean> {
    const end = await endOf(run);
    try {
      await keepRecord(prepared, session, end, this.#ports);
      if (outcome !== "unfinished") await finishRows(prepared.rows, outcome, this.#ports);
      return outcome !== "unfinished";
    } catch (error) {
      // The answer is on its way. Without its outcome the turn is looked at again after the next start, and not run twice.
      this.#ports.log.error("run not recorded", { run: prepared.facts.runId, error });
      return false;
    }
  }

  /** Into a running turn. The claim comes first, so that a crash finds the message again. */
  async steer(run: Run, key: SessionKey, waiting: Waiting): Promise<boolean> {
    const [row, ...more] = waiting.rows;
    if (!row) return true;
    const settings = this.#ports.settings();
    const agent = settings.agents.get(settings.agentOf(key));
    // Files are fetched for a turn of their own.
    if (!agent || more.length > 0 || hasFiles(row)) return false;
    const turn = joiningTurn(waiting, row, agent, this.#ports);
    const claim = { sessionKey: key, runId: run.stream.facts.runId, turnId: turn.entryId };
    if ((await this.#ports.journal.inbox.claim([row.id], claim)).length === 0) {
      this.#leave(waiting);
      return true;
    }
    if (!(await run.steer(turn))) return false;
    // It is part of the turn from here on: whatever fails now must not make it one of its own.
    await finishSteered(row, this.#ports);
    this.#ports.replies.acks.end([row]);
    this.#ports.replies.endLog(waiting.log, { kind: "replied", stop: "stop" });
    return true;
  }

  /** Tasks that the lane gave up: told, and ended. */
  async shed(task: LaneTask, why: ShedCause): Promise<void> {
    const { rows, log } = task.kind === "turn" ? task.waiting : task;
    if (why === "stopped") await this.#ports.replies.drop(rows, log);
    else await this.#ports.replies.refuse(rows, log, why === "full" ? QUEUE_FULL : BROKEN);
  }
}

/** Its own, or those of the message that it answers. */
const hasFiles = ({ message: { media, replyTo } }: InboxRow): boolean =>
  media.length + (replyTo?.media?.length ?? 0) > 0;

function operatorOutcome({ result, texts }: RunEnd, filter: AnswerFilter | undefined): Outcome | "unfinished" {
  if (isUnfinished(result)) return "unfinished";
  return outcomeOf(result, filter === undefined || filter(wordsIn(texts)) !== "");
}

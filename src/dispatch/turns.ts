import type { Run } from "../harness/run.ts";
import type { SessionKey } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import type { LaneTask, QueuedTurn, TurnSlot } from "./queue/lane-task.ts";
import type { TaskRefusalCause, TurnHandler, Waiting } from "./queue/task-runner.ts";
import { BROKEN, QUEUE_FULL } from "./notices/chat-texts.ts";
import { liveLines } from "./turn/live-state.ts";
import type { TurnPorts } from "./turn/ports.ts";
import { StartGate } from "./queue/start-gate.ts";
import { hasOwnerRights } from "../types/run/principal.ts";
import { principalOf } from "./turn-facts.ts";
import { TURN_STAGES } from "./turn-stages.ts";
import { waitingOf } from "./turn/waiting.ts";
import { Turn } from "./turn/turn.ts";
import { notifyPrepared } from "./turn/message-hooks.ts";
import { NO_MEDIA } from "./media/media.ts";
import { saidIn } from "./directives/said.ts";
import { joiningTurn } from "./turn/body.ts";
import { leave, loadRows } from "./stages/claim.ts";
import { leaveUnanswered } from "./notices/acks.ts";
import { retryWhileDiskFull } from "../store/retry-while-disk-full.ts";

/** Runs the turns of the lanes, steers them into another turn, or refuses them. */
export class Turns implements TurnHandler<Run> {
  readonly #ports: TurnPorts;
  readonly #gate: StartGate;

  constructor(ports: TurnPorts) {
    const {
      clock,
      shared: { approvals, registry },
    } = ports;
    this.#gate = new StartGate(clock);
    const liveState = (key: SessionKey) => [
      ...liveLines(key, {
        approvals: approvals.list(),
        runs: registry.running(),
        spawnerOf: (other) => ports.storage.sessions.peek(other)?.spawnedBy,
      }),
      ...ports.prompts.liveState(key),
    ];
    this.#ports = { ...ports, prompts: { ...ports.prompts, liveState } };
  }

  /** The session of the messages as the config has it now; the lane's own when the messages differ in it. */
  routeOf(key: SessionKey, { rows }: QueuedTurn): SessionKey {
    const [current = key, ...others] = new Set(rows.map((row) => this.#routeOfRow(row, key)));
    return others.length > 0 ? key : current;
  }

  #routeOfRow({ sessionKey, message }: InboxRow, key: SessionKey): SessionKey {
    if (sessionKey !== undefined || message.options?.operator === true) return key;
    return message.options?.sessionKey ?? this.#ports.settings().keyFor(message);
  }

  waitingOf(key: SessionKey, queued: QueuedTurn): Waiting {
    return waitingOf(key, queued, this.#ports);
  }

  /** Runs the stages of a turn in order. No further stage begins after the lane has released the turn. */
  async run(key: SessionKey, queued: QueuedTurn, slot: TurnSlot<Run>): Promise<void> {
    const passage = await this.#gate.enter();
    const turn = new Turn(key, queued, slot, passage);
    try {
      for (const stage of TURN_STAGES) {
        if (slot.isReleased) return;
        slot.at(stage.name);
        if ((await stage.run(turn, this.#ports)) === "over") return;
      }
    } finally {
      turn.close();
      passage.ended();
    }
  }

  steer(run: Run, key: SessionKey, queued: QueuedTurn): Promise<boolean> {
    return steer(run, key, queued, this.#ports);
  }

  /**
   * Whether messages may join the running turn. A guest's message must not get an owner's rights. A turn that is queued
   * alone may answer nothing, so no message joins it.
   */
  maySteer({ rows }: QueuedTurn, running: readonly InboxRow[]): boolean {
    if (running.some((row) => this.#ports.kinds.of(row.message).queue === "alone")) return false;
    return this.#isOwners(rows) || !this.#isOwners(running);
  }

  /**
   * Whether messages may end the running turn. By a message without `/stop`, only an owner ends an owner's turn.
   * Everybody ends a turn that no person asked for: a person's message is queued by the mode of the queue.
   */
  mayInterrupt({ rows }: QueuedTurn, running: readonly InboxRow[]): boolean {
    const asked = running.filter((row) => this.#ports.kinds.of(row.message).queue === "by_mode");
    return asked.length === 0 || this.#isOwners(rows) || !this.#isOwners(asked);
  }

  #isOwners(rows: readonly InboxRow[]): boolean {
    return rows.every((row) => hasOwnerRights(principalOf([row], this.#ports)));
  }

  onDiskFull(task: LaneTask, error: unknown): Promise<void> {
    const rows = task.kind === "turn" ? task.queued.rows : task.rows;
    return this.#ports.shared.replies.diskFull(rows, { error, isAdmitted: true });
  }

  async refuse(task: LaneTask, why: TaskRefusalCause): Promise<void> {
    const { rows, log } = task.kind === "turn" ? task.queued : task;
    if (why === "stopped") await this.#ports.shared.replies.drop(rows, log);
    else await this.#ports.shared.replies.refuse(rows, log, why === "full" ? QUEUE_FULL : BROKEN);
  }
}

/**
 * Puts a message into a running turn. False when it has to become its own turn, true when nothing of it is left to do,
 * also because it was dropped or claimed elsewhere. The claim comes first, so that the next
 * start finds the message after a crash.
 */
async function steer(run: Run, key: SessionKey, queued: QueuedTurn, ports: TurnPorts): Promise<boolean> {
  if (queued.rows.length > 1) return false;
  const [row] = (await loadRows(queued, ports))?.rows ?? [];
  if (!row) return true;
  const settings = ports.settings();
  const agent = settings.agents.get(settings.agentOf(key));
  const { queue: _queue, ...ofATurnOfItsOwn } = saidIn(row.message, key, ports).values;
  // Files are fetched only for a turn of their own, and only such a turn can think and show what its message asks for.
  if (!agent || hasFiles(row) || Object.keys(ofATurnOfItsOwn).length > 0) return false;
  const turn = joiningTurn({ ...queued, rows: [row] }, row, agent, { key, ports });
  const claim = { sessionKey: key, agentId: agent.id, runId: run.stream.facts.runId, turnId: turn.entryId };
  if ((await ports.storage.journal.inbox.claim([row.id], claim)).length === 0) {
    leave(queued, ports);
    return true;
  }
  if (!(await run.steer(turn))) return false;
  notifyPrepared({ rows: [row], key, text: turn.text, spoken: NO_MEDIA.spoken }, ports);
  // The message is part of the running turn now: no failure from here on may make it a turn of its own.
  await finishSteered(row, ports);
  ports.shared.replies.acks.end([row]);
  leaveUnanswered([row], ports);
  ports.shared.replies.endLog(queued.log, { kind: "replied", stop: "stop" });
  return true;
}

/** Ends a message that is now part of a running turn. Never rejects: as its own turn it would be answered twice. */
async function finishSteered({ id }: InboxRow, ports: Pick<TurnPorts, "storage" | "clock" | "log">): Promise<void> {
  try {
    await retryWhileDiskFull("outcome", () => ports.storage.journal.inbox.finish([id], { kind: "steered" }), ports);
  } catch (error) {
    // The next start sees the message in the transcript.
    ports.log.error("outcome of a steered message not recorded", { inbox: id, error });
  }
}

/** Whether a message has files, or the message that it replies to. */
const hasFiles = ({ message: { media, replyTo } }: InboxRow): boolean =>
  media.length + (replyTo?.media?.length ?? 0) > 0;

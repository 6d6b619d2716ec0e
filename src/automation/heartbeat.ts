import { z } from "zod";
import { DEFAULT_ACCOUNT, type AgentId, type SessionKey } from "../types/ids.ts";
import { keyField } from "../types/key-field.ts";
import type { Clock } from "../types/clock.ts";
import type { Inbox, InboxRow } from "../types/journal.ts";
import type { Answer } from "../types/method.ts";
import type { Log } from "../types/log.ts";
import type { InboundMessage, Peer } from "../types/chat/message.ts";
import type { AgentSettings, HeartbeatSettings } from "../types/settings.ts";
import { hasTasks } from "./checklist.ts";
import { isActive, pausedUntil, slotAt } from "./schedule.ts";
import { HEARTBEAT, wakeUp, type BeatCause } from "./wake-up.ts";

/** The chat that gets a heartbeat's report, and the conversation in which it runs. */
export interface BeatPlace {
  /** Chat of the report; when unset, the report stays in the heartbeat's own transcript. */
  readonly to?: Peer;
  readonly sessionKey: SessionKey;
  /** The conversation of the chat that gets the report, when the heartbeat runs in another one. */
  readonly tell?: SessionKey;
  /** Reason why there is no chat, although the config names one. */
  readonly problem?: string;
}

export interface HeartbeatPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly inbox: Pick<Inbox, "find">;
  /** The agents of the present config. */
  agents(): readonly AgentSettings[];
  /** `HEARTBEAT.md` of a workspace; undefined when there is none. */
  checklist(workspace: string): Promise<string | undefined>;
  place(agent: AgentSettings, settings: HeartbeatSettings, cause: BeatCause): Promise<BeatPlace>;
  /** The conversation that gets news of an agent without a heartbeat. */
  mainOf(agent: AgentSettings): Promise<SessionKey>;
  isBusy(key: SessionKey): boolean;
  isAnyBusy(): boolean;
  /** Adds an event to the next turn of a conversation. Resolves when the event is durable. */
  tell(key: SessionKey, text: string): Promise<void>;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
}

/** The latest heartbeat of an agent. Times are epoch milliseconds. */
const beat = z.looseObject({
  agentId: z.string(),
  at: z.number(),
  cause: z.string(),
  everyMs: z.number(),
  /** The next slot; unset while heartbeats are switched off. */
  nextAt: z.number().optional(),
  /** Reason why the heartbeat was skipped. */
  skipped: z.string().optional(),
  problem: z.string().optional(),
  /** The heartbeat's row in the inbox, if it was not skipped, with its state and its outcome. */
  inbox: z.number().optional(),
  runId: z.string().optional(),
  sessionKey: keyField().optional(),
  state: z.string().optional(),
  outcome: z.looseObject({ kind: z.string(), why: z.string().optional() }).optional(),
});
export type BeatLine = Answer<z.output<typeof beat>>;

/** The answer of `last-heartbeat`, `set-heartbeats` and of a `wake` that starts a heartbeat. */
export const heartbeatsAnswer = z.looseObject({
  ok: z.boolean().optional(),
  enabled: z.boolean(),
  agents: z.array(beat),
  /** The last heartbeat of all agents that has ended, as OpenClaw's clients read it. */
  ts: z.number().optional(),
  status: z.enum(["sent", "ok-token", "skipped", "failed"]).optional(),
  reason: z.string().optional(),
});

/** The same with the whole row. */
export interface BeatReport extends Omit<BeatLine, "inbox" | "state" | "outcome"> {
  readonly row?: InboxRow;
}

interface Beat {
  readonly at: number;
  readonly cause: BeatCause;
  readonly name?: string;
  readonly skipped?: string;
  readonly problem?: string | undefined;
}

type AgentWithHeartbeat = AgentSettings & { readonly heartbeat: HeartbeatSettings };

const hasHeartbeat = (agent: AgentSettings): agent is AgentWithHeartbeat => agent.heartbeat !== undefined;

interface Occasion {
  readonly agent: AgentWithHeartbeat;
  readonly place: BeatPlace;
  readonly now: number;
  readonly news?: string | undefined;
}

/** Longest time in milliseconds until a change of the config, or the end of a machine's sleep, is noticed. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Starts heartbeats at their times. Each heartbeat passes the pipeline of every message: journal, lane, run, outbox.
 */
export class Heartbeats {
  readonly #ports: HeartbeatPorts;
  readonly #slots = new Map<AgentId, { readonly everyMs: number; readonly at: number }>();
  /**
   * Slots that begin and end outside the active hours, as all later ones would: their heartbeat waits for the hours.
   */
  readonly #late = new Map<AgentId, number>();
  readonly #beats = new Map<AgentId, Beat>();
  /** The last heartbeat of each agent that was not skipped, and the number of failures in a row before it. */
  readonly #begun = new Map<AgentId, { readonly name: string; readonly at: number; readonly failures: number }>();
  readonly #underway = new Set<Promise<void>>();
  #cancel: () => void = () => undefined;
  #isOn = true;

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Switches heartbeats on or off, and ends the pauses after failures. */
  set isOn(on: boolean) {
    this.#isOn = on;
    this.#begun.clear();
  }

  /** Starts the timer. The present time slot gets no heartbeat: it began before this process. */
  start(): void {
    this.#tick();
  }

  /** Stops the timer. Resolves when every heartbeat that was begun is in the journal. */
  async close(): Promise<void> {
    this.#cancel();
    await Promise.all(this.#underway);
  }

  /**
   * Starts a heartbeat now, for a system event (`news`) or for the checklist, regardless of the active hours, the
   * checklist and a pause after failures. Undefined when the agent has no heartbeat.
   */
  async wake(id: AgentId, news?: string): Promise<BeatReport | undefined> {
    const agent = this.#woken().find((one) => one.id === id);
    if (!agent) return undefined;
    const now = this.#ports.clock.now();
    const cause = news === undefined ? "asked" : "event";
    const occasion = { agent, place: await this.#placeOf(agent, cause), now, news };
    await this.#begin(occasion, `heartbeat:${id}:${cause}:${now}`, cause);
    return (await this.reports()).find(({ agentId }) => agentId === id);
  }

  /**
   * Adds news to the next turn of the conversation in which the agent would report them; the agent needs no heartbeat
   * for that. False when there is no agent with this id. Resolves when the news are durable.
   */
  async tell(id: AgentId, text: string): Promise<boolean> {
    const agent = this.#ports.agents().find((one) => one.id === id);
    if (!agent) return false;
    const key = hasHeartbeat(agent)
      ? (await this.#placeOf(agent, "event")).sessionKey
      : await this.#ports.mainOf(agent);
    await this.#ports.tell(key, text);
    return true;
  }

  /** The reports of all agents that have a heartbeat. */
  async reports(): Promise<readonly BeatReport[]> {
    const { clock, inbox } = this.#ports;
    const now = clock.now();
    return Promise.all(
      this.#woken().map(async ({ id, heartbeat: { everyMs } }) => {
        const { at = now, cause = "interval" as const, name, skipped, problem } = this.#beats.get(id) ?? {};
        const row = name === undefined ? undefined : await inbox.find(HEARTBEAT, DEFAULT_ACCOUNT, name);
        return {
          agentId: id,
          at,
          cause,
          everyMs,
          ...(skipped !== undefined && { skipped }),
          ...(problem !== undefined && { problem }),
          ...(row && { row }),
          ...(this.#isOn && { nextAt: slotAt(id, everyMs, now) + everyMs }),
        };
      }),
    );
  }

  #woken(): readonly AgentWithHeartbeat[] {
    return this.#ports.agents().filter(hasHeartbeat);
  }

  #placeOf(agent: AgentWithHeartbeat, cause: BeatCause): Promise<BeatPlace> {
    return this.#ports.place(agent, agent.heartbeat, cause);
  }

  #tick(): void {
    const now = this.#ports.clock.now();
    let next = now + LONGEST_WAIT_MS;
    for (const agent of this.#woken()) {
      const { everyMs } = agent.heartbeat;
      const at = slotAt(agent.id, everyMs, now);
      const known = this.#slots.get(agent.id);
      this.#slots.set(agent.id, { everyMs, at });
      if (known?.everyMs === everyMs && at > known.at) this.#keep(this.#consider(agent, at, now));
      else if (this.#isDue(agent, at, now)) this.#keep(this.#consider(agent, at, now));
      next = Math.min(next, at + everyMs);
    }
    this.#cancel = this.#ports.clock.after(next - now, () => this.#tick());
  }

  /** Whether the slot waits for the active hours, and they have begun. */
  #isDue({ id, heartbeat }: AgentWithHeartbeat, slot: number, now: number): boolean {
    return this.#late.get(id) === slot && isActive(heartbeat.activeHours, now);
  }

  #keep(work: Promise<void>): void {
    const kept = work
      .catch((error: unknown) => this.#ports.log.error("heartbeat not begun", { error }))
      .finally(() => this.#underway.delete(kept));
    this.#underway.add(kept);
  }

  async #consider(agent: AgentWithHeartbeat, slot: number, now: number): Promise<void> {
    const occasion = { agent, place: await this.#placeOf(agent, "interval"), now };
    const { activeHours, everyMs } = agent.heartbeat;
    if (isActive(activeHours, now) || isActive(activeHours, slot + everyMs)) this.#late.delete(agent.id);
    else this.#late.set(agent.id, slot);
    const skipped = await this.#skipReason(occasion);
    if (skipped === undefined) return this.#begin(occasion, `heartbeat:${agent.id}:${slot}`, "interval");
    this.#beats.set(agent.id, { at: now, cause: "interval", skipped });
    this.#ports.log.debug("heartbeat skipped", { agent: agent.id, why: skipped });
  }

  /** Reason why the heartbeat is skipped this time; undefined when it is not. The cheapest checks come first. */
  async #skipReason({ agent, place, now }: Occasion): Promise<string | undefined> {
    const { heartbeat, workspace } = agent;
    if (!this.#isOn) return "switched off";
    if (!isActive(heartbeat.activeHours, now)) return "outside its active hours";
    if (heartbeat.skipWhenBusy && this.#ports.isAnyBusy()) return "another run is active";
    if (this.#ports.isBusy(place.sessionKey)) return "its conversation is busy";
    const pause = await this.#pauseOf(agent, now);
    if (pause !== undefined) return pause;
    if (heartbeat.prompt !== undefined || hasTasks(await this.#ports.checklist(workspace))) return undefined;
    return "HEARTBEAT.md has no tasks";
  }

  async #pauseOf({ id, heartbeat }: AgentWithHeartbeat, now: number): Promise<string | undefined> {
    const last = this.#begun.get(id);
    if (!last) return undefined;
    const row = await this.#ports.inbox.find(HEARTBEAT, DEFAULT_ACCOUNT, last.name);
    if (row && row.state !== "done") return "the previous one is still running";
    const isFailed = row?.outcome?.kind === "failed";
    const failures = isFailed ? last.failures + 1 : 0;
    const why = isFailed ? row.outcome.why : "";
    const until = isFailed ? pausedUntil({ at: last.at, failures, why }, heartbeat.everyMs) : now;
    if (until > now) return `paused until ${new Date(until).toISOString()} because it failed: ${why}`;
    this.#begun.set(id, { ...last, failures });
    return undefined;
  }

  async #begin({ agent, place, now, news }: Occasion, name: string, cause: BeatCause): Promise<void> {
    const { id, heartbeat: settings, timezone } = agent;
    const { sessionKey, to, tell, problem } = place;
    const message = wakeUp({ agentId: id, settings, timezone, cause, name, sessionKey, now, to, tell, news });
    await this.#ports.receive([message]);
    this.#begun.set(id, { name, at: now, failures: this.#begun.get(id)?.failures ?? 0 });
    this.#beats.set(id, { at: now, cause, name, problem });
    const chat = to === undefined ? "none" : `${to.channel}:${to.chat.id}`;
    this.#ports.log.info("heartbeat", { agent: id, session: sessionKey, cause, chat });
    if (problem !== undefined) this.#ports.log.warn("heartbeat without a chat", { agent: id, why: problem });
  }
}

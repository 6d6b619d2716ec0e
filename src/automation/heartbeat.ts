import { DEFAULT_ACCOUNT, type AgentId, type SessionKey } from "../types/ids.ts";
import type { Clock } from "../types/clock.ts";
import type { Inbox, InboxRow } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { InboundMessage, Peer } from "../types/chat/message.ts";
import type { AgentSettings, HeartbeatSettings } from "../types/settings.ts";
import { asksForSomething } from "./checklist.ts";
import { isActive, restUntil, slotAt } from "./schedule.ts";
import { HEARTBEAT, wakeUp, type BeatCause } from "./wake-up.ts";

/** Where a heartbeat speaks, and in which conversation. */
export interface BeatPlace {
  /** Its words stay in its own transcript when unset. */
  readonly to?: Peer;
  readonly sessionKey: SessionKey;
  /** The conversation of the chat that it speaks to, when that is another one. */
  readonly tell?: SessionKey;
  /** Why there is no chat, where one was wished for. */
  readonly problem?: string;
}

export interface HeartbeatPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly inbox: Pick<Inbox, "find">;
  /** As the config says now. */
  agents(): readonly AgentSettings[];
  /** `HEARTBEAT.md` of a workspace; undefined when there is none. */
  checklist(workspace: string): Promise<string | undefined>;
  place(agent: AgentSettings, settings: HeartbeatSettings, cause: BeatCause): BeatPlace;
  isBusy(key: SessionKey): boolean;
  isAnyBusy(): boolean;
  /** Puts news before the next turn of a conversation. Resolves when it is durable. */
  tell(key: SessionKey, text: string): Promise<void>;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
}

/** The last thing that came of an agent's heartbeat. */
export interface BeatReport {
  readonly agentId: AgentId;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly cause: BeatCause;
  /** Why the agent was not woken. */
  readonly skipped?: string;
  /** The inbox's row of the one that was. */
  readonly row?: InboxRow;
  /** Epoch milliseconds; none while they are switched off. */
  readonly nextAt?: number;
  readonly everyMs: number;
  readonly problem?: string;
}

interface Beat {
  readonly at: number;
  readonly cause: BeatCause;
  readonly name?: string;
  readonly skipped?: string;
  readonly problem?: string | undefined;
}

type Woken = AgentSettings & { readonly heartbeat: HeartbeatSettings };

interface Look {
  readonly agent: Woken;
  readonly place: BeatPlace;
  readonly now: number;
  readonly news?: string | undefined;
}

/** A change of the config and a sleeping machine are noticed after so long at the latest. */
const LONGEST_WAIT_MS = 60_000;

/** Wakes agents from time to time. What it says goes the way of every message: journal, lane, run, outbox. */
export class Heartbeats {
  readonly #ports: HeartbeatPorts;
  readonly #slots = new Map<AgentId, { readonly everyMs: number; readonly at: number }>();
  readonly #beats = new Map<AgentId, Beat>();
  /** The last one that was really begun, and how many before it failed in a row. */
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

  /** Switched on again, agents that rest after failures are woken at their next time. */
  set isOn(on: boolean) {
    this.#isOn = on;
    this.#begun.clear();
  }

  /** The slot that is under way now is not made up for: it began before this process did. */
  start(): void {
    this.#tick();
  }

  /** Resolves when no heartbeat is on its way into the journal any more. */
  async close(): Promise<void> {
    this.#cancel();
    await Promise.all(this.#underway);
  }

  /** Wakes an agent now, for news or to look at its list, whatever its hours, its list and its rest say. Undefined when it has no heartbeat. */
  async wake(id: AgentId, news?: string): Promise<BeatReport | undefined> {
    const agent = this.#woken().find((one) => one.id === id);
    if (!agent) return undefined;
    const now = this.#ports.clock.now();
    const cause = news === undefined ? "asked" : "event";
    const look = { agent, place: this.#placeOf(agent, cause), now, news };
    await this.#begin(look, `heartbeat:${id}:${cause}:${now}`, cause);
    return (await this.reports()).find(({ agentId }) => agentId === id);
  }

  /**
   * Gives an agent news for its next turn, in the conversation in which it would tell of them. False when no agent of this
   * name is woken; resolves when the news is durable.
   */
  async tell(id: AgentId, text: string): Promise<boolean> {
    const agent = this.#woken().find((one) => one.id === id);
    if (agent) await this.#ports.tell(this.#placeOf(agent, "event").sessionKey, text);
    return agent !== undefined;
  }

  /** Of every agent that has a heartbeat. */
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

  #woken(): readonly Woken[] {
    return this.#ports.agents().flatMap((agent) => (agent.heartbeat ? [{ ...agent, heartbeat: agent.heartbeat }] : []));
  }

  #placeOf(agent: Woken, cause: BeatCause): BeatPlace {
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
      if (known?.everyMs === everyMs && at > known.at) this.#keep(this.#look(agent, at, now));
      next = Math.min(next, at + everyMs);
    }
    this.#cancel = this.#ports.clock.after(next - now, () => this.#tick());
  }

  #keep(work: Promise<void>): void {
    const kept = work
      .catch((error: unknown) => this.#ports.log.error("heartbeat not begun", { error }))
      .finally(() => this.#underway.delete(kept));
    this.#underway.add(kept);
  }

  async #look(agent: Woken, slot: number, now: number): Promise<void> {
    const look = { agent, place: this.#placeOf(agent, "interval"), now };
    const skipped = await this.#hindrance(look);
    if (skipped === undefined) return this.#begin(look, `heartbeat:${agent.id}:${slot}`, "interval");
    this.#beats.set(agent.id, { at: now, cause: "interval", skipped });
    this.#ports.log.debug("heartbeat skipped", { agent: agent.id, why: skipped });
  }

  /** Why the agent is left alone this time; whatever costs nothing to know comes first. */
  async #hindrance({ agent, place, now }: Look): Promise<string | undefined> {
    const { heartbeat, workspace } = agent;
    if (!this.#isOn) return "switched off";
    if (!isActive(heartbeat.activeHours, now)) return "outside its active hours";
    if (heartbeat.skipWhenBusy && this.#ports.isAnyBusy()) return "another run goes on";
    if (this.#ports.isBusy(place.sessionKey)) return "its conversation is busy";
    const rest = await this.#restOf(agent, now);
    if (rest !== undefined) return rest;
    if (heartbeat.prompt !== undefined || asksForSomething(await this.#ports.checklist(workspace))) return undefined;
    return "HEARTBEAT.md asks for nothing";
  }

  async #restOf({ id, heartbeat }: Woken, now: number): Promise<string | undefined> {
    const last = this.#begun.get(id);
    if (!last) return undefined;
    const row = await this.#ports.inbox.find(HEARTBEAT, DEFAULT_ACCOUNT, last.name);
    if (row && row.state !== "done") return "the one before is still at work";
    const isFailed = row?.outcome?.kind === "failed";
    const failures = isFailed ? last.failures + 1 : 0;
    const why = isFailed ? row.outcome.why : "";
    const until = isFailed ? restUntil({ at: last.at, failures, why }, heartbeat.everyMs) : now;
    if (until > now) return `rests until ${new Date(until).toISOString()} since it failed: ${why}`;
    this.#begun.set(id, { ...last, failures });
    return undefined;
  }

  async #begin({ agent, place, now, news }: Look, name: string, cause: BeatCause): Promise<void> {
    const { id, heartbeat: settings, timezone } = agent;
    const { sessionKey, to, tell, problem } = place;
    const message = wakeUp({ agentId: id, settings, timezone, cause, name, sessionKey, now, to, tell, news });
    await this.#ports.receive([message]);
    this.#begun.set(id, { name, at: now, failures: this.#begun.get(id)?.failures ?? 0 });
    this.#beats.set(id, { at: now, cause, name, problem });
    const chat = to === undefined ? "none" : `${to.channel}:${to.chat.id}`;
    this.#ports.log.info("heartbeat", { agent: id, session: sessionKey, cause, chat });
    if (problem !== undefined) this.#ports.log.warn("heartbeat not into a chat", { agent: id, why: problem });
  }
}

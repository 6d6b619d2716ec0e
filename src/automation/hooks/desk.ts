import { createHash, randomUUID } from "node:crypto";
import { runIdOf } from "../../dispatch/turn-facts.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { Clock } from "../../types/clock.ts";
import { DEFAULT_ACCOUNT } from "../../types/ids.ts";
import type { Inbox, InboxRow, OutboxJournal } from "../../types/journal.ts";
import { endedRow, sentRows } from "../follow.ts";
import type { AgentAct, HookAct, HookRefusal } from "./acts.ts";
import type { HooksConfig } from "./config.ts";
import { HOOK, hookMessage, type HookPlace } from "./hook-message.ts";

export interface HookPorts {
  readonly clock: Clock;
  readonly journal: { readonly inbox: Pick<Inbox, "find" | "changes">; readonly outbox: Pick<OutboxJournal, "of"> };
  /** `hooks` of the present config. */
  config(): HooksConfig;
  /**
   * The place of the act's turn. `session`: its conversation, unless the turn is for the agent's main one. A text is
   * the reason why there is no place.
   */
  placeOf(act: HookAct, session: string | undefined): Promise<HookPlace | string>;
  /** Resolves when the message is durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  readonly signal: AbortSignal;
}

/** Turn that a request began. */
export interface HookRun {
  readonly runId: string;
  readonly eventKey: string;
}

/** Result of a turn that a caller waited for. */
export interface HookCompletion {
  readonly status: "ok" | "error" | "timeout";
  readonly replyDisposition?: "visible" | "silent" | "empty";
  readonly delivered?: boolean;
  readonly error?: string;
}

/** Milliseconds that a caller waits at most for a turn without a limit of its own. */
const WAIT_MS = 10 * 60_000;

/**
 * Characters of a session key. Other programs may have written a part of the key, and lists, terminals and logs show
 * it.
 */
const MOST_KEY_CHARS = 400;
const KEY = new RegExp(`^[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,${MOST_KEY_CHARS}}$`, "u");

const EMPTY = { replyDisposition: "empty" } as const;

/** Result of an answer that no chat got, by the outcome of its turn. */
const UNSENT: Readonly<Record<string, Pick<HookCompletion, "replyDisposition" | "delivered">>> = {
  silent: { replyDisposition: "silent" },
  replied: { replyDisposition: "visible", delivered: false },
};

/** Carries out the requests of other programs. */
export class HookDesk {
  readonly #ports: HookPorts;

  constructor(ports: HookPorts) {
    this.#ports = ports;
  }

  /**
   * Begins the acts of one request: all of them or, when one is refused, none. `key`: a second request with the same
   * key begins nothing. Resolves when all acts are durable.
   */
  async begin(acts: readonly HookAct[], key: string | undefined): Promise<readonly HookRun[] | HookRefusal> {
    const name = key === undefined ? randomUUID() : createHash("sha256").update(key).digest("hex").slice(0, 40);
    const now = this.#ports.clock.now();
    const messages: InboundMessage[] = [];
    for (const [at, act] of acts.entries()) {
      const eventKey = acts.length === 1 ? `hook-${name}` : `hook-${name}-${at}`;
      const place = await this.#placeOf(act, eventKey);
      if ("error" in place) return place;
      messages.push(hookMessage(act, eventKey, place, now));
    }
    await this.#ports.receive(messages);
    return Promise.all(messages.map((message) => this.#runOf(message)));
  }

  async #placeOf(act: HookAct, eventKey: string): Promise<HookPlace | HookRefusal> {
    const session = act.kind === "agent" ? this.#sessionOf(act, eventKey) : act.sessionKey;
    if (typeof session === "object") return session;
    if (session !== undefined && !KEY.test(session))
      return { status: 400, error: `sessionKey: at most ${MOST_KEY_CHARS} characters, and no control characters` };
    const place = await this.#ports.placeOf(act, session);
    return typeof place === "string" ? { status: 400, error: place } : place;
  }

  async #runOf({ eventKey }: InboundMessage): Promise<HookRun> {
    const row = await this.#find(eventKey);
    return { runId: row ? runIdOf(row) : eventKey, eventKey };
  }

  /** The conversation of a turn: its own, the configured one, or one for this turn alone. */
  #sessionOf({ sessionKey, sessionMode }: AgentAct, eventKey: string): string | HookRefusal {
    const { defaultSessionKey, allowedSessionKeyPrefixes: prefixes } = this.#ports.config();
    const named = sessionKey ?? defaultSessionKey;
    if (named === undefined) return eventKey.replace(/^hook-/, "hook:");
    if (sessionKey !== undefined && prefixes.length > 0 && !prefixes.some((prefix) => sessionKey.startsWith(prefix)))
      return { status: 400, error: "sessionKey: it begins with none of hooks.allowedSessionKeyPrefixes" };
    return sessionMode === "isolated" ? `${named}:run:${eventKey}` : named;
  }

  /** Waits for the end of a turn, at most `timeoutSeconds`. Returns the status `timeout` then. */
  async completionOf({ eventKey }: HookRun, timeoutSeconds: number | undefined): Promise<HookCompletion> {
    const { clock, journal, signal } = this.#ports;
    const overdue = new AbortController();
    const cancel = clock.after(timeoutSeconds === undefined ? WAIT_MS : timeoutSeconds * 1000, () => overdue.abort());
    const follow = { clock, journal, signal: AbortSignal.any([signal, overdue.signal]) };
    try {
      const row = await endedRow({ channel: HOOK, eventKey }, follow);
      return row ? await this.#resultOf(row, follow) : { status: "timeout" };
    } finally {
      cancel();
    }
  }

  async #resultOf(row: InboxRow, follow: Parameters<typeof sentRows>[1]): Promise<HookCompletion> {
    const { outcome } = row;
    if (outcome?.kind === "failed" || outcome?.kind === "dropped") return { status: "error", error: outcome.why };
    if (outcome?.kind === "aborted") return { status: "error", error: "the run was stopped" };
    const sent = await sentRows(row.id, follow);
    if (sent.length === 0) return { status: "ok", ...(UNSENT[outcome?.kind ?? ""] ?? EMPTY) };
    return { status: "ok", replyDisposition: "visible", delivered: sent.every(({ state }) => state === "sent") };
  }

  #find(eventKey: string): Promise<InboxRow | undefined> {
    return this.#ports.journal.inbox.find(HOOK, DEFAULT_ACCOUNT, eventKey);
  }
}

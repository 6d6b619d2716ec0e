import { randomInt } from "node:crypto";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { ApprovalRules } from "../../types/journal.ts";
import type { RunFacts } from "../../types/run/run.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { Approval, ApprovalDecision, ApprovalDesk, ApprovalQuestion } from "../../types/run/tool.ts";

export type Answer = Extract<ApprovalDecision, "allow-once" | "allow-always" | "deny">;

/** Milliseconds a person has; then it is a denial. */
const WAIT_MS = 5 * 60 * 1000;
const ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";

interface Pending {
  readonly approval: Approval;
  readonly settle: (decision: ApprovalDecision, by?: string) => void;
}

/** Tells the people who may answer: the chat, and every operator client. */
export interface ApprovalPrompter {
  /** False when the question is longer than one message of the chat: a part of it would be out of sight. */
  fits?(approval: Approval): Promise<boolean>;
  asked(approval: Approval): void;
  answered(approval: Approval, decision: ApprovalDecision): void;
}

/** For whom a run asks. */
export interface AskedFor {
  readonly facts: RunFacts;
  readonly principal: Principal;
  /** Where they wrote, in words. */
  readonly chat?: string;
}

/** Who answers when it is not said: whoever holds the gateway's token. */
const BY_OPERATOR = "operator";

/** Commands that wait for a person. Nothing survives a restart: a question left open is a denial. */
export class Approvals {
  readonly #pending = new Map<string, Pending>();
  readonly #rules: ApprovalRules;
  readonly #clock: Clock;
  #closed = false;
  readonly #log: Log;

  constructor(rules: ApprovalRules, clock: Clock, log: Log) {
    this.#rules = rules;
    this.#clock = clock;
    this.#log = log;
  }

  list(): readonly Approval[] {
    return [...this.#pending.values()].map((pending) => pending.approval);
  }

  /**
   * What the answer of an owner (`channel:id`) comes to; undefined when nothing waits under this id. What cannot be allowed
   * for good is allowed once.
   */
  resolve(id: string, decision: Answer, by = BY_OPERATOR): Answer | undefined {
    const pending = this.#pending.get(id.toLowerCase());
    if (!pending) return undefined;
    const isKept = decision !== "allow-always" || pending.approval.allowance !== undefined;
    const taken = isKept ? decision : "allow-once";
    pending.settle(taken, by);
    return taken;
  }

  /** The gateway stops: what nobody has answered by now is a denial, and so is every question from here on. */
  close(): void {
    this.#closed = true;
    for (const pending of this.#pending.values()) pending.settle("deny");
  }

  /** The desk of one run. */
  deskFor(asked: AskedFor, asker: ApprovalPrompter): ApprovalDesk {
    return { ask: (question, signal) => this.#ask({ ...question, asked, asker }, signal) };
  }

  async #ask(question: Question, signal: AbortSignal): Promise<ApprovalDecision | "unshown"> {
    const approval = this.#approvalFor(question);
    const { asker } = question;
    if (asker.fits && !(await asker.fits(approval))) return "unshown";
    if (signal.aborted) return "abort";
    if (this.#closed) return "deny";
    let givenBy = BY_OPERATOR;
    const decision = await new Promise<ApprovalDecision>((resolve) => {
      const cancel = this.#clock.after(WAIT_MS, () => settle("timeout"));
      const stop = () => settle("abort");
      const settle = (answer: ApprovalDecision, by = BY_OPERATOR) => {
        givenBy = by;
        cancel();
        signal.removeEventListener("abort", stop);
        this.#pending.delete(approval.id);
        resolve(answer);
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#pending.set(approval.id, { approval, settle });
      asker.asked(approval);
    });
    if (decision === "allow-always") await this.#remember(approval, givenBy);
    asker.answered(approval, decision);
    return decision;
  }

  /** A rule that cannot be written down still allowed this one. */
  async #remember({ agentId, allowance, id }: Approval, by: string): Promise<void> {
    if (allowance === undefined) return;
    try {
      await this.#rules.allow(agentId, allowance, by);
    } catch (error) {
      this.#log.error("approval not remembered", { approval: id, error });
    }
  }

  #approvalFor({ asked, asker: _asker, ...question }: Question): Approval {
    const createdAt = this.#clock.now();
    const { sessionKey, runId, agentId } = asked.facts;
    const { principal, chat } = asked;
    return {
      ...question,
      id: freshId(),
      sessionKey,
      runId,
      agentId,
      principal,
      ...(chat !== undefined && { chat }),
      createdAt,
      expiresAt: createdAt + WAIT_MS,
    };
  }
}

interface Question extends ApprovalQuestion {
  readonly asked: AskedFor;
  readonly asker: ApprovalPrompter;
}

/** Short enough to be typed on a phone. */
function freshId(): string {
  return Array.from({ length: 6 }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join("");
}

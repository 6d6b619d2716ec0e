import { randomInt } from "node:crypto";
import type { PersonsAnswer } from "../../types/answers/approvals.ts";
import { background } from "../../utils/background.ts";
import type { Clock } from "../../types/clock.ts";
import type { KeyValue } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import {
  answersTo,
  type Asked,
  type ClientQuestion,
  type EndedQuestion,
  type QuestionEnd,
} from "../../types/chat/question-end.ts";
import type { RunFacts } from "../../types/run/run.ts";
import type { Principal } from "../../types/run/principal.ts";
import type {
  Approval,
  ApprovalAnswer,
  ApprovalDecision,
  ApprovalDesk,
  ApprovalQuestion,
} from "../../types/run/tool.ts";
import type { Unasked } from "../../types/run/unasked.ts";
import type { AllowanceKeeper } from "../ports.ts";
import { QuestionEnds } from "./question-ends.ts";

/** Milliseconds that a person has to answer. After that the command is denied. */
const WAIT_MS = 5 * 60 * 1000;
const ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";

/** The most milliseconds that a client's own question may wait. */
const MOST_CLIENTS_MS = 10 * 60 * 1000;

interface Pending {
  readonly approval: Approval;
  readonly ended: Promise<QuestionEnd>;
  readonly settle: (end: QuestionEnd) => void;
}

/** Shows a question to the people who may answer it: in the chat, and in every operator client. */
export interface ApprovalPrompter {
  /** Why nobody could answer the question now; undefined when somebody could. Somebody always can when unset. */
  whyUnasked?(approval: Approval): Promise<Unasked | undefined>;
  asked(approval: Approval): void;
  answered(approval: Approval, decision: ApprovalDecision, end: QuestionEnd): void;
}

/** The run that asks, and the principal for whom the run acts. */
export interface AskedFor {
  readonly facts: RunFacts;
  readonly principal: Principal;
  /** The name of the chat. */
  readonly chat?: string;
}

/** The name of the answerer when none is given: the holder of the gateway's token. */
const BY_OPERATOR = "operator";

/** Commands that wait for an approval. A restart denies every question that is open. */
export class Approvals {
  readonly #pending = new Map<string, Pending>();
  readonly #keeper: AllowanceKeeper;
  readonly #clock: Clock;
  readonly #ends: QuestionEnds;
  #closed = false;
  readonly #log: Log;

  /** `values` keep how the last questions ended. */
  constructor(keeper: AllowanceKeeper, values: Pick<KeyValue, "get" | "set">, clock: Clock, log: Log) {
    this.#keeper = keeper;
    this.#ends = new QuestionEnds(values, clock, log);
    this.#clock = clock;
    this.#log = log;
  }

  list(): readonly Approval[] {
    return [...this.#pending.values()].map((pending) => pending.approval);
  }

  /**
   * Answers a question in the name of an owner (`channel:id`). Returns the decision that applies: a command that cannot
   * be allowed permanently is allowed once. Undefined when no question has this id, or when the question does not offer
   * the answer and still waits; see `offered`.
   */
  resolve(id: string, decision: PersonsAnswer, by = BY_OPERATOR): PersonsAnswer | undefined {
    const pending = this.#find(id);
    if (!pending) return undefined;
    const offered = answersTo(pending.approval);
    const taken = decision === "allow-always" && !offered.includes(decision) ? "allow-once" : decision;
    if (!offered.includes(taken)) return undefined;
    pending.settle({ how: taken, by });
    return taken;
  }

  /** The answers that an open question offers. Undefined when no question has this id. */
  offered(id: string): readonly PersonsAnswer[] | undefined {
    const pending = this.#find(id);
    return pending && answersTo(pending.approval);
  }

  /** The end to come of an open question. Undefined when no question has this id. */
  whenEnded(id: string): Promise<QuestionEnd> | undefined {
    return this.#find(id)?.ended;
  }

  /** The questions that ended lately, the last one first. */
  history(): Promise<readonly EndedQuestion[]> {
    return this.#ends.all();
  }

  /** An id that is typed on a phone may begin with a capital letter; a client's own id may have some. */
  #find(id: string): Pending | undefined {
    return this.#pending.get(id) ?? this.#pending.get(id.toLowerCase());
  }

  /**
   * How a question ended, which explains to the sender of a late answer why it is too late. Undefined when no question
   * had this id lately.
   */
  async endOf(id: string): Promise<QuestionEnd | undefined> {
    return (await this.#ends.of(id)) ?? this.#ends.of(id.toLowerCase());
  }

  /**
   * Asks what a client wants to know. Undefined when its id is taken, or the gateway stops. `ended` resolves with the first
   * answer, or when the time is over.
   */
  askFor(question: ClientQuestion): Asked | undefined {
    const { id = freshId(), timeoutMs = WAIT_MS, ...asked } = question;
    if (this.#closed || this.#find(id)) return undefined;
    const createdAt = this.#clock.now();
    const waitMs = Math.min(timeoutMs, MOST_CLIENTS_MS);
    const approval = { ...asked, id, createdAt, expiresAt: createdAt + waitMs };
    background("note of an approval question", this.#ends.asked(approval), this.#log);
    return { approval, ended: this.#wait(approval, waitMs, NEVER) };
  }

  /** Denies every open question and every further one, because the gateway stops. */
  close(): void {
    this.#closed = true;
    for (const pending of this.#pending.values()) pending.settle({ how: "restart" });
  }

  /** The approval desk of one run. */
  deskFor(asked: AskedFor, prompter: ApprovalPrompter): ApprovalDesk {
    return { ask: (question, signal) => this.#ask({ ...question, asked, prompter }, signal) };
  }

  async #ask(question: Question, signal: AbortSignal): Promise<ApprovalAnswer> {
    const approval = this.#approvalFor(question);
    const { prompter } = question;
    // The check is made only now, when the question is asked: people who could answer a waiting question may be back
    // before the question ends.
    const cause = prompter.whyUnasked && (await prompter.whyUnasked(approval));
    if (cause) return cause;
    if (signal.aborted) return "abort";
    if (this.#closed) return "deny";
    // Nobody waits for the note: a question is asked even when its id cannot be kept.
    background("note of an approval question", this.#ends.asked(approval), this.#log);
    const ended = this.#wait(approval, waitOf(question), signal);
    prompter.asked(approval);
    const end = await ended;
    if (end.how === "allow-always") await this.#remember(approval, end.by ?? BY_OPERATOR);
    const decision = end.how === "restart" ? "deny" : end.how;
    prompter.answered(approval, decision, end);
    return decision;
  }

  /**
   * Resolves with the first end of an open question, once the end is kept, so that no restart calls a question
   * unanswered whose command ran.
   */
  #wait(approval: Approval, waitMs: number, signal: AbortSignal): Promise<QuestionEnd> {
    const { promise: ended, resolve } = Promise.withResolvers<QuestionEnd>();
    const cancel = this.#clock.after(waitMs, () => settle({ how: "timeout" }));
    const stop = () => settle({ how: "abort" });
    const settle = (end: QuestionEnd) => {
      cancel();
      signal.removeEventListener("abort", stop);
      this.#pending.delete(approval.id);
      resolve(this.#ends.ended(approval, end).then(() => end));
    };
    signal.addEventListener("abort", stop, { once: true });
    this.#pending.set(approval.id, { approval, settle, ended });
    return ended;
  }

  /** Never rejects: a rule that cannot be stored has still allowed this command. */
  async #remember(approval: Approval, by: string): Promise<void> {
    if (approval.allowance === undefined) return;
    try {
      await this.#keeper.remember(approval, by);
    } catch (error) {
      this.#log.error("approval not remembered", { approval: approval.id, error });
    }
  }

  #approvalFor(whole: Question): Approval {
    const { asked, prompter: _prompter, timeoutMs: _timeoutMs, ...question } = whole;
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
      expiresAt: createdAt + waitOf(whole),
    };
  }
}

const NEVER = new AbortController().signal;

interface Question extends ApprovalQuestion {
  readonly asked: AskedFor;
  readonly prompter: ApprovalPrompter;
}

const waitOf = ({ timeoutMs = WAIT_MS }: ApprovalQuestion): number => Math.min(timeoutMs, WAIT_MS);

/** An id that is short enough to be typed on a phone. */
function freshId(): string {
  return Array.from({ length: 6 }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join("");
}

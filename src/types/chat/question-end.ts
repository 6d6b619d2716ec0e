import { PERSONS_ANSWERS, type PersonsAnswer } from "../answers/approvals.ts";
import type { Approval, ApprovalQuestion } from "../run/tool.ts";

/** The answers that a question offers. */
export const answersTo = ({
  allowing,
  allowance,
}: Pick<ApprovalQuestion, "allowing" | "allowance">): readonly PersonsAnswer[] => [
  ...(allowing ?? ["allow-once", ...(allowance === undefined ? [] : (["allow-always"] as const))]),
  "deny",
];

/** How a question to a person can end. `restart`: the gateway ended before anybody answered, which denied it. */
export const QUESTION_ENDS = [...PERSONS_ANSWERS, "timeout", "abort", "restart"] as const;

export interface QuestionEnd {
  readonly how: (typeof QUESTION_ENDS)[number];
  /**
   * Answerer: an owner (`channel:id`), or `operator` for a client with the gateway's token. Unset when nobody answered.
   */
  readonly by?: string;
}

/** A question that has ended. `at` is when; times are epoch milliseconds. */
export interface EndedQuestion extends Pick<
  Approval,
  "id" | "command" | "askedBy" | "plugin" | "agentId" | "sessionKey" | "createdAt" | "expiresAt"
> {
  /** The answers that it offered. */
  readonly answers: readonly PersonsAnswer[];
  readonly end: QuestionEnd;
  readonly at: number;
}

/** A question that a client asks through the gateway. The client may choose its id. */
export interface ClientQuestion extends ApprovalQuestion, Pick<Approval, "agentId" | "sessionKey" | "runId"> {
  readonly id?: string;
}

/** A client's question that waits. */
export interface Asked {
  readonly approval: Approval;
  readonly ended: Promise<QuestionEnd>;
}

const BY_NOBODY = {
  timeout: "nobody answered in time, so it was not run",
  abort: "its run was stopped, so it was not run",
  restart: "the gateway was restarted before anybody answered, which denied it",
} as const;

const BY_SOMEBODY = {
  "allow-once": "it was already allowed",
  "allow-always": "it was already allowed for good",
  deny: "it was already denied",
} as const;

/** Why an answer comes too late: a clause about the question. */
export function endText({ how, by }: QuestionEnd): string {
  if (how === "timeout" || how === "abort" || how === "restart") return BY_NOBODY[how];
  return by === undefined ? BY_SOMEBODY[how] : `${BY_SOMEBODY[how]} by ${by}`;
}

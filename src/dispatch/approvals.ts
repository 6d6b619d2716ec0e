import { randomInt } from "node:crypto";
import { allowanceFor } from "../tools/exec-policy.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import type { ApprovalRules } from "../types/journal.ts";
import type { RunFacts } from "../types/run.ts";
import type { Approval, ApprovalDecision, ApprovalDesk } from "../types/tool.ts";

export type Answer = Extract<ApprovalDecision, "allow-once" | "allow-always" | "deny">;

/** Milliseconds a person has; then it is a denial. */
const WAIT_MS = 5 * 60 * 1000;
const ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";

interface Pending {
  readonly approval: Approval;
  readonly settle: (decision: ApprovalDecision) => void;
}

/** Tells the people who may answer: the chat, and every operator client. */
export interface Asker {
  asked(approval: Approval): void;
  answered(id: string, decision: ApprovalDecision): void;
}

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

  /** False when nothing waits under this id. */
  resolve(id: string, decision: Answer): boolean {
    const pending = this.#pending.get(id.toLowerCase());
    pending?.settle(decision);
    return pending !== undefined;
  }

  /** The gateway stops: what nobody has answered by now is a denial, and so is every question from here on. */
  close(): void {
    this.#closed = true;
    for (const pending of this.#pending.values()) pending.settle("deny");
  }

  /** The desk of one run. */
  deskFor(facts: RunFacts, asker: Asker): ApprovalDesk {
    return { ask: (question, signal) => this.#ask({ ...question, facts, asker }, signal) };
  }

  async #ask(question: Question, signal: AbortSignal): Promise<ApprovalDecision> {
    if (signal.aborted) return "abort";
    if (this.#closed) return "deny";
    const approval = this.#approvalFor(question);
    const decision = await new Promise<ApprovalDecision>((resolve) => {
      const cancel = this.#clock.after(WAIT_MS, () => settle("timeout"));
      const stop = () => settle("abort");
      const settle = (answer: ApprovalDecision) => {
        cancel();
        signal.removeEventListener("abort", stop);
        this.#pending.delete(approval.id);
        resolve(answer);
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#pending.set(approval.id, { approval, settle });
      question.asker.asked(approval);
    });
    if (decision === "allow-always") await this.#remember(approval);
    question.asker.answered(approval.id, decision);
    return decision;
  }

  /** A rule that cannot be written down still allowed this one. */
  async #remember({ agentId, command, cwd, id }: Approval): Promise<void> {
    try {
      await this.#rules.allow(agentId, allowanceFor(command, cwd));
    } catch (error) {
      this.#log.error("approval not remembered", { approval: id, error });
    }
  }

  #approvalFor({ command, cwd, reason, facts }: Question): Approval {
    const createdAt = this.#clock.now();
    const { sessionKey, runId, agentId } = facts;
    return {
      id: freshId(),
      sessionKey,
      runId,
      agentId,
      command,
      cwd,
      reason,
      createdAt,
      expiresAt: createdAt + WAIT_MS,
    };
  }
}

interface Question extends Pick<Approval, "command" | "cwd" | "reason"> {
  readonly facts: RunFacts;
  readonly asker: Asker;
}

/** Short enough to be typed on a phone. */
function freshId(): string {
  return Array.from({ length: 6 }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join("");
}

export function approvalText(approval: Approval): string {
  const { command, cwd, id, reason } = approval;
  return [
    "The agent wants to run a command:",
    `\`\`\`sh\n${command.replaceAll("```", "` ` `")}\n\`\`\``,
    `in \`${cwd.replaceAll("`", "'")}\` (${reason}).`,
    `An owner answers within 5 minutes: /approve ${id} once, always or deny.`,
  ].join("\n");
}

export function approvalButtons(id: string) {
  return [
    { label: "Allow once", command: `/approve ${id} once` },
    { label: "Always", command: `/approve ${id} always` },
    { label: "Deny", command: `/approve ${id} deny` },
  ];
}

export const PLAN_STATUSES = ["pending", "in_progress", "completed"] as const;

export interface PlanStep {
  readonly step: string;
  readonly status: (typeof PLAN_STATUSES)[number];
}

/** Steps that an agent is going to take in a conversation, in order. */
export interface Plan {
  readonly explanation?: string | undefined;
  readonly steps: readonly PlanStep[];
}

const MARKS: Readonly<Record<PlanStep["status"], string>> = { completed: "✅", in_progress: "▶️", pending: "⬜" };

/** A plan as lines of text for a person. Pure. */
export const planLines = ({ explanation, steps }: Plan): readonly string[] => [
  ...(explanation === undefined ? [] : [explanation]),
  ...steps.map(({ step, status }) => `${MARKS[status]} ${step}`),
];

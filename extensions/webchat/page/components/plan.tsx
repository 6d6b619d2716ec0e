import type { VNode } from "preact";
import type { Plan, PlanStep } from "../model/plan.ts";
import { t } from "../words/words.ts";

const STATES: Readonly<Record<PlanStep["status"], readonly [mark: string, text: string]>> = {
  pending: ["○", t("Not begun")],
  in_progress: ["▸", t("In progress")],
  completed: ["✓", t("Done")],
};

/** The agent's plan with the state of each step. Nothing for an empty one, which removes the plan. */
export function PlanCard(props: { plan: Plan }): VNode | null {
  const { explanation, steps } = props.plan;
  if (steps.length === 0) return null;
  const done = steps.filter(({ status }) => status === "completed").length;
  return (
    <section class="tool plan" aria-label={t("Plan")}>
      <p class="tool-brief">{t("{done} of {length} done", { done, length: steps.length })}</p>
      <p class="plain">{explanation}</p>
      <ol>
        {steps.map(({ step, status }) => (
          <li class={status}>
            <span aria-hidden="true">{STATES[status][0]} </span>
            <span class="unseen">{STATES[status][1]}: </span>
            {step}
          </li>
        ))}
      </ol>
    </section>
  );
}

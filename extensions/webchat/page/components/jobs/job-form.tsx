import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import {
  scheduleDraft,
  fieldTime,
  NEW_SCHEDULE,
  SCHEDULE_KINDS,
  type ScheduleDraft,
  type ScheduleKind,
  scheduleOf,
  UNITS,
} from "../../jobs/schedule.ts";
import { stringOr } from "../../model/json.ts";
import { Choice, Field } from "../common/fields.tsx";
import { useFocus } from "../common/hooks.ts";
import { ActButton, AgentPick, useActing, type ViewProps } from "../views/view-parts.tsx";
import { language, t } from "../../words/words.ts";

type Job = Answers["cron.list"]["jobs"][number];

/** Whether the form can change a job: one whose agent gets a message at times that the form has. */
export const isEditable = ({ payload, schedule }: Job): boolean =>
  payload.kind === "agentTurn" && scheduleDraft(schedule) !== undefined;

interface JobFormProps {
  readonly view: ViewProps;
  /** Unset for a new job. */
  readonly job?: Job;
  readonly done: () => void;
}

/** Adds a job, or changes what an agent is to do and when. Times are those of the browser's zone. */
export function JobForm({ view, job, done }: JobFormProps): VNode {
  const form = useRef<HTMLFormElement>(null);
  useFocus(form);
  const acting = useActing(() => undefined);
  const [problem, setProblem] = useState<string>();
  const [agentId, setAgent] = useState(view.state.hello?.defaultAgent ?? "main");
  const [goesTo, setGoesTo] = useState("announce");
  const [draft, setDraft] = useState<ScheduleDraft>(
    () => (job && scheduleDraft(job.schedule)) ?? { ...NEW_SCHEDULE, at: fieldTime(new Date(Date.now() + 3_600_000)) },
  );
  const said = job?.payload.kind === "agentTurn" ? job.payload.message : "";
  const save = (given: FormData): void => {
    const message = stringOr(given.get("message")).trim();
    const name = stringOr(given.get("name")).trim();
    const read = scheduleOf(draft, zoneOf(job));
    if (message === "") return setProblem(t("Enter what the agent is to do."));
    if ("problem" in read) return setProblem(read.problem);
    setProblem(undefined);
    acting.act(async () => {
      if (job === undefined) await add(view, { ...read, message, name, agentId, goesTo });
      else await change(view, job, { ...read, message, name });
      done();
    });
  };
  return (
    <form
      ref={form}
      class="channel-form"
      aria-label={job === undefined ? t("New job") : t("Change {name}", { name: job.displayName ?? job.name })}
      onSubmit={(event) => (event.preventDefault(), save(new FormData(event.currentTarget)))}
    >
      <div>
        <label>
          {t("What the agent is to do")}
          <textarea name="message" rows={3} defaultValue={said} dir="auto" />
        </label>
      </div>
      <ScheduleFields draft={draft} setDraft={setDraft} />
      <Field
        name="name"
        label={t("Name (optional)")}
        value={job?.name}
        hint={t("The first words of what it does when empty.")}
      />
      {job === undefined && (
        <>
          <AgentPick agents={view.state.catalog.agents} value={agentId} choose={setAgent} />
          <Choice label={t("Its answer")} name="goesTo" value={goesTo} options={PLACES} choose={setGoesTo} />
        </>
      )}
      <FormFoot
        label={job === undefined ? t("Add the job") : t("Save")}
        problem={problem ?? acting.problem}
        isBusy={acting.isBusy}
        cancel={done}
      />
    </form>
  );
}

interface FootProps {
  readonly label: string;
  readonly problem: string | undefined;
  readonly isBusy: boolean;
  readonly cancel: () => void;
}

function FormFoot({ label, problem, isBusy, cancel }: FootProps): VNode {
  return (
    <>
      {problem !== undefined && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      <p class="channel-actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {label}
        </button>
        <ActButton label={t("Cancel")} act={cancel} />
      </p>
    </>
  );
}

const PLACES = [
  ["announce", t("is sent to the chat in which an owner last wrote")],
  ["none", t("stays in the runs of the job")],
] as const;

/** A job keeps its zone; a new one has that of the browser. */
const zoneOf = (job: Job | undefined): string =>
  (job?.schedule.kind === "cron" ? job.schedule.tz : undefined) ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;

interface Written {
  readonly schedule: Record<string, unknown>;
  readonly message: string;
  readonly name: string;
}

const named = (name: string) => (name === "" ? {} : { name });

const add = (
  { chat }: ViewProps,
  { schedule, message, name, agentId, goesTo }: Written & { readonly agentId: string; readonly goesTo: string },
): Promise<unknown> =>
  chat.ask("cron.add", {
    ...named(name),
    agentId,
    schedule,
    payload: { kind: "agentTurn", message },
    sessionTarget: "isolated",
    delivery: goesTo === "none" ? { mode: "none" } : { mode: "announce", channel: "last" },
  });

/** Refused when somebody else has changed the job meanwhile. */
const change = ({ chat }: ViewProps, job: Job, { schedule, message, name }: Written): Promise<unknown> =>
  chat.ask("cron.update", {
    id: job.id,
    expectedConfigRevision: job.configRevision,
    patch: { ...named(name), schedule, payload: { ...job.payload, message } },
  });

const KINDS: readonly (readonly [ScheduleKind, string])[] = SCHEDULE_KINDS.map((kind) => [
  kind,
  {
    days: t("at a time of the day"),
    every: t("again and again"),
    at: t("once"),
    cron: t("by an expression of cron"),
  }[kind],
]);

/** The days that can be chosen, in the language of the page. 4 January 1970 was a Sunday. */
const DAYS: readonly (readonly [string, string])[] = [
  ["*", t("every day")],
  ["1-5", t("Monday to Friday")],
  ...["1", "2", "3", "4", "5", "6", "0"].map(
    (day) =>
      [
        day,
        new Date(Date.UTC(1970, 0, 4 + Number(day))).toLocaleDateString(language(), {
          weekday: "long",
          timeZone: "UTC",
        }),
      ] as const,
  ),
];

const UNIT_NAMES: readonly (readonly [string, string])[] = Object.keys(UNITS).map((unit) => [
  unit,
  { minutes: t("minutes"), hours: t("hours"), days: t("days") }[unit] ?? unit,
]);

interface ScheduleProps {
  readonly draft: ScheduleDraft;
  readonly setDraft: (draft: ScheduleDraft) => void;
}

function ScheduleFields({ draft, setDraft }: ScheduleProps): VNode {
  const set = (part: Partial<ScheduleDraft>): void => setDraft({ ...draft, ...part });
  const time = (name: "time" | "at", type: "time" | "datetime-local"): VNode => (
    <div>
      <label>
        {t("At")}
        <input
          type={type}
          name={name}
          value={draft[name]}
          onInput={(event) => set({ [name]: event.currentTarget.value })}
        />
      </label>
    </div>
  );
  const text = (name: "count" | "expr", label: string): VNode => (
    <div>
      <label>
        {label}
        <input
          name={name}
          autocomplete="off"
          value={draft[name]}
          onInput={(event) => set({ [name]: event.currentTarget.value })}
        />
      </label>
    </div>
  );
  const choice = (name: "days" | "unit", label: string, options: readonly (readonly [string, string])[]): VNode => (
    <Choice
      label={label}
      name={name}
      value={draft[name]}
      options={options}
      choose={(value) => set({ [name]: value })}
    />
  );
  return (
    <>
      <Choice
        label={t("When")}
        name="kind"
        value={draft.kind}
        options={KINDS}
        choose={(value) => set({ kind: SCHEDULE_KINDS.find((kind) => kind === value) ?? "days" })}
      />
      {draft.kind === "days" && choice("days", t("On"), DAYS)}
      {draft.kind === "days" && time("time", "time")}
      {draft.kind === "every" && text("count", t("Every"))}
      {draft.kind === "every" && choice("unit", t("Unit"), UNIT_NAMES)}
      {draft.kind === "at" && time("at", "datetime-local")}
      {draft.kind === "cron" && text("expr", t("Expression"))}
    </>
  );
}

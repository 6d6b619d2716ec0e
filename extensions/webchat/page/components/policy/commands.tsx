import type { Answers } from "openclaw/plugin-sdk/answers";
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { keyOf } from "../../config/form.ts";
import { refusalBehind } from "../../model/connection.ts";
import { allowedRows, withoutLimit, withoutRow, type AllowedRow, type ApprovalsFile } from "../../policy/approved.ts";
import {
  commandsVerdict,
  ASKING_MODES,
  modeOf,
  modePatch,
  placeOfMode,
  type ExecMode,
  type ExplainedPolicy,
  type RuleSource,
} from "../../policy/verdicts.ts";
import { useNow } from "../common/hooks.ts";
import {
  ActButton,
  ListRow,
  mayAsk,
  Pick,
  RowList,
  SureButton,
  useActing,
  useAnswer,
  when,
  type ViewActs,
  type ViewProps,
} from "../views/view-parts.tsx";
import { OutcomeTag, SourceOf } from "./tool-row.tsx";
import { rich } from "../../words/rich.ts";
import { seen, t } from "../../words/words.ts";

interface CommandsProps {
  readonly view: ViewProps;
  readonly explained: ExplainedPolicy;
  /** Reads the rules again. */
  readonly changed: () => void;
}

/** The rules of commands of the agent, and the commands that run without a question. */
export function CommandRules({ view, explained, changed }: CommandsProps): VNode {
  const { exec } = explained;
  const { outcome, why, key, place } = commandsVerdict(explained);
  return (
    <>
      <RowList title={t("Commands")}>
        <ListRow
          name={t("Rules of commands")}
          title={
            <>
              {why} <OutcomeTag outcome={outcome} />
            </>
          }
        >
          <Origin source={{ key, place }} fallback="tools.exec.mode" view={view} />
          {mayAsk(view, "config.patch") && <Mode view={view} explained={explained} changed={changed} />}
        </ListRow>
        <ListRow name={t("Where commands run")} title={PLACES[exec.host.value] ?? exec.host.value}>
          <Origin source={exec.host} fallback="tools.exec.host" view={view} />
        </ListRow>
      </RowList>
      {mayAsk(view, "exec.approvals.set") && <Allowed view={view} explained={explained} changed={changed} />}
    </>
  );
}

interface OriginProps {
  readonly source: RuleSource;
  /** The key whose default holds when nothing says the value. */
  readonly fallback: string;
  readonly view: ViewProps;
}

const Origin = ({ source, fallback, view }: OriginProps): VNode => (
  <p class="view-row-facts">
    {source.key === undefined ? (
      rich("the default of {key}", { key: <SourceOf source={{ key: fallback }} view={view} /> })
    ) : (
      <SourceOf source={source} view={view} />
    )}
  </p>
);

const PLACES: Readonly<Record<string, string>> = {
  auto: t("Commands run in the sandbox if the session has one, else on the machine."),
  sandbox: t("Commands run in a sandbox, or not at all."),
  gateway: t("Commands run on the machine of the gateway."),
};

/** The choice of when a person is asked, and where it is written. */
function Mode({ view, explained: { exec, agentId }, changed }: CommandsProps): VNode {
  const [wanted, setWanted] = useState<ExecMode>();
  const [note, setNote] = useState<string>();
  const config = useAnswer(view, { method: "config.get", changedBy: ["config.changed"] });
  const acting = useActing(() => (config.again(), changed()));
  const now = modeOf(exec);
  const parsed = config.answer?.parsed;
  const place = keyOf(placeOfMode(parsed, agentId));
  const save = (mode: ExecMode, hash: string): void =>
    acting.act(async () => {
      setNote(undefined);
      try {
        await view.chat.ask("config.patch", { patch: modePatch(parsed, agentId, mode), baseHash: hash });
        setWanted(undefined);
      } catch (error) {
        if (refusalBehind(error)?.detail !== "CONFIG_CHANGED") throw error;
        setNote(t("The config changed meanwhile and was read again. Save once more if you still want this."));
      }
    });
  const { answer } = config;
  return (
    <>
      <p class="view-search">
        <Pick label={t("When a person is asked")} value={wanted ?? now} options={ASKING_MODES} choose={setWanted} />
        {wanted !== undefined && wanted !== now && answer && (
          <>
            <ActButton
              label={t("Save")}
              name={t("Save when a person is asked")}
              kind="primary"
              isDisabled={acting.isBusy}
              act={() => save(wanted, answer.hash)}
            />
            <ActButton label={t("Keep it as it is")} act={() => setWanted(undefined)} />
          </>
        )}
      </p>
      {wanted !== undefined && wanted !== now && <p class="hint">{consequences(wanted, place)}</p>}
      {note !== undefined && (
        <p class="view-row-error" role="alert">
          {note}
        </p>
      )}
      {acting.problem !== undefined && (
        <p class="view-row-error" role="alert">
          {acting.problem}
        </p>
      )}
    </>
  );
}

/** Where the mode is written, and what follows from it. */
function consequences(mode: ExecMode, key: string): string {
  const where =
    key === "tools.exec"
      ? t("This is written to {key} of the config, for every agent that has no such key of its own.", { key })
      : t("This is written to {key} of the config, for this agent alone.", { key });
  if (mode !== "full") return where;
  return `${where} ${t("Then nothing stops a command that a text from outside has talked the agent into.")}`;
}

type Document = Answers["exec.approvals.get"];

/** The commands that the approvals file lets run, and its limits. */
function Allowed({ view, explained: { exec, agentId }, changed }: CommandsProps): VNode {
  const now = useNow(60_000);
  const document = useAnswer(view, {
    method: "exec.approvals.get",
    changedBy: ["exec.approval.resolved", "config.changed"],
    isReadOnReturn: true,
  });
  const acting = useActing(() => (document.again(), changed()));
  const { answer } = document;
  const change = (edit: (file: ApprovalsFile) => ApprovalsFile): void =>
    acting.act(() => changeApprovals(view, edit, answer));
  const rows = answer ? allowedRows(answer.file, agentId) : [];
  const limits = (["security", "ask"] as const).filter((limit) => exec[limit].key === FILE);
  const problem = document.problem ?? acting.problem;
  return (
    <>
      {problem !== undefined && (
        <p class="outcome error" role="alert">
          {problem}
        </p>
      )}
      <RowList title={t("Limits of exec-approvals.json")}>
        {limits.map((limit) => (
          <ListRow
            key={limit}
            title={`${limit}: ${exec[limit].value}`}
            facts={[t("stricter than the config, so it counts")]}
            actions={
              <SureButton
                label={t("Lift the limit")}
                sure={t("Lift it: the config decides")}
                act={() => change((file) => withoutLimit(file, agentId, limit))}
              />
            }
          />
        ))}
      </RowList>
      <RowList
        title={t("Always allowed")}
        empty={answer && t("No command. Who answers a question with “always allow” adds one here.")}
      >
        {rows.map((row, at) => (
          <AllowedCommand
            key={at}
            row={row}
            now={now}
            acting={acting}
            remove={() => change((file) => withoutRow(file, row))}
          />
        ))}
      </RowList>
    </>
  );
}

const FILE = "exec-approvals.json";
/** How often a change is made to a file that others change too. */
const MOST_TRIES = 4;

/** Makes a change to the document as it is now: when somebody else changed it, to the new one. */
async function changeApprovals(
  { chat }: ViewProps,
  edit: (file: ApprovalsFile) => ApprovalsFile,
  known: Document | undefined,
): Promise<void> {
  let read = known ?? (await chat.ask("exec.approvals.get", {}));
  for (let tries = 1; ; tries += 1) {
    const file = edit(read.file);
    if (file === read.file) return;
    try {
      await chat.ask("exec.approvals.set", { file, ...(read.exists && { baseHash: read.hash }) });
      return;
    } catch (error) {
      if (tries === MOST_TRIES || refusalBehind(error)?.detail !== "APPROVALS_CHANGED") throw error;
      read = await chat.ask("exec.approvals.get", {});
    }
  }
}

interface AllowedProps {
  readonly row: AllowedRow;
  readonly now: number;
  readonly acting: ViewActs;
  readonly remove: () => void;
}

function AllowedCommand({ row, now, acting, remove }: AllowedProps): VNode {
  const { agent, title, args, cwd, givenBy, lastUsedAt, lastCommand } = row;
  const words: ComponentChildren = <code>{title}</code>;
  return (
    <ListRow
      name={title}
      title={words}
      facts={[
        args === undefined ? undefined : t("with arguments like {args}", { args }),
        cwd === undefined ? undefined : t("in {cwd}", { cwd }),
        agent === "*" ? t("for every agent") : undefined,
        givenBy === undefined ? undefined : t("allowed by {who}", { who: givenBy }),
        lastUsedAt === undefined ? t("not used yet") : t("last used {time}", { time: when(lastUsedAt, now) }),
      ]}
      actions={
        !acting.isBusy && (
          <SureButton label={t("Take out")} sure={t("Take it out: a person is asked again")} act={remove} />
        )
      }
    >
      {lastCommand !== undefined && lastCommand !== title && (
        <p class="view-row-facts">{rich("Last: {command}", { command: <code>{seen(lastCommand)}</code> })}</p>
      )}
    </ListRow>
  );
}

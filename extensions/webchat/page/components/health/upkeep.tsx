import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { commandAtEnd } from "../../health/troubles.ts";
import { factLine } from "../../model/format.ts";
import {
  ActButton,
  ListRow,
  mayAsk,
  RowList,
  TerminalCommand,
  useActing,
  useAnswer,
  type ViewProps,
  when,
} from "../views/view-parts.tsx";
import { t } from "../../words/words.ts";

interface VersionProps {
  readonly view: ViewProps;
  readonly version: string | undefined;
  readonly now: number;
}

/** The version that runs and the last update, as far as this client may see it, with the commands that change it. */
export function VersionRow(props: VersionProps): VNode {
  return mayAsk(props.view, "update.history") ? <UpdateRow {...props} /> : <PlainVersion {...props} />;
}

type Update = Answers["update.history"];

function UpdateRow({ view, version, now }: VersionProps): VNode {
  const { answer, problem } = useAnswer(view, { method: "update.history", isReadOnReturn: true });
  if (!answer) return <PlainVersion view={view} version={version} now={now} />;
  const { last, before, interrupted } = answer;
  return (
    <ListRow
      title={t("Version {version}", { version: answer.version })}
      facts={[last && lastText(last, now), t("a newer one is fetched, tried and put in its place by")]}
      error={problem ?? troubleOf(answer)}
    >
      <TerminalCommand command="openclaw update" />
      {interrupted && <TerminalCommand command="openclaw update cleanup" />}
      {before !== undefined && (
        <>
          <p class="view-row-facts">{t("Back to {version}, the one before:", { version: before })}</p>
          <TerminalCommand command="openclaw update back" />
        </>
      )}
    </ListRow>
  );
}

const PlainVersion = ({ version }: VersionProps): VNode => (
  <ListRow
    title={t("Version {version}", { version: version ?? t("unknown") })}
    facts={[t("a newer one is fetched, tried and put in its place by")]}
  >
    <TerminalCommand command="openclaw update" />
  </ListRow>
);

const OUTCOMES: Readonly<Record<string, string>> = {
  succeeded: t("succeeded"),
  failed: t("failed"),
  "rolled-back": t("was rolled back"),
  skipped: t("was not needed"),
};

function lastText({ to, at, outcome }: NonNullable<Update["last"]>, now: number): string {
  const time = at === undefined ? "" : when(Date.parse(at), now);
  const how = outcome === undefined ? t("has not ended") : (OUTCOMES[outcome] ?? outcome);
  return t("last update, to {version}, {outcome} ({time})", { version: to, outcome: how, time });
}

function troubleOf({ last, interrupted }: Update): string | undefined {
  if (interrupted) return t("The last update runs, or was interrupted; cleaning up settles it.");
  return last?.outcome === "failed" || last?.outcome === "rolled-back" ? last.why : undefined;
}

type Report = Answers["doctor.run"];

/** The checks of the doctor, which take some seconds: run when the person wants it. */
export function Doctor({ view }: { readonly view: ViewProps }): VNode {
  const [report, setReport] = useState<Report>();
  const { isBusy, problem, act } = useActing(() => undefined);
  const canRun = mayAsk(view, "doctor.run");
  const look = (): void => act(async () => setReport(await view.chat.ask("doctor.run", {})));
  return (
    <RowList title={t("Doctor")}>
      <ListRow
        title={t("Everything that can be checked")}
        facts={[report ? sumOf(report) : t("config, keys, people, plugins, service, files")]}
        error={problem}
        actions={
          canRun && <ActButton label={isBusy ? t("Looking…") : t("Run the doctor")} isDisabled={isBusy} act={look} />
        }
      >
        {(!canRun || problem !== undefined) && <TerminalCommand command="openclaw doctor" />}
      </ListRow>
      <>
        {(report?.checks ?? []).flatMap(({ id, title, results }) =>
          results
            .filter(isFinding)
            .map((result, at) => <FindingRow key={`${id} ${at}`} title={title} finding={result} />),
        )}
      </>
    </RowList>
  );
}

type Finding = Report["checks"][number]["results"][number];

const isFinding = ({ status }: Finding): boolean => status === "fail" || status === "warn";

function sumOf({ checks }: Report): string {
  const results = checks.flatMap((check) => check.results);
  const count = (status: string): number => results.filter((one) => one.status === status).length;
  return factLine([
    t("{n} check is good|{n} checks are good", { n: count("ok") }),
    t("{n} is to be looked at|{n} are to be looked at", { n: count("warn") }),
    t("{n} failed", { n: count("fail") }),
  ]);
}

function FindingRow({ title, finding }: { readonly title: string; readonly finding: Finding }): VNode {
  const { status, message, fix, repair } = finding;
  const command = fix === undefined ? undefined : commandAtEnd(fix);
  return (
    <ListRow
      name={title}
      title={title}
      facts={status === "fail" ? [] : [message]}
      error={status === "fail" ? message : undefined}
    >
      {fix !== undefined && <p class="view-row-text">{fix}</p>}
      {command !== undefined && <TerminalCommand command={command} />}
      {repair !== undefined && command === undefined && <TerminalCommand command="openclaw doctor --fix" />}
    </ListRow>
  );
}

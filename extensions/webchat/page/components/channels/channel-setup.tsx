import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  fieldsFor,
  problemOf,
  setupParams,
  sourcesOf,
  type Setup,
  type SetupAnswers,
  type SetupProblem,
  type SecretSource,
} from "../../channels/channel-setup.ts";
import type { Ask, ReportedAccount } from "../../channels/channels.ts";
import { Choice, Field } from "../common/fields.tsx";
import { useFocus } from "../common/hooks.ts";
import { t } from "../../words/words.ts";

interface SetupProps {
  readonly ask: Ask;
  readonly setup: Setup;
  /** The account to change; a new one is added when unset. */
  readonly account?: ReportedAccount;
  /** Called at the end, with a text about the result. */
  readonly done: (message?: string) => void;
}

const SOURCES: Readonly<Record<SecretSource, string>> = {
  typed: t("typed here, stored in the config"),
  file: t("in a file on the gateway's machine"),
  env: t("in the gateway's environment"),
};

/** Asks for the values of an account, which the gateway writes into its config. */
export function ChannelSetupForm(props: SetupProps): VNode {
  const { setup, account, done } = props;
  const { problem, save } = useSaving(props);
  const form = useRef<HTMLFormElement>(null);
  useFocus(form);
  useEffect(() => focusOn(form.current, problem?.field), [problem]);
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    void save(setup, answersOf(event.currentTarget, setup, account));
  };
  return (
    <form
      ref={form}
      tabIndex={-1}
      class="channel-form"
      aria-label={
        account === undefined
          ? t("Add {channel}", { channel: setup.label })
          : t("Change {label}", { label: account.label })
      }
      onSubmit={submit}
    >
      <SetupFields setup={setup} isNew={account === undefined} problem={problem} />
      <p class="channel-actions">
        <button type="submit" class="primary">
          {account === undefined ? t("Add") : t("Save")}
        </button>
        <button type="button" class="quiet" onClick={() => done()}>
          {t("Cancel")}
        </button>
      </p>
    </form>
  );
}

function focusOn(form: HTMLFormElement | null, field: string | undefined): void {
  if (field !== undefined) form?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus();
}

interface SetupFieldsProps {
  readonly setup: Setup;
  readonly isNew: boolean;
  readonly problem: SetupProblem | undefined;
}

/** The fields of this channel; the field that was refused has the error. */
function SetupFields(props: SetupFieldsProps): VNode {
  const { setup, isNew, problem } = props;
  const sources = openSources(setup, isNew);
  const [source, setSource] = useState<SecretSource>("typed");
  const shown = fieldsFor(setup, source);
  const names = [...shown.map(({ name }) => name), ...(isNew ? ["accountId"] : []), SOURCE];
  const errorOf = (name: string): string | undefined => (problem?.field === name ? problem.message : undefined);
  return (
    <>
      {sources.length > 1 && (
        <Choice
          label={t("The token is")}
          name={SOURCE}
          value={source}
          options={sources.map((one) => [one, SOURCES[one]])}
          choose={(next) => setSource(sources.find((one) => one === next) ?? "typed")}
          hint={source === "env" ? variablesOf(setup) : undefined}
          error={errorOf(SOURCE)}
        />
      )}
      {shown.map((field) => (
        <Field key={field.name} {...field} error={errorOf(field.name)} />
      ))}
      {isNew && (
        <Field
          name="accountId"
          label={t("Account name, if there are several (optional)")}
          error={errorOf("accountId")}
        />
      )}
      {isNew && setup.login && <p class="hint">{t("Next, the account is linked with a code.")}</p>}
      {problem !== undefined && !names.includes(problem.field ?? "") && (
        <p class="field-problem" role="alert">
          {problem.message}
        </p>
      )}
    </>
  );
}

/** The form's name for the source of the token, which the gateway's refusals also use. */
const SOURCE = "useEnv";

/** Excludes a file for an existing account: some channels would ignore it in favour of the token. */
const openSources = (setup: Setup, isNew: boolean): readonly SecretSource[] =>
  sourcesOf(setup).filter((source) => isNew || source !== "file");

const variablesOf = (setup: Setup): string => setup.fields.flatMap(({ env }) => env ?? []).join(", ");

/** Reads the values from the form when they are sent, so that the page does not store secrets. */
function answersOf(form: HTMLFormElement, setup: Setup, account: ReportedAccount | undefined): SetupAnswers {
  const entries = new FormData(form);
  const valueOf = (name: string): string => {
    const value = entries.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
  const source = sourcesOf(setup).find((one) => one === valueOf(SOURCE)) ?? "typed";
  return {
    channel: setup.channel,
    source,
    account: account?.account ?? valueOf("accountId"),
    values: new Map(fieldsFor(setup, source).map(({ name }) => [name, valueOf(name)])),
    replace: account !== undefined,
  };
}

function useSaving({ ask, done }: SetupProps) {
  const [problem, setProblem] = useState<SetupProblem>();
  const busy = useRef(false);
  const save = async (setup: Setup, answers: SetupAnswers): Promise<void> => {
    if (busy.current) return;
    busy.current = true;
    try {
      done(resultOf(setup, answers, await ask("channels.add", setupParams(answers))));
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      busy.current = false;
    }
  };
  return { problem, save };
}

function resultOf({ label, login }: Setup, { replace }: SetupAnswers, added: Answers["channels.add"]): string {
  const account = `${label} (${added.accountId})`;
  const what = replace ? t("{account} is changed.", { account }) : t("{account} is added.", { account });
  if (added.restartNeeded) return `${what} ${t("It takes effect when the gateway restarts.")}`;
  return login && !replace ? `${what} ${t("Link it now.")}` : what;
}

import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Ask } from "../../channels/channels.ts";
import { problemOf } from "../../channels/channel-setup.ts";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import {
  waysToModels,
  firstChoice,
  wayOfKey,
  modelProblem,
  type ModelWay,
  type ModelProblem,
} from "../../setup/model-choices.ts";
import { Choice, Field } from "../common/fields.tsx";
import { PanelDialog } from "../common/panel.tsx";
import { t } from "../../words/words.ts";

/** The open dialog about the whole gateway. */
export function OpenPanel({ state, chat }: { readonly state: PageState; readonly chat: Chat }): VNode | null {
  if (state.shown.panel !== "model") return null;
  return <ModelPanel state={state} chat={chat} close={() => chat.show()} />;
}

interface PanelProps {
  readonly state: PageState;
  readonly chat: Chat;
  readonly close: () => void;
}

/** Connects a model: one that answers is saved with its key, for the place among the models that the person chose. */
function ModelPanel({ state, chat, close }: PanelProps): VNode {
  const { id, provider, demo } = state.status.model;
  const ask: Ask = (method, params) => chat.ask(method, params);
  const { found, problem } = useDetected(ask);
  const [answered, setAnswered] = useState<{ readonly model: string; readonly use: string }>();
  const done = (model: string, use: string): void => {
    setAnswered({ model, use });
    chat.modelChanged();
  };
  return (
    <PanelDialog title={t("Model")} name="model" close={close}>
      <p class="panel-text">
        {demo || id === ""
          ? t("The demo model is answering, which repeats what you write. Choose a model that thinks.")
          : t("{provider}/{id} is answering.", { provider, id })}
      </p>
      {problem !== "" && <p role="alert">{problem}</p>}
      {!answered && found && <ModelForm ask={ask} found={found} provider={demo ? "" : provider} done={done} />}
      {answered && (
        <p role="status" class="good">
          {t("{model} answered.", { model: answered.model })} {OUTCOMES[answered.use] ?? OUTCOMES["first"]}
        </p>
      )}
      <p class="channel-actions">
        {answered && (
          <button type="button" class="primary" onClick={close}>
            {t("Done")}
          </button>
        )}
        {answered && state.shown.view === undefined && (
          <button type="button" class="quiet" onClick={() => (close(), chat.visit("channels"))}>
            {t("Next: add a channel")}
          </button>
        )}
        {!demo && state.shown.view !== "models" && (
          <button type="button" class="quiet" onClick={() => (close(), chat.visit("models"))}>
            {t("All models and keys")}
          </button>
        )}
      </p>
    </PanelDialog>
  );
}

/** What follows, by the use of the model. */
const OUTCOMES: Readonly<Record<string, string>> = {
  first: t("The next message goes to it."),
  fallback: t("It is asked when those before it fail."),
  none: t("Its key is stored, and the same model answers as before."),
};

function useDetected(ask: Ask) {
  const [found, setFound] = useState<Answers["openclaw.setup.detect"]>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    ask("openclaw.setup.detect", {}).then(setFound, (error: unknown) => setProblem(problemOf(error).message));
  }, []);
  return { found, problem };
}

interface FormProps {
  readonly ask: Ask;
  readonly found: Answers["openclaw.setup.detect"];
  /** The provider of the model that answers now; empty while the demo does. */
  readonly provider: string;
  readonly done: (model: string, use: string) => void;
}

/** Asks for a provider, a key and a model, and saves them when the model answers. */
function ModelForm({ ask, found, provider, done }: FormProps): VNode | null {
  const choices = waysToModels(found);
  const [chosen, setChosen] = useState(() => firstChoice(choices, found, provider));
  // Another provider that the person chooses begins with empty fields; one that is told by the key keeps it.
  const [timesByHand, setTimesByHand] = useState(0);
  const [told, setTold] = useState("");
  const { problem: latest, setProblem, isBusy, save } = useSaving(ask, done);
  const form = useRef<HTMLFormElement>(null);
  const choice = choices.find(({ id }) => id === chosen) ?? choices[0];
  // The person may have chosen another provider before the answer came.
  const problem = latest?.of.id === choice?.id ? latest : undefined;
  useEffect(() => focusOn(form.current, problem?.field), [problem]);
  if (choice === undefined) return null;
  const choose = (next: string): void => (setProblem(undefined), setTold(""), setChosen(next));
  const tellByKey = (key: string): void => {
    const next = choice.asks === "key" ? wayOfKey(choices, key) : undefined;
    if (next === undefined || next === choice) return;
    choose(next.id);
    setTold(t("A key of {provider}, so that provider was chosen.", { provider: next.label }));
  };
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    void save(choice, valuesOf(event.currentTarget));
  };
  return (
    <form ref={form} class="channel-form" aria-label={t("Connect a model")} onSubmit={submit}>
      <Choice
        label={t("Provider")}
        name="choice"
        value={choice.id}
        options={choices.map(({ id, label }) => [id, label])}
        choose={(next) => (choose(next), setTimesByHand(timesByHand + 1))}
      />
      <p class="hint" role="status">
        {told}
      </p>
      <ModelFields
        key={timesByHand}
        choice={choice}
        problem={problem}
        isFurther={provider !== ""}
        typedKey={tellByKey}
      />
      {problem && <Refused problem={problem} choice={choice} />}
      {latest && !problem && (
        <p class="field-problem" role="alert">
          {t("{provider}: {message}", { provider: latest.of.label, message: latest.message })}
        </p>
      )}
      <p class="channel-actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {problem?.mayRepeat === true ? t("Try again") : t("Test and save")}
        </button>
        <span role="status">{isBusy && t("Waiting for the model's answer …")}</span>
      </p>
    </form>
  );
}

function focusOn(form: HTMLFormElement | null, field: string | undefined): void {
  if (field !== undefined) form?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus();
}

const APIS = [
  ["openai-completions", t("OpenAI's chat completions (most servers)")],
  ["openai-responses", t("OpenAI's responses")],
  ["anthropic-messages", t("Anthropic's messages")],
] as const;

const USES = [
  ["first", t("Ask it first")],
  ["fallback", t("Ask it when those before it fail")],
  ["none", t("Only store its key")],
] as const;

interface FieldsProps {
  /** Whether another model answers already. */
  readonly isFurther: boolean;
  readonly choice: ModelWay;
  readonly problem: ModelProblem | undefined;
  readonly typedKey: (key: string) => void;
}

function ModelFields({ choice, problem, isFurther, typedKey }: FieldsProps): VNode {
  const { asks, website, provider } = choice;
  const [use, setUse] = useState<string>(USES[0][0]);
  const [api, setApi] = useState<string>(APIS[0][0]);
  const errorOf = (name: string): string | undefined => (problem?.field === name ? problem.message : undefined);
  return (
    <>
      {asks === "server" && (
        <>
          <Field
            name="baseUrl"
            label={t("Address")}
            placeholder="http://127.0.0.1:8000/v1"
            error={errorOf("baseUrl")}
          />
          <Choice label={t("It understands")} name="api" value={api} options={APIS} choose={setApi} />
        </>
      )}
      {asks !== "found" && (
        <Field
          name="apiKey"
          label={asks === "server" ? t("Key, if it needs one (optional)") : t("Key")}
          secret
          hint={t("It is stored on the gateway's machine, and not shown again.")}
          error={errorOf("apiKey")}
          typed={typedKey}
        />
      )}
      {asks === "key" && website !== "" && (
        <p class="hint">
          <a href={website} target="_blank" rel="noreferrer">
            {t("Make a key at {host}", { host: new URL(website).host })}
          </a>
        </p>
      )}
      {asks === "key" && isFurther && (
        <Field
          name="keyName"
          label={t("Name of the key (optional)")}
          placeholder="default"
          hint={t(
            "Without a name it replaces {provider}:default. Another name keeps that key, and this one is asked before it.",
            { provider },
          )}
          error={errorOf("keyName")}
        />
      )}
      <ModelName key={choice.id} choice={choice} models={problem?.models ?? []} error={errorOf("modelRef")} />
      {isFurther && <Choice label={t("Use")} name="use" value={use} options={USES} choose={setUse} />}
    </>
  );
}

interface NameProps {
  readonly choice: ModelWay;
  /** The models that the provider has named. */
  readonly models: readonly string[];
  readonly error: string | undefined;
}

/** A list where the models are known, else a field. */
function ModelName({ choice, models: named, error }: NameProps): VNode {
  const models = named.length > 0 ? named : choice.models;
  const [model, setModel] = useState(choice.model);
  if (models.length === 0) {
    const hint = choice.asks === "server" ? t("The first one that the server lists when empty.") : undefined;
    return <Field name="modelRef" label={t("Model")} value={choice.model} hint={hint} error={error} />;
  }
  const value = models.includes(model) ? model : (models[0] ?? "");
  return (
    <Choice
      label={t("Model")}
      name="modelRef"
      value={value}
      options={models.map((id) => [id, id])}
      choose={setModel}
      error={error}
    />
  );
}

/** A problem that belongs to no field, and the provider's own words. */
function Refused({ problem, choice }: { readonly problem: ModelProblem; readonly choice: ModelWay }): VNode {
  const { message, field, said, isAccount } = problem;
  return (
    <>
      {field === undefined && (
        <p class="field-problem" role="alert">
          {message}
        </p>
      )}
      {isAccount && choice.website !== "" && (
        <p class="hint">
          <a href={choice.website} target="_blank" rel="noreferrer">
            {t("Open {host}", { host: new URL(choice.website).host })}
          </a>
        </p>
      )}
      {said !== "" && (
        <details class="hint">
          <summary>{t("What the provider said")}</summary>
          {said}
        </details>
      )}
    </>
  );
}

/** Reads the values when they are sent, so that the page does not keep the key. */
function valuesOf(form: HTMLFormElement): Record<string, string> {
  const texts = [...new FormData(form)].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  return Object.fromEntries(texts.filter(([name, value]) => name !== "choice" && value !== ""));
}

function useSaving(ask: Ask, done: FormProps["done"]) {
  const [problem, setProblem] = useState<ModelProblem & { readonly of: ModelWay }>();
  const [isBusy, setBusy] = useState(false);
  const save = async (choice: ModelWay, values: Record<string, string>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const answer = await ask("openclaw.setup.activate", { ...choice.params, ...values });
      const found = modelProblem(answer, choice.asks);
      if (found) setProblem({ ...found, of: choice });
      else done(answer.modelRef ?? choice.model, values["use"] ?? "first");
    } catch (error) {
      const unknown = { field: undefined, said: "", models: [], isAccount: false, mayRepeat: true };
      setProblem({ ...unknown, ...problemOf(error), of: choice });
    } finally {
      setBusy(false);
    }
  };
  return { problem, setProblem, isBusy, save };
}

import type { Answers } from "openclaw/plugin-sdk/answers";
import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../common/clipboard.ts";
import type { Chat } from "../../model/chat.ts";
import { ago, dayAndTime, factLine, sentence, shellCommand, timeOfDay } from "../../model/format.ts";
import { stringOr } from "../../model/json.ts";
import type { PageState } from "../../model/state.ts";
import { seen, t } from "../../words/words.ts";

export interface ViewProps {
  readonly state: PageState;
  readonly chat: Chat;
}

/** The answer to a question of a view. It stays while it is read again, also beside a problem. */
export interface Read<Answered> {
  readonly answer: Answered | undefined;
  /** Why the latest read failed, for the person. */
  readonly problem: string | undefined;
  readonly again: () => void;
}

interface Question<Method extends keyof Answers> {
  readonly method: Method;
  readonly params?: Record<string, unknown>;
  /** Events after which the answer is another one. */
  readonly changedBy?: readonly string[];
  /** Whether it is read again when the person comes back to the page: no event tells of what was done elsewhere. */
  readonly isReadOnReturn?: boolean;
}

const NO_EVENTS: readonly string[] = [];

/** Asks the gateway when the view appears, on each new connection and after the events that change the answer. */
export function useAnswer<Method extends keyof Answers>(
  { state, chat }: ViewProps,
  { method, params = {}, changedBy = NO_EVENTS, isReadOnReturn = false }: Question<Method>,
): Read<Answers[Method]> {
  const [result, setResult] = useState<{ answer?: Answers[Method]; problem?: string }>({});
  const reads = useRef(0);
  const latest = useRef(params);
  latest.current = params;
  const asked = JSON.stringify(params);
  const events = changedBy.join();
  const again = useCallback(() => {
    const read = (reads.current += 1);
    const isLatest = (): boolean => read === reads.current;
    chat.ask(method, latest.current).then(
      (answer) => isLatest() && setResult({ answer }),
      (error: unknown) => isLatest() && setResult((before) => ({ ...before, problem: messageOf(error) })),
    );
  }, [chat, method, asked]);
  const isConnected = state.link.state === "connected";
  useEffect(() => {
    if (!isConnected) return undefined;
    again();
    return chat.listen(events.split(","), again);
  }, [chat, isConnected, events, again]);
  useEffect(() => {
    if (!isConnected || !isReadOnReturn) return undefined;
    window.addEventListener("focus", again);
    return () => window.removeEventListener("focus", again);
  }, [isConnected, isReadOnReturn, again]);
  return { answer: result.answer, problem: result.problem, again };
}

/** Whether the gateway lets this client use the method. */
export const mayAsk = ({ state }: ViewProps, method: keyof Answers): boolean =>
  state.hello?.methods.includes(method) === true;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** An action of a view: what it does now, and why it failed last. */
export interface ViewActs {
  readonly isBusy: boolean;
  readonly problem: string | undefined;
  readonly act: (work: () => Promise<unknown>) => void;
}

/** Runs one action at a time; `done` is called after each. */
export function useActing(done: () => void): ViewActs {
  const [now, setNow] = useState<{ isBusy: boolean; problem?: string }>({ isBusy: false });
  const act = (work: () => Promise<unknown>): void => {
    setNow({ isBusy: true });
    work()
      .then(
        () => setNow({ isBusy: false }),
        (error: unknown) => setNow({ isBusy: false, problem: messageOf(error) }),
      )
      .finally(done);
  };
  return { isBusy: now.isBusy, problem: now.problem, act };
}

interface FrameProps {
  /** Beside the filters and buttons of the view. */
  readonly tools?: ComponentChildren;
  readonly problems?: readonly (string | undefined)[];
  /** Whether the first answer has come. */
  readonly isRead: boolean;
  readonly children: ComponentChildren;
}

/** The place of a view: its tools, what failed, and its content. */
export function ViewFrame({ tools, problems = [], isRead, children }: FrameProps): VNode {
  const failed = problems.filter((problem) => problem !== undefined);
  return (
    <div class="view">
      {tools !== undefined && <div class="view-tools">{tools}</div>}
      {failed.map((problem) => (
        <p key={problem} class="outcome error" role="alert">
          {sentence(problem)}
        </p>
      ))}
      {isRead ? children : failed.length === 0 && <p class="hint">{t("Reading…")}</p>}
    </div>
  );
}

interface RowProps {
  readonly title: ComponentChildren;
  /** The row's name for screen readers, when the title is no plain text. */
  readonly name?: string | undefined;
  readonly facts?: readonly (string | undefined)[];
  readonly error?: string | undefined;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** One thing of a list: its name, its facts in one line, what is wrong with it, what can be done. */
export function ListRow({ title, name, facts = [], error, actions, children }: RowProps): VNode {
  const shown = factLine(facts);
  const words = typeof title === "string" ? seen(title) : undefined;
  return (
    <li class="view-row" aria-label={name === undefined ? words : seen(name)}>
      <div class="view-row-words">
        <p class="view-row-title">{words ?? title}</p>
        {shown !== "" && <p class="view-row-facts">{seen(shown)}</p>}
        {error !== undefined && <p class="view-row-error">{seen(error)}</p>}
        {children}
      </div>
      {actions !== undefined && <div class="view-row-actions">{actions}</div>}
    </li>
  );
}

/** What others wrote about a row, in a paragraph of it. */
export const RowText = ({ text }: { readonly text: string }): VNode => <p class="view-row-text">{seen(text)}</p>;

/** A list of rows with a heading; `empty` is shown in place of no row. */
export function RowList(props: { title: string; empty?: ComponentChildren; children: readonly VNode[] }): VNode | null {
  const { title, empty, children } = props;
  if (children.length === 0 && empty === undefined) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children.length > 0 ? <ul>{children}</ul> : <p class="hint">{empty}</p>}
    </section>
  );
}

interface ButtonProps {
  readonly label: string;
  readonly act: () => void;
  readonly kind?: "primary" | "quiet" | "quiet danger";
  readonly isDisabled?: boolean;
  /** The name for screen readers, when the label alone does not say to what it belongs. */
  readonly name?: string;
}

export function ActButton({ label, act, kind = "quiet", isDisabled = false, name }: ButtonProps): VNode {
  return (
    <button type="button" class={kind} disabled={isDisabled} aria-label={name && seen(name)} onClick={act}>
      {label}
    </button>
  );
}

/**
 * A button that asks once more in its place before it does what cannot be undone. The focus is on the harmless answer then, and
 * comes back after it.
 */
export function SureButton({ label, sure, act }: { label: string; sure: string; act: () => void }): VNode {
  const [isAsking, setAsking] = useState<boolean>();
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (isAsking !== undefined) [...(place.current?.querySelectorAll("button") ?? [])].at(-1)?.focus();
  }, [isAsking]);
  return (
    <span class="sure" ref={place}>
      {isAsking === true ? (
        <>
          <ActButton key="sure" label={sure} kind="quiet danger" act={() => (setAsking(false), act())} />
          <ActButton key="keep" label={t("Keep")} act={() => setAsking(false)} />
        </>
      ) : (
        <ActButton key="ask" label={label} kind="quiet danger" act={() => setAsking(true)} />
      )}
    </span>
  );
}

/** A command for a terminal, with a button that copies it. `words`: further ones that others may have chosen, which stay one word each. */
export function TerminalCommand(props: { readonly command: string; readonly words?: readonly string[] }): VNode {
  const command = shellCommand(props.command, props.words ?? []);
  const [label, setLabel] = useState(t("Copy"));
  const copy = (): void =>
    void copyText(command).then((isCopied) => setLabel(isCopied ? t("Copied") : t("Copy failed")));
  return (
    <p class="command-line">
      <code>{seen(command)}</code>
      <ActButton label={label} name={`${label}: ${command}`} act={copy} />
    </p>
  );
}

type Budget = Answers["usage.status"]["budgets"][number];

export const isUsedUp = ({ usd, tokens }: Budget): boolean =>
  [usd, tokens].some((part) => part !== undefined && part.taken >= part.limit);

export const USED_UP = t("It is used up: no model is asked until it is raised or its period ends.");

interface PickProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly choose: (value: Value) => void;
}

/** A choice among the tools of a view. */
export function Pick<Value extends string>({ label, value, options, choose }: PickProps<Value>): VNode {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = options.find(([one]) => one === currentTarget.value);
        if (chosen) choose(chosen[0]);
      }}
    >
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface SearchProps {
  readonly label: string;
  readonly placeholder: string;
  readonly isBusy: boolean;
  readonly search: (query: string) => void;
}

/** A search that is made when the person asks for it. */
export function SearchForm({ label, placeholder, isBusy, search }: SearchProps): VNode {
  return (
    <form
      role="search"
      class="view-search"
      onSubmit={(event) => {
        event.preventDefault();
        search(stringOr(new FormData(event.currentTarget).get("query")).trim());
      }}
    >
      <input name="query" type="search" aria-label={label} placeholder={placeholder} />
      <button type="submit" class="quiet" disabled={isBusy}>
        {t("Search")}
      </button>
    </form>
  );
}

/** A choice whose few entries are all shown, so that one click takes another one. */
export function PickButtons<Value extends string>({ label, value, options, choose }: PickProps<Value>): VNode {
  return (
    <div class="picks" role="group" aria-label={label}>
      {options.map(([one, text]) => (
        <button key={one} type="button" class="quiet" aria-pressed={one === value} onClick={() => choose(one)}>
          {text}
        </button>
      ))}
    </div>
  );
}

const WEEK_MS = 7 * 24 * 60 * 60_000;

/** A time and how long ago it is, such as `14:05, 3 min ago`; another day has its date. */
export function when(at: number, now: number): string {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date(now).toDateString();
  const words = isToday ? timeOfDay(time) : dayAndTime(time);
  // What is older than a week has its date in place of its age.
  return at > now || now - at >= WEEK_MS ? words : `${words}, ${ago(at, now)}`;
}

interface AgentPickProps {
  readonly agents: readonly { readonly id: string; readonly title: string }[];
  readonly value: string;
  /** The label of the empty value, where that can be chosen. */
  readonly none?: string;
  readonly choose: (id: string) => void;
}

/** A choice of an agent, where there are several. */
export function AgentPick({ agents, value, none, choose }: AgentPickProps): VNode | null {
  if (agents.length < 2) return null;
  const named = agents.map(({ id, title }) => [id, title] as const);
  const options = none === undefined ? named : [["", none] as const, ...named];
  return <Pick label={t("Agent")} value={value} options={options} choose={choose} />;
}

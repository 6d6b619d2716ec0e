import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { factLine, sessionTitle, size } from "../../model/format.ts";
import { fields, list, nonEmpty, number, stringOr } from "../../model/json.ts";
import { rowOf } from "../../model/state.ts";
import { useNow } from "../common/hooks.ts";
import {
  ActButton,
  AgentPick,
  ListRow,
  mayAsk,
  RowList,
  RowText,
  SearchForm,
  SureButton,
  TerminalCommand,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { seen, t } from "../../words/words.ts";

type State = Answers["doctor.memory.status"]["index"];

/** A run may write notes, and so may a person elsewhere. */
const CHANGED = { changedBy: ["config.changed", "sessions.changed"], isReadOnReturn: true };

/** A line of a note; lines count from 1. */
interface Place {
  readonly path: string;
  readonly line: number;
}

/** What a part of the view of the memory works on. */
interface PartProps {
  readonly view: ViewProps;
  readonly agentId: string;
  readonly open: (place: Place) => void;
}

/** What an agent remembers: its notes with the origin of each line, a search in them, and the state of their index. */
export function MemoryView(props: ViewProps): VNode {
  const { agents } = props.state.catalog;
  const [chosen, setAgent] = useState<string>();
  const [place, setPlace] = useState<Place>();
  const agentId = chosen ?? agents[0]?.id ?? props.state.hello?.defaultAgent ?? "main";
  const status = useAnswer(props, { method: "doctor.memory.status", params: { agentId }, ...CHANGED });
  const part = { view: props, agentId, open: setPlace };
  return (
    <ViewFrame
      tools={<AgentPick agents={agents} value={agentId} choose={(id) => (setAgent(id), setPlace(undefined))} />}
      problems={[status.problem]}
      isRead={status.answer !== undefined}
    >
      {status.answer && <IndexState state={status.answer.index} />}
      <Search key={agentId} {...part} searched={status.again} />
      {place && <Note key={`${agentId}:${place.path}`} {...part} place={place} close={() => setPlace(undefined)} />}
      <Notes key={`notes:${agentId}`} {...part} />
    </ViewFrame>
  );
}

/** The state of the index, and the command that helps where it has a problem. */
function IndexState({ state }: { readonly state: State }): VNode {
  const now = useNow(60_000);
  const { off, failed, files = 0, conversations = 0, chunks = 0, pending = 0, syncedAt, vectors, fix } = state;
  const wrong = wrongIn(state);
  const facts = [
    t("{n} note|{n} notes", { n: files - conversations }),
    conversations > 0 ? t("{n} conversation|{n} conversations", { n: conversations }) : undefined,
    t("{n} part|{n} parts", { n: chunks }),
    pending > 0 ? t("not in the index yet: {n}", { n: pending }) : undefined,
    vectors && t("vectors of {model}", { model: vectors.model }),
    typeof syncedAt === "number"
      ? t("complete {time}", { time: when(syncedAt, now) })
      : t("completed by the next search"),
  ];
  return (
    <section aria-label={t("Index")}>
      {off === undefined && failed === undefined && (
        <p class="view-row-facts">{t("Index: {facts}", { facts: factLine(facts) })}</p>
      )}
      {wrong !== undefined && (
        <>
          <p class="outcome error">{wrong}</p>
          {fix !== undefined && <TerminalCommand command={fix} />}
        </>
      )}
    </section>
  );
}

function wrongIn({ off, failed, degraded, syncedAt, vectors }: State): string | undefined {
  if (off !== undefined) return t("The agent does not search these notes: {reason}.", { reason: off });
  if (failed !== undefined)
    return t("The index cannot be used: {reason}. It is made from the notes, and can be made again.", {
      reason: failed,
    });
  // A first search makes an index of words.
  const isUnbegun = typeof syncedAt !== "number" && vectors === undefined;
  return degraded === undefined || isUnbegun
    ? undefined
    : t("A search may find less than there is: {reason}.", { reason: degraded });
}

/** Calls a tool of the agent's memory, whichever plugin is the memory. Rejects with the reason for the person. */
async function callMemory({ view, agentId }: PartProps, name: string, args: Record<string, unknown>) {
  const { ok, output, error } = await view.chat.ask("tools.invoke", { name, args, agentId });
  if (ok) return fields(output?.details);
  throw new Error(
    error?.code === "not_found"
      ? t("The agent has no tool {name}", { name })
      : (error?.message ?? t("The tool failed")),
  );
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

interface Searched {
  readonly isBusy: boolean;
  readonly hits?: readonly Record<string, unknown>[];
  readonly degraded?: string | undefined;
  readonly problem?: string;
}

function Search(props: PartProps & { readonly searched: () => void }): VNode {
  const [{ isBusy, hits, degraded, problem }, setSearched] = useState<Searched>({ isBusy: false });
  const search = (query: string): void => {
    if (query === "") return;
    setSearched({ isBusy: true });
    callMemory(props, "memory_search", { query, maxResults: 20 })
      .then(
        (found) =>
          setSearched({
            isBusy: false,
            hits: list(found["results"]).map((hit) => fields(hit)),
            degraded: nonEmpty(fields(found["index"])["degraded"]),
          }),
        (error: unknown) => setSearched({ isBusy: false, problem: messageOf(error) }),
      )
      // A search takes new notes into the index.
      .finally(props.searched);
  };
  return (
    <section aria-label={t("Search")}>
      <SearchForm
        label={t("Search the memory")}
        placeholder={t("A word, a person, a question")}
        isBusy={isBusy}
        search={search}
      />
      <p class="hint" role="status">
        {isBusy
          ? t("Searching…")
          : degraded && t("The search may have found less than there is: {reason}.", { reason: degraded })}
      </p>
      {problem !== undefined && (
        <p class="outcome error" role="alert">
          {problem}
        </p>
      )}
      {hits && (
        <RowList title={t("Found")} empty={t("Nothing in the memory fits.")}>
          {hits.map((hit) => (
            <HitRow key={`${stringOr(hit["path"])}#${number(hit["startLine"])}`} hit={hit} part={props} />
          ))}
        </RowList>
      )}
    </section>
  );
}

/** The path of a conversation that is searched. */
const CONVERSATION = /^sessions\/(.+)\.jsonl$/;

function HitRow({ hit, part }: { readonly hit: Record<string, unknown>; readonly part: PartProps }): VNode {
  const { chat } = part.view;
  const place = { path: stringOr(hit["path"]), line: number(hit["startLine"], 1) };
  const sessionId = CONVERSATION.exec(place.path)?.[1];
  const from = nonEmpty(hit["from"]);
  const acting = useActing(() => undefined);
  const openConversation = async (): Promise<void> => {
    const { key } = await chat.ask("sessions.resolve", { sessionId });
    if (key !== undefined) chat.open(key);
  };
  const name = sessionId === undefined ? `${place.path}#${place.line}` : t("An earlier conversation");
  const untrusted = from && t("Written after reading what strangers wrote: {from}.", { from });
  return (
    <ListRow
      name={name}
      title={
        <button
          type="button"
          class="link"
          onClick={() => (sessionId === undefined ? part.open(place) : acting.act(openConversation))}
        >
          {name}
        </button>
      }
      error={acting.problem ?? untrusted}
    >
      <RowText text={stringOr(hit["snippet"])} />
    </ListRow>
  );
}

/** All notes: the lasting ones first, then those of each day with the newest first. */
function Notes({ view, agentId, open }: PartProps): VNode {
  const read = useAnswer(view, { method: "memory.notes", params: { agentId }, ...CHANGED });
  const [lasting = [], others = []] = groupsOf(read.answer?.notes ?? []);
  return (
    <ViewFrame problems={[read.problem]} isRead={read.answer !== undefined}>
      <RowList title={t("Lasting notes")} empty={t("None yet. Ask the agent to remember something.")}>
        {lasting.map((note) => (
          <NoteRow key={note.path} note={note} open={open} />
        ))}
      </RowList>
      <RowList title={t("Other notes")}>
        {others.map((note) => (
          <NoteRow key={note.path} note={note} open={open} />
        ))}
      </RowList>
    </ViewFrame>
  );
}

type NoteFacts = Answers["memory.notes"]["notes"][number];

const groupsOf = (notes: readonly NoteFacts[]): readonly (readonly NoteFacts[])[] => [
  notes.filter(({ path }) => path === LASTING),
  notes.filter(({ path }) => path !== LASTING).toSorted((one, other) => (one.path < other.path ? 1 : -1)),
];

const LASTING = "MEMORY.md";

function NoteRow({ note, open }: { readonly note: NoteFacts; readonly open: PartProps["open"] }): VNode {
  const now = useNow(60_000);
  const { path, size: bytes, updatedAtMs, leftOut } = note;
  return (
    <ListRow
      name={path}
      title={
        <button type="button" class="link" onClick={() => open({ path, line: 1 })}>
          {seen(path)}
        </button>
      }
      facts={[
        bytes === undefined ? undefined : size(bytes),
        updatedAtMs === undefined ? undefined : when(updatedAtMs, now),
      ]}
      error={leftOut && t("It is not searched: {reason}.", { reason: leftOut })}
    />
  );
}

type Read = Answers["memory.note"];
type Origin = Read["origins"][number];

/** How many lines of those that are read at once come before the one that is asked for. */
const BEFORE = 200;
const MOST = 2000;

interface NoteProps extends PartProps {
  readonly place: Place;
  readonly close: () => void;
}

/** A note, opened at a line: where each line comes from, and what can be done with the chosen one. */
function Note({ view, agentId, place, open, close }: NoteProps): VNode {
  const { path, line } = place;
  const from = line <= MOST ? 1 : line - BEFORE;
  const note = useAnswer(view, {
    method: "memory.note",
    params: { agentId, path, from },
    changedBy: ["sessions.changed"],
    isReadOnReturn: true,
  });
  const acting = useActing(note.again);
  const { answer } = note;
  const said = answer?.lines[line - from];
  const last = from + (answer?.lines.length ?? 0) - 1;
  const forget = async (text: string): Promise<void> => {
    await view.chat.ask("memory.forget", { agentId, path, line, text });
    if (line === last && line > 1) open({ path, line: line - 1 });
  };
  return (
    <section aria-label={seen(path)}>
      <div class="note-head">
        <h2>{seen(path)}</h2>
        <ActButton label={t("Close")} name={t("Close: {name}", { name: path })} act={close} />
      </div>
      <ViewFrame problems={[note.problem, acting.problem]} isRead={answer !== undefined}>
        {answer && <Lines view={view} note={answer} line={line} open={open} />}
        {answer && last < answer.total && (
          <ActButton
            label={t("Lines from {line} on", { line: String(last + 1) })}
            act={() => open({ path, line: last + 1 + BEFORE })}
          />
        )}
        <div class="note-acts">
          <span class="hint">{t("Line {line} of {path}", { line: String(line), path })}</span>
          {said !== undefined && mayAsk(view, "memory.forget") && (
            <SureButton
              key={line}
              label={t("Forget this line")}
              sure={t("Remove the line")}
              act={() => acting.act(() => forget(said.text))}
            />
          )}
        </div>
        <p class="hint">
          {t("The agent no longer finds a line that was removed. Conversations that have it keep it.")}
        </p>
        <TerminalCommand command={`openclaw memory why --agent ${agentId}`} words={[`${path}:${line}`]} />
      </ViewFrame>
    </section>
  );
}

interface LinesProps {
  readonly view: ViewProps;
  readonly note: Read;
  readonly line: number;
  readonly open: PartProps["open"];
}

function Lines({ view, note, line, open }: LinesProps): VNode {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => {
    chosen.current?.scrollIntoView({ block: "nearest" });
    chosen.current?.querySelector<HTMLElement>("button.note-number")?.focus();
  }, [note.path, line]);
  const shown = withOrigins(note);
  return (
    <ol class="note-lines" aria-label={t("Lines of {file}", { file: note.path })}>
      {shown.map(({ text, origin, isFirst }, index) => {
        const number = note.from + index;
        const isChosen = number === line;
        return (
          <li key={number} {...(isChosen && { ref: chosen, "aria-current": "true" as const })}>
            {isFirst && <OriginText view={view} origin={origin} />}
            <button
              type="button"
              class="note-number"
              aria-label={t("Line {line}", { line: String(number) })}
              onClick={() => open({ path: note.path, line: number })}
            >
              {number}
            </button>
            <span dir="auto">{seen(text)}</span>
          </li>
        );
      })}
    </ol>
  );
}

interface ShownLine {
  readonly text: string;
  readonly origin: Origin | undefined;
  /** Whether the lines of another change, or the note, end before it. */
  readonly isFirst: boolean;
}

/** An empty line belongs to the one before it: it has no origin of its own. */
function withOrigins({ from, total, lines, origins }: Read): readonly ShownLine[] {
  let before: number | undefined;
  let hasBegun = false;
  // The end of the last line is no line of its own.
  const shown = from + lines.length > total && lines.at(-1)?.text === "" ? lines.slice(0, -1) : lines;
  return shown.map(({ text, origin }) => {
    const isFirst = text.trim() !== "" && (!hasBegun || origin !== before);
    if (isFirst) [before, hasBegun] = [origin, true];
    return { text, origin: origin === undefined ? undefined : origins[origin], isFirst };
  });
}

const BY: Readonly<Record<string, string>> = {
  owner: t("for an owner"),
  guest: t("for a guest"),
  automation: t("by a job"),
  plugin: t("by a plugin"),
};

function OriginText({ view, origin }: { readonly view: ViewProps; readonly origin: Origin | undefined }): VNode {
  const now = useNow(60_000);
  if (origin === undefined)
    return (
      <p class="note-origin">
        {t("From here on: written by an editor or a command, so nothing is known of the origin")}
      </p>
    );
  const { at, by, sources, sessionKey, isGuess, origin: kind } = origin;
  const isUntrusted = kind === "untrusted";
  const facts = factLine([
    BY[kind] ?? by,
    isUntrusted
      ? t("after the conversation had read {sources}", { sources: sources ?? t("what strangers wrote") })
      : undefined,
    isGuess === true ? t("the change was too large to be compared by lines") : undefined,
  ]);
  return (
    <p class={isUntrusted ? "note-origin untrusted" : "note-origin"}>
      <time dateTime={at}>{when(Date.parse(at), now)}</time>
      {facts !== "" && ` · ${facts}`}
      {sessionKey !== undefined && (
        <>
          {" · "}
          <button type="button" class="link" onClick={() => view.chat.open(sessionKey)}>
            {sessionTitle(sessionKey, rowOf(view.state, sessionKey)?.label)}
          </button>
        </>
      )}
    </p>
  );
}

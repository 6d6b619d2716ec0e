import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { begunBy, channelName, rowName, sessionTitle } from "../../model/format.ts";
import { agentTitle } from "../../model/state.ts";
import { useNow } from "../common/hooks.ts";
import {
  type ViewActs,
  ActButton,
  AgentPick,
  PickButtons,
  ListRow,
  RowList,
  RowText,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { seen, t } from "../../words/words.ts";

type Listed = Answers["sessions.list"]["sessions"][number];

const CHANGED = { changedBy: ["sessions.changed"] };
const STEP = 50;
const WHICH = [
  ["current", t("Current ones")],
  ["archived", t("In the archive")],
  ["all", t("All")],
] as const;
type Which = (typeof WHICH)[number][0];

/** All conversations: found by name and person, by what was said in them, by agent, and in the archive. */
export function ConversationsView(props: ViewProps): VNode {
  const { state } = props;
  const [query, setQuery] = useState("");
  const [which, setWhich] = useState<Which>("current");
  const [agentId, setAgent] = useState("");
  const [limit, setLimit] = useState(STEP);
  const list = useAnswer(props, {
    method: "sessions.list",
    params: {
      limit,
      includeDerivedTitles: true,
      includeLastMessage: true,
      ...(which !== "current" && { archived: which === "all" ? "all" : true }),
      ...(agentId !== "" && { agentId }),
      ...(query !== "" && { search: query }),
    },
    ...CHANGED,
  });
  const acting = useActing(list.again);
  const rows = list.answer?.sessions ?? [];
  const { agents } = state.catalog;
  return (
    <ViewFrame
      tools={
        <>
          <input
            type="search"
            aria-label={t("Search by name, person or words")}
            placeholder={t("A name, a person, or words that were said")}
            onInput={(event) => (setQuery(event.currentTarget.value.trim()), setLimit(STEP))}
          />
          <PickButtons label={t("Which conversations")} value={which} options={WHICH} choose={setWhich} />
          <AgentPick agents={agents} value={agentId} none={t("All agents")} choose={setAgent} />
        </>
      }
      problems={[list.problem, acting.problem]}
      isRead={list.answer !== undefined}
    >
      <RowList title={t("Conversations")} empty={t("None fits.")}>
        {rows.map((row) => (
          <ConversationRow key={row.key} row={row} view={props} acting={acting} />
        ))}
      </RowList>
      {list.answer?.hasMore === true && <ActButton label={t("Show more")} act={() => setLimit(limit + STEP)} />}
      {query !== "" && <Said view={props} query={query} />}
    </ViewFrame>
  );
}

function ConversationRow({ row, view, acting }: { row: Listed; view: ViewProps; acting: ViewActs }): VNode {
  const now = useNow(60_000);
  const { state, chat } = view;
  const { key, archived = false, pinned = false, updatedAt, hasActiveRun } = row;
  const patch = (change: Record<string, unknown>): void =>
    acting.act(() => chat.ask("sessions.patch", { key, ...change }));
  return (
    <ListRow
      name={titleOf(row)}
      title={
        <button type="button" class="link" onClick={() => chat.open(key)}>
          {titleOf(row)}
        </button>
      }
      facts={[
        hasActiveRun === true ? t("working") : undefined,
        pinned ? t("pinned") : undefined,
        archived ? t("in the archive") : undefined,
        agentTitle(state, key),
        channelName(key),
        updatedAt === undefined ? undefined : when(updatedAt, now),
      ]}
      actions={
        <>
          <ActButton
            label={pinned ? t("Unpin") : t("Pin")}
            isDisabled={acting.isBusy}
            act={() => patch({ pinned: !pinned })}
          />
          <ActButton
            label={archived ? t("Bring back") : t("Archive")}
            isDisabled={acting.isBusy}
            act={() => patch({ archived: !archived })}
          />
        </>
      }
    >
      {row.lastMessagePreview !== undefined && <RowText text={row.lastMessagePreview} />}
    </ListRow>
  );
}

const titleOf = (row: Listed): string => sessionTitle(row.key, rowName(row));

/** Messages with the words, in any conversation. */
function Said({ view, query }: { view: ViewProps; query: string }): VNode {
  const now = useNow(60_000);
  const found = useAnswer(view, { method: "sessions.search", params: { query, limit: 25 } });
  return (
    <ViewFrame problems={[found.problem]} isRead={found.answer !== undefined}>
      <RowList title={t("What was said")} empty={t("Nobody has said this.")}>
        {(found.answer?.results ?? []).map((hit) => (
          <HitRow key={`${hit.sessionId}:${hit.messageId}`} hit={hit} view={view} now={now} />
        ))}
      </RowList>
    </ViewFrame>
  );
}

interface HitProps {
  readonly hit: Answers["sessions.search"]["results"][number];
  readonly view: ViewProps;
  readonly now: number;
}

/** The gateway writes the job's id and name before what a job asks: its row says them apart. */
const JOB_MARK = /^\[cron:\S+ [^\]]*\] /;

/** The title tells which job or program asked. */
function writerOf(role: string, key: string): string | undefined {
  if (role !== "user") return t("the agent");
  return begunBy(key) === undefined ? t("a person") : undefined;
}

/** A message that has the words, and who wrote it where. */
function HitRow({ hit, view, now }: HitProps): VNode {
  const { sessionKey: key, role, snippet, timestamp } = hit;
  const words = seen(role === "user" && begunBy(key) !== undefined ? snippet.replace(JOB_MARK, "") : snippet);
  const title = sessionTitle(key, view.state.sessions.find((row) => row.key === key)?.label);
  return (
    <ListRow
      name={words}
      title={
        <button type="button" class="link" onClick={() => view.chat.open(key)}>
          {words}
        </button>
      }
      facts={[writerOf(role, key), title, when(timestamp, now)]}
    />
  );
}

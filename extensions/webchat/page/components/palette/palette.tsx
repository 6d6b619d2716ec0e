import type { VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { rowName, sessionTitle } from "../../model/format.ts";
import { type Entry, type EntryGroup, findEntries, type FoundGroup } from "../../palette/entries.ts";
import { seen, t } from "../../words/words.ts";
import { actionsOf, conversationEntry, type PaletteView, type PaletteScene } from "./actions.ts";

export interface PaletteProps extends PaletteScene {
  readonly views: readonly PaletteView[];
  readonly close: () => void;
}

/** A dialog that finds views, conversations, agents, actions and commands by typed words, and opens or does what is chosen. */
export function Palette(props: PaletteProps): VNode {
  const { close } = props;
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState("");
  const { isReading, conversations } = useConversations(props, query.trim());
  const entries = useMemo(() => actionsOf(props), [props.state, props.views, props.running]);
  const found = useMemo(() => findEntries(entries, query, conversations), [entries, query, conversations]);
  const all = found.flatMap((group) => group.entries);
  const { index, move } = useChosen(all, query);
  // Before the next key comes: it belongs into the field.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const run = (entry: Entry): void => {
    // The browser gives the focus back first; an entry may take it on.
    dialog.current?.close();
    entry.run();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const entry = all[index];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && all.length > 0) move((Math.max(index, 0) + step + all.length) % all.length);
    else if (event.key !== "Enter") return;
    else if (entry !== undefined) run(entry);
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t("Find and do")}
      onClose={close}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
    >
      <div class="palette-inside">
        <input
          role="combobox"
          aria-label={t("Find a view, a conversation, an agent or an action")}
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={id}
          aria-activedescendant={index < 0 ? undefined : `${id}-${index}`}
          placeholder={t("A view, a conversation, an agent, an action")}
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={pressed}
        />
        <FoundList id={id} found={found} index={index} move={move} run={run} />
        <p class="palette-count" role="status">
          {countText(all.length, isReading)}
        </p>
      </div>
    </dialog>
  );
}

/**
 * The entry that Enter chooses: the first one for the typed words, until another one is reached. It stays the same while others
 * come and go; when it has gone itself, Enter chooses nothing.
 */
function useChosen(all: readonly Entry[], query: string) {
  const [, redraw] = useState({});
  const chosen = useRef<{ query: string; id: string | undefined }>({ query: "", id: undefined });
  if (chosen.current.query !== query || chosen.current.id === undefined) chosen.current = { query, id: all[0]?.id };
  const move = (to: number): void => {
    chosen.current = { query, id: all[to]?.id };
    redraw({});
  };
  return { index: all.findIndex(({ id }) => id === chosen.current.id), move };
}

function countText(count: number, isReading: boolean): string {
  if (count > 0) return t("{n} result|{n} results", { n: count });
  return isReading ? t("Looking in the conversations…") : t("Nothing has these words.");
}

const GROUP_TITLES: Readonly<Record<EntryGroup, string>> = {
  actions: t("Actions"),
  views: t("Views"),
  conversations: t("Conversations"),
  agents: t("Agents"),
  commands: t("Commands of the chat"),
};

interface ListProps {
  readonly id: string;
  readonly found: readonly FoundGroup[];
  /** Of the entry that Enter chooses, among all. */
  readonly index: number;
  readonly move: (index: number) => void;
  readonly run: (entry: Entry) => void;
}

/** The browser also tells of a mouse that rests when what lies under it changes. */
const isMoved = ({ movementX, movementY }: MouseEvent): boolean => movementX !== 0 || movementY !== 0;

/** The focus stays in the field: the list only shows which entry Enter chooses. */
function FoundList({ id, found, index, move, run }: ListProps): VNode {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [index, found]);
  let before = 0;
  return (
    <div class="palette-list" role="listbox" id={id} aria-label={t("Results")} ref={list}>
      {found.map(({ group, entries }) => {
        const first = before;
        before += entries.length;
        return (
          <div key={group} role="group" aria-label={GROUP_TITLES[group]}>
            <p class="palette-group" aria-hidden="true">
              {GROUP_TITLES[group]}
            </p>
            {entries.map((entry, place) => (
              <div
                key={entry.id}
                id={`${id}-${first + place}`}
                class="palette-entry"
                role="option"
                aria-selected={first + place === index}
                onMouseMove={(event) => isMoved(event) && first + place !== index && move(first + place)}
                onClick={() => run(entry)}
              >
                <span class="palette-title" dir="auto">
                  {seen(entry.title)}
                </span>
                {entry.hint !== undefined && <span class="palette-hint">{seen(entry.hint)}</span>}
              </div>
            ))}
          </div>
        );
      })}
    </div>
  );
}

const NONE: readonly Entry[] = [];
/** Conversations that are asked for at once. */
const MOST = 12;

/** The conversations with the typed words; those that the page lists already are among the other entries. */
function useConversations({ state, chat }: PaletteScene, query: string) {
  const [answer, setAnswer] = useState<{ query: string; entries: readonly Entry[] }>({ query: "", entries: NONE });
  const isConnected = state.link.state === "connected" && state.hello?.methods.includes("sessions.list") === true;
  useEffect(() => {
    if (query === "" || !isConnected) return undefined;
    let isWanted = true;
    chat.ask("sessions.list", { search: query, limit: MOST, includeDerivedTitles: true }).then(
      ({ sessions }) => {
        const entries = sessions.map((row) =>
          conversationEntry({ state, chat }, row.key, sessionTitle(row.key, rowName(row))),
        );
        if (isWanted) setAnswer({ query, entries });
      },
      // What the page lists is found all the same.
      () => isWanted && setAnswer({ query, entries: NONE }),
    );
    return () => {
      isWanted = false;
    };
  }, [chat, query, isConnected]);
  const isReading = query !== "" && isConnected && answer.query !== query;
  return { isReading, conversations: answer.query === query ? answer.entries : NONE };
}

import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { hitsIn, saidMessages, type SaidMessage } from "../model/find.ts";
import type { PageState } from "../model/state.ts";
import { showInLog } from "./common/hooks.ts";
import { Icon } from "./common/icons.tsx";
import { approach, drawnBlocks } from "./turn-blocks.tsx";
import { t } from "../words/words.ts";

/** Messages of a conversation that are asked for at once. */
const PAGE = 1000;

/** The search in the open conversation, also in what the page has not loaded: hits are counted, and shown one after another. */
export function FindBar({ state, chat }: { readonly state: PageState; readonly chat: Chat }): VNode {
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const { said, isReading, problem } = useSaid(state, chat);
  const hits = useMemo(() => hitsIn(said, query), [said, query]);
  const [chosen, setChosen] = useState<string>();
  const at = chosen !== undefined && hits.includes(chosen) ? hits.indexOf(chosen) : hits.length - 1;
  const shown = hits[at];
  useLayoutEffect(() => field.current?.focus(), []);
  useShownHit(shown, query, chat);
  const step = (by: number): void => {
    if (hits.length > 0) setChosen(hits[(at + by + hits.length) % hits.length]);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    if (event.key === "Escape") chat.find(false);
    else step(event.shiftKey ? 1 : -1);
  };
  return (
    <search class="find">
      <input
        ref={field}
        type="search"
        aria-label={t("Search in this conversation")}
        placeholder={t("Search in this conversation")}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={pressed}
      />
      <span role="status">{problem ?? countText(query, { at, count: hits.length, isReading })}</span>
      <button
        type="button"
        class="plain-icon"
        aria-label={t("Earlier hit")}
        disabled={hits.length === 0}
        onClick={() => step(-1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        class="plain-icon"
        aria-label={t("Later hit")}
        disabled={hits.length === 0}
        onClick={() => step(1)}
      >
        <Icon name="down" />
      </button>
      <button type="button" class="plain-icon" aria-label={t("Close the search")} onClick={() => chat.find(false)}>
        <Icon name="close" />
      </button>
    </search>
  );
}

function countText(query: string, found: { at: number; count: number; isReading: boolean }): string {
  const { at, count, isReading } = found;
  if (query.trim() === "") return "";
  if (count > 0 && isReading) return t("{at} of {count}, reading on…", { at: at + 1, count });
  if (count > 0) return t("{at} of {count}", { at: at + 1, count });
  return isReading ? t("Reading…") : t("No message has this");
}

/** All messages of the open conversation, the oldest first; read page by page, and anew when it goes on. */
function useSaid({ sessionKey, transcript, link }: PageState, chat: Chat) {
  const [said, setSaid] = useState<readonly SaidMessage[]>([]);
  const [now, setNow] = useState<{ isReading: boolean; problem?: string }>({ isReading: true });
  const isConnected = link.state === "connected";
  useEffect(() => {
    let isWanted = isConnected;
    const read = async (): Promise<void> => {
      let all: readonly SaidMessage[] = [];
      let offset: number | null | undefined = 0;
      while (isWanted && typeof offset === "number") {
        const page: Answers["chat.history"] = await chat.ask("chat.history", { sessionKey, limit: PAGE, offset });
        if (!isWanted) return;
        all = [...saidMessages(page.messages), ...all];
        offset = page.hasMore === true ? page.nextOffset : undefined;
        setSaid(all);
        setNow({ isReading: typeof offset === "number" });
      }
    };
    read().catch((error: unknown) => {
      if (isWanted) setNow({ isReading: false, problem: error instanceof Error ? error.message : String(error) });
    });
    return () => {
      isWanted = false;
    };
  }, [chat, sessionKey, transcript.last, isConnected]);
  return { said, ...now };
}

/** Loads the conversation back to the hit, scrolls to it, and marks the words of the query in it. */
function useShownHit(hit: string | undefined, query: string, chat: Chat): void {
  useEffect(() => {
    if (hit === undefined) return undefined;
    let isWanted = true;
    let timer = 0;
    const show = (frames: number, blocks: number): void => {
      const turn = turnOf(hit);
      if (!isWanted || frames === 0) return;
      if (turn !== undefined) return mark(turn, query);
      approach(hit);
      const drawn = drawnBlocks();
      timer = requestAnimationFrame(() => show(drawn > blocks ? MOST_FRAMES : frames - 1, drawn));
    };
    // The page draws what was read in the next frames, block by block.
    void chat.backTo(hit).then(() => show(MOST_FRAMES, drawnBlocks()));
    return () => {
      isWanted = false;
      cancelAnimationFrame(timer);
      unmark();
    };
  }, [hit, query, chat]);
}

const MOST_FRAMES = 60;

const turnOf = (messageId: string): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLElement>("li.turn")].find((turn) =>
    turn.dataset["messages"]?.split(" ").includes(messageId),
  );

const NAME = "found";

function mark(turn: HTMLElement, query: string): void {
  turn.classList.add(NAME);
  const ranges = rangesOf(turn, query.trim().toLowerCase());
  const place = ranges[0]?.startContainer.parentElement ?? turn;
  showInLog(place);
  if (typeof Highlight === "function" && ranges.length > 0) CSS.highlights.set(NAME, new Highlight(...ranges));
}

function unmark(): void {
  for (const turn of document.querySelectorAll(`li.turn.${NAME}`)) turn.classList.remove(NAME);
  if (typeof Highlight === "function") CSS.highlights.delete(NAME);
}

/** Where the words stand in the text of a turn, as far as each stands within one piece of text. */
function rangesOf(turn: HTMLElement, words: string): readonly Range[] {
  const said = turn.querySelector(".said");
  if (said === null || words === "") return [];
  const walker = document.createTreeWalker(said, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      ranges.push(range);
    }
  }
  return ranges;
}

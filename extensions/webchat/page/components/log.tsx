import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { isOpen, type PageState, type TurnVersions } from "../model/state.ts";
import { TurnRows } from "../model/turn-rows.ts";
import { shownTurns, type DisplayedTurn } from "../model/view.ts";
import { useLoaded, useShiftKey } from "./common/hooks.ts";
import { Icon, Logo } from "./common/icons.tsx";
import { FirstSteps } from "./setup/first-steps.tsx";
import type { PressedArrow } from "./turns/turn-acts.tsx";
import { TurnBlocks } from "./turn-blocks.tsx";
import { textOf } from "./turn.tsx";
import { t } from "../words/words.ts";

const NO_METHODS: readonly string[] = [];

/** The conversation. It scrolls to new text unless the reader has scrolled up, and to what the reader sends. */
export function ConversationLog(props: { state: PageState; chat: Chat }): VNode {
  const { state, chat } = props;
  const { turns, hasMore, loaded } = state.transcript;
  const shown = useMemo(() => {
    return shownTurns(
      turns,
      state.exchanges.filter((exchange) => isOpen(state, exchange.sessionKey)),
      state.waiting,
    );
  }, [turns, state.exchanges, state.waiting]);
  const finder = useLoaded(state.shown.find === true, () => import("./find-bar.tsx"));
  // Ctrl+F is the browser's own.
  useShiftKey("f", () => chat.find(true));
  const { scroller, content, isScrolledUp, toEnd, keepPlace } = useAutoScroll(
    state.sessionKey,
    shown.length > 0,
    lastSentAt(state),
  );
  return (
    <div class="log-frame">
      {state.shown.find === true && finder !== undefined && <finder.FindBar state={state} chat={chat} />}
      <div class="log" ref={scroller} tabIndex={0} role="region" aria-label={t("Conversation")}>
        <div class="column" ref={content}>
          {hasMore && (
            <button type="button" class="quiet earlier" onClick={() => (keepPlace(), chat.loadEarlier())}>
              {t("Show earlier messages")}
            </button>
          )}
          {shown.length === 0 && loaded && <Welcome state={state} chat={chat} />}
          <Turns state={state} chat={chat} shown={shown} />
        </div>
      </div>
      {isScrolledUp && (
        <button type="button" class="round jump" aria-label={t("Go to the latest message")} onClick={toEnd}>
          <Icon name="down" />
        </button>
      )}
      <Announcements sessionKey={state.sessionKey} loaded={loaded} shown={shown} />
    </div>
  );
}

/** The turns with their acts, and the dialog about an answer. Markdown and the dialog are loaded beside the page. */
function Turns(props: { state: PageState; chat: Chat; shown: readonly DisplayedTurn[] }): VNode {
  const { state, chat, shown } = props;
  const methods = state.hello?.methods ?? NO_METHODS;
  const isLive = useMemo(() => shown.some(({ live }) => live === true), [shown]);
  const versions = useVersions(state, !isLive && methods.includes("sessions.branches.switch"));
  const rows = useMemo(() => new TurnRows(), []);
  const blocks = useMemo(() => rows.blocksOf(shown, { methods, versions }), [shown, methods, versions]);
  const pressed: PressedArrow = useRef(undefined);
  const [facts, setFacts] = useState<readonly string[]>();
  const parser = useLoaded(true, () => import("./markdown/markdown.tsx"));
  const files = useLoaded(
    shown.some(({ parts }) => parts.some(({ kind }) => kind === "file")),
    () => import("./turns/files.tsx"),
  );
  const dialog = useLoaded(facts !== undefined, () => import("./turns/answer-facts.tsx"));
  return (
    <>
      <TurnBlocks
        blocks={blocks}
        chat={chat}
        pressed={pressed}
        markdown={parser?.Markdown}
        files={files?.FilePart}
        showFacts={setFacts}
      />
      {facts !== undefined && dialog !== undefined && (
        <dialog.AnswerFacts view={{ state, chat }} runIds={facts} close={() => setFacts(undefined)} />
      )}
    </>
  );
}

/** The versions by message, where this client may show them; none during an answer, which another version would stop. */
function useVersions({ transcript: { versions } }: PageState, canShow: boolean): ReadonlyMap<string, TurnVersions> {
  return useMemo(() => new Map(canShow ? versions?.map((one) => [one.entryId, one]) : []), [versions, canShow]);
}

/** When the latest message of this page to the open conversation was written, of those that the transcript does not have. */
function lastSentAt(state: PageState): number {
  const own = state.exchanges.filter(({ sent, sessionKey }) => sent !== undefined && isOpen(state, sessionKey));
  return Math.max(0, ...own.map(({ at }) => at));
}

/** An empty conversation is read from its top. */
function useAutoScroll(sessionKey: string, hasTurns: boolean, sentAt: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const wanted = useRef(hasTurns);
  const held = useRef<ReturnType<typeof placesIn>>([]);
  wanted.current = hasTurns;
  const [isScrolledUp, setIsScrolledUp] = useState(false);
  const toEnd = (): void => {
    following.current = true;
    held.current = [];
    setIsScrolledUp(false);
    scroller.current?.scrollTo({ top: wanted.current ? scroller.current.scrollHeight : 0 });
  };
  // The browser keeps it by itself, but not at the top.
  const keepPlace = (): void => {
    if (scroller.current !== null) held.current = placesIn(scroller.current);
  };
  useLayoutEffect(toEnd, [sessionKey, hasTurns]);
  const latest = useRef(sentAt);
  useLayoutEffect(() => {
    if (sentAt > latest.current) toEnd();
    latest.current = Math.max(latest.current, sentAt);
  }, [sentAt]);
  useEffect(() => {
    const frame = scroller.current;
    if (frame === null || content.current === null) return undefined;
    let top = 0;
    const release = (): void => void (held.current = []);
    const scrolled = (): void => {
      const isAtEnd = frame.scrollHeight - frame.scrollTop - frame.clientHeight < 60;
      // The end may also have moved away since the log was scrolled to it.
      if (isAtEnd || frame.scrollTop < top) following.current = isAtEnd;
      setIsScrolledUp(wanted.current && !following.current);
      // Somebody has scrolled, or the browser, which keeps the place by itself from then on.
      if (frame.scrollTop !== top) release();
      top = frame.scrollTop;
    };
    const watcher = new ResizeObserver(() => {
      if (following.current && wanted.current) frame.scrollTo({ top: frame.scrollHeight });
      else frame.scrollBy({ top: movedBy(held.current) ?? 0 });
      top = frame.scrollTop;
    });
    watcher.observe(content.current);
    watcher.observe(frame);
    frame.addEventListener("scroll", scrolled, { passive: true });
    // What a person opens may move what follows it.
    for (const act of ["pointerdown", "keydown"]) frame.addEventListener(act, release);
    return () => {
      watcher.disconnect();
      frame.removeEventListener("scroll", scrolled);
      for (const act of ["pointerdown", "keydown"]) frame.removeEventListener(act, release);
    };
  }, []);
  return { scroller, content, isScrolledUp, toEnd, keepPlace };
}

/** A turn that is seen, or comes after one, and where it ends in the window. */
interface Place {
  readonly turn: Element;
  readonly bottom: number;
}

/** The places of the turns of a conversation from the first that is seen. */
function placesIn(frame: Element): readonly Place[] {
  const { top } = frame.getBoundingClientRect();
  return [...frame.querySelectorAll("li.turn")]
    .map((turn) => ({ turn, bottom: bottomOf(turn) }))
    .filter(({ bottom }) => bottom > top);
}

/**
 * How many pixels the turns have moved down: by the end of the first one that is still on the page, because an answer may have
 * got an earlier part. Undefined when none is there any more.
 */
function movedBy(places: readonly Place[]): number | undefined {
  const kept = places.find(({ turn }) => turn.isConnected);
  return kept && bottomOf(kept.turn) - kept.bottom;
}

const bottomOf = (turn: Element): number => turn.getBoundingClientRect().bottom;

/** Announces each finished answer once to screen readers. */
function Announcements(props: { sessionKey: string; loaded: boolean; shown: readonly DisplayedTurn[] }): VNode {
  const { sessionKey, loaded, shown } = props;
  const announced = useRef({ sessionKey: "", text: "" });
  const [spoken, setSpoken] = useState("");
  const last = shown.findLast((turn) => turn.role === "assistant");
  const text = last === undefined || last.live === true ? undefined : textOf(last);
  useEffect(() => {
    if (!loaded) return;
    const isSameSession = announced.current.sessionKey === sessionKey;
    if (!isSameSession) announced.current = { sessionKey, text: text ?? "" };
    const { text: before } = announced.current;
    if (text === undefined || before === text) return;
    announced.current = { sessionKey, text };
    // An answer may go on with further messages.
    setSpoken(text.startsWith(before) ? text.slice(before.length).trim() : text);
  }, [sessionKey, loaded, text]);
  return (
    <div class="unseen" role="log" aria-live="polite" aria-label={t("Finished answers")}>
      {spoken}
    </div>
  );
}

const IDEAS = [t("list the files"), t("read README.md"), t("run date")];
/** The demo model knows these, in English alone. */
const DEMO_IDEAS = ["list the files", "read README.md", "run date"];

/** The content of an empty conversation. */
function Welcome(props: { state: PageState; chat: Chat }): VNode {
  const { state, chat } = props;
  const { demo } = state.status.model;
  const hasSteps = state.hello?.methods.includes("openclaw.setup.activate") === true;
  return (
    <section class="welcome" aria-label={t("Welcome")}>
      <Logo />
      <h2>{t("What can I do for you?")}</h2>
      <p>
        {demo && !hasSteps
          ? DEMO
          : t("Ask anything. The agent works in its own workspace, and asks you before it runs a command.")}
      </p>
      <FirstSteps state={state} chat={chat} />
      <div class="ideas">
        {(demo ? DEMO_IDEAS : IDEAS).map((idea) => (
          <button key={idea} type="button" class="quiet" onClick={() => chat.send(idea, [])}>
            {idea}
          </button>
        ))}
      </div>
    </section>
  );
}

const DEMO = t(
  "The demo model is answering: it repeats what you write, and it calls real tools for a few phrases. The operator can connect a real model.",
);

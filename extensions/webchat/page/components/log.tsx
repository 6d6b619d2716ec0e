import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chat } from "../chat.ts";
import { isOpen } from "../state.ts";
import type { State } from "../state.ts";
import { shownTurns } from "../view.ts";
import type { ShownTurn } from "../view.ts";
import { Boundary } from "./boundary.tsx";
import { Icon } from "./icons.tsx";
import { TurnView } from "./turn.tsx";
import { Welcome } from "./welcome.tsx";

/** The conversation. It follows what is being said unless the reader has scrolled up. */
export function Log(props: { state: State; chat: Chat }): VNode {
  const { state, chat } = props;
  const { turns, hasMore, loaded } = state.transcript;
  const shown = useMemo(() => {
    return shownTurns(
      turns,
      state.exchanges.filter((exchange) => isOpen(state, exchange.sessionKey)),
    );
  }, [turns, state.exchanges]);
  const { scroller, content, away, toEnd } = useFollowing(state.sessionKey);
  return (
    <div class="log-frame">
      <div class="log" ref={scroller} tabIndex={0} role="region" aria-label="Conversation">
        <div class="column" ref={content}>
          {hasMore && (
            <button type="button" class="quiet earlier" onClick={() => chat.loadEarlier()}>
              Show earlier messages
            </button>
          )}
          {shown.length === 0 && loaded && <Welcome state={state} chat={chat} />}
          <ol class="turns">
            {keyed(shown).map(([key, turn]) => (
              <Boundary key={key} of={turn} instead={() => <PlainTurn turn={turn} />}>
                <TurnView turn={turn} chat={chat} />
              </Boundary>
            ))}
          </ol>
        </div>
      </div>
      {away && (
        <button type="button" class="round jump" aria-label="Go to the latest message" onClick={toEnd}>
          <Icon name="down" />
        </button>
      )}
      <Announcer sessionKey={state.sessionKey} loaded={loaded} shown={shown} />
    </div>
  );
}

/** A turn that could not be drawn, as bare text. */
function PlainTurn(props: { turn: ShownTurn }): VNode {
  return (
    <li class={`turn ${props.turn.role}`}>
      <div class="said">
        <p class="plain">{wordsOf(props.turn)}</p>
      </div>
      <p class="outcome error">This message could not be drawn; its text is shown as it came.</p>
    </li>
  );
}

/** A turn keeps its key when the transcript takes it over, so that what was unfolded stays so. */
function keyed(shown: readonly ShownTurn[]): readonly (readonly [string, ShownTurn])[] {
  const taken = new Set<string>();
  return shown.map((turn) => {
    const byRun = `${turn.runIds[0]}:${turn.role}`;
    const key = turn.runIds.length === 0 || taken.has(byRun) ? turn.id : byRun;
    taken.add(key);
    return [key, turn];
  });
}

function useFollowing(sessionKey: string) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [away, setAway] = useState(false);
  const toEnd = (): void => {
    following.current = true;
    setAway(false);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  useLayoutEffect(toEnd, [sessionKey]);
  useEffect(() => {
    const frame = scroller.current;
    if (frame === null || content.current === null) return undefined;
    const scrolled = (): void => {
      following.current = frame.scrollHeight - frame.scrollTop - frame.clientHeight < 60;
      setAway(!following.current);
    };
    const watcher = new ResizeObserver(() => {
      if (following.current) frame.scrollTo({ top: frame.scrollHeight });
    });
    watcher.observe(content.current);
    watcher.observe(frame);
    frame.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      watcher.disconnect();
      frame.removeEventListener("scroll", scrolled);
    };
  }, []);
  return { scroller, content, away, toEnd };
}

/** Says each finished answer once to screen readers; what is still being written stays silent. */
function Announcer(props: { sessionKey: string; loaded: boolean; shown: readonly ShownTurn[] }): VNode {
  const { sessionKey, loaded, shown } = props;
  const heard = useRef({ sessionKey: "", text: "" });
  const [spoken, setSpoken] = useState("");
  const last = shown.findLast((turn) => turn.role === "assistant");
  const text = last === undefined || last.live === true ? undefined : wordsOf(last);
  useEffect(() => {
    if (!loaded) return;
    const isSameSession = heard.current.sessionKey === sessionKey;
    if (!isSameSession) heard.current = { sessionKey, text: text ?? "" };
    if (text === undefined || heard.current.text === text) return;
    heard.current = { sessionKey, text };
    setSpoken(text);
  }, [sessionKey, loaded, text]);
  return (
    <div class="unseen" role="log" aria-live="polite" aria-label="Finished answers">
      {spoken}
    </div>
  );
}

function wordsOf(turn: ShownTurn): string {
  const texts = turn.parts.map((part) => (part.kind === "text" ? part.text : ""));
  return [...texts, turn.error ?? ""].filter((line) => line !== "").join("\n");
}

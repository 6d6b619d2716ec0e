import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import type { RowBlock } from "../model/turn-rows.ts";
import { ErrorBoundary } from "./boundary.tsx";
import { useKnownNodes } from "./common/hooks.ts";
import type { PressedArrow } from "./turns/turn-acts.tsx";
import { type FileView, type MarkdownView, PlainTurn, TurnView } from "./turn.tsx";

interface DrawingProps {
  readonly chat: Chat;
  readonly pressed: PressedArrow;
  readonly markdown: MarkdownView | undefined;
  readonly files: FileView | undefined;
  readonly showFacts: (runIds: readonly string[]) => void;
}

/** The blocks of the first frame. */
const AT_FIRST = 2;
/** A block that is farther from the window than these pixels is not drawn, unless the focus or a sound that has begun is in it. */
const MARGIN_PX = 1500;

/**
 * The turns of a conversation in blocks. A block that is far from what is seen is an empty space of its height, so that a long
 * conversation costs what a short one does.
 */
export function TurnBlocks({ blocks, ...drawing }: DrawingProps & { readonly blocks: readonly RowBlock[] }): VNode {
  const { chat, pressed, markdown, files, showFacts } = drawing;
  const known = useKnownNodes<RowBlock>([chat, pressed, markdown, files, showFacts]);
  const shown = blocks.slice(useFirstDrawn(blocks));
  return (
    <>
      {shown.map((block, at) => {
        const isLast = at === shown.length - 1;
        const node = <TurnBlock key={block[0]?.key} turns={block} isLast={isLast} {...drawing} />;
        return isLast ? node : known(block, node);
      })}
    </>
  );
}

/** The place of the first block that is drawn: the end of a conversation is drawn at once, and one block more after each frame. */
function useFirstDrawn(blocks: readonly RowBlock[]): number {
  const [first, setFirst] = useState<RowBlock>([]);
  const known = new Set(first.map(({ key }) => key));
  const found = blocks.findIndex((members) => members.some(({ key }) => known.has(key)));
  const place = found === -1 ? Math.max(0, blocks.length - AT_FIRST) : found;
  useEffect(() => {
    const next = blocks[Math.max(0, place - 1)];
    if (found !== 0 && next !== undefined) setFirst(next);
  }, [blocks, found, place]);
  return place;
}

interface BlockProps extends DrawingProps {
  readonly turns: RowBlock;
  /** The last block has what is written now, and is always drawn. */
  readonly isLast: boolean;
}

function TurnBlock(props: BlockProps): VNode {
  const { turns, isLast } = props;
  const place = useRef<HTMLOListElement>(null);
  const [isFar, setFar] = useState(false);
  const height = useRef(0);
  useLayoutEffect(() => {
    const list = place.current;
    if (list === null || isLast) return setFar(false);
    let isNear = true;
    const choose = (): void => {
      const isDrawn = isNear || list.contains(document.activeElement) || hasBegunSound(list);
      if (!isDrawn) height.current = list.offsetHeight;
      setFar(!isDrawn);
    };
    const watcher = new IntersectionObserver(
      (entries) => {
        isNear = entries.at(-1)?.isIntersecting === true;
        choose();
      },
      { root: list.closest(".log"), rootMargin: `${MARGIN_PX}px` },
    );
    watcher.observe(list);
    // Events of sounds and films do not go up to the list, but they come down through it.
    list.addEventListener("ended", choose, { capture: true });
    return () => {
      watcher.disconnect();
      list.removeEventListener("ended", choose, { capture: true });
    };
  }, [isLast]);
  const drawn = useSame(props, isFar);
  const messages = isFar ? turns.flatMap(({ turn }) => turn.messageIds).join(" ") : undefined;
  return (
    <ol
      ref={place}
      class="turns"
      style={isFar ? { height: `${height.current}px` } : undefined}
      data-messages={messages}
    >
      {drawn}
    </ol>
  );
}

/** Whether a sound or film of the list plays, or was stopped before its end. */
const hasBegunSound = (list: Element): boolean =>
  [...list.querySelectorAll<HTMLMediaElement>("audio, video")].some(
    ({ paused, ended, currentTime }) => !ended && (!paused || currentTime > 0),
  );

/** The turns as they were drawn, while none of them has changed. */
function useSame({ turns, chat, pressed, markdown, files, showFacts }: BlockProps, isFar: boolean): readonly VNode[] {
  const before = useRef<{ of: readonly unknown[]; drawn: readonly VNode[] }>({ of: [], drawn: [] });
  if (isFar) return [];
  const of = [markdown, files, ...turns.flatMap(({ key, turn, acts, versions }) => [key, turn, acts.join(), versions])];
  const { current } = before;
  if (of.length === current.of.length && of.every((one, at) => one === current.of[at])) return current.drawn;
  const drawn = turns.map(({ key, turn, acts, versions }) => (
    <ErrorBoundary key={key} retryOn={turn} fallback={() => <PlainTurn turn={turn} />}>
      <TurnView
        turn={turn}
        chat={chat}
        acts={acts}
        versions={versions}
        pressed={pressed}
        markdown={markdown}
        files={files}
        showFacts={showFacts}
      />
    </ErrorBoundary>
  ));
  before.current = { of, drawn };
  return drawn;
}

/** Scrolls to a block that has the message and is not drawn, so that it is drawn. */
export function approach(messageId: string): void {
  const blocks = [...document.querySelectorAll<HTMLElement>("ol.turns[data-messages]")];
  const far = blocks.find((block) => block.dataset["messages"]?.split(" ").includes(messageId));
  far?.scrollIntoView({ block: "center" });
}

/** How many blocks of the conversation have a place on the page by now. */
export const drawnBlocks = (): number => document.querySelectorAll("ol.turns").length;

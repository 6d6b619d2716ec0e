import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import type { TurnVersions } from "../model/state.ts";
import type { TurnAct } from "../model/turn-acts.ts";
import type { DisplayedTurn } from "../model/view.ts";
import { ErrorBoundary } from "./boundary.tsx";
import type { PressedArrow } from "./turns/turn-acts.tsx";
import { type FileView, type MarkdownView, PlainTurn, TurnView } from "./turn.tsx";

/** A turn of the list. It keeps its key when it becomes part of the transcript, so that opened details remain open. */
export interface KeyedTurn {
  readonly key: string;
  readonly turn: DisplayedTurn;
  readonly acts: readonly TurnAct[];
  readonly versions: TurnVersions | undefined;
}

interface DrawingProps {
  readonly chat: Chat;
  readonly pressed: PressedArrow;
  readonly markdown: MarkdownView | undefined;
  readonly files: FileView | undefined;
  readonly showFacts: (runIds: readonly string[]) => void;
}

type Block = readonly KeyedTurn[];

/** The most turns of a block. */
const MOST = 12;
/** The blocks of the first frame. */
const AT_FIRST = 2;
/** A block that is farther from the window than these pixels is not drawn. */
const MARGIN_PX = 1500;

/**
 * The turns of a conversation in blocks. A block that is far from what is seen is an empty space of its height, so that a long
 * conversation costs what a short one does.
 */
export function TurnBlocks({ turns, ...drawing }: DrawingProps & { readonly turns: readonly KeyedTurn[] }): VNode {
  const starts = useRef<ReadonlySet<string>>(new Set());
  const blocks = useMemo(() => blocksOf(turns, starts.current), [turns]);
  starts.current = new Set(blocks.map(([first]) => first?.key ?? ""));
  const shown = blocks.slice(useFirstDrawn(blocks));
  return (
    <>
      {shown.map((members, at) => (
        <TurnBlock key={members[0]?.key} turns={members} isLast={at === shown.length - 1} {...drawing} />
      ))}
    </>
  );
}

/** The place of the first block that is drawn: the end of a conversation is drawn at once, and one block more after each frame. */
function useFirstDrawn(blocks: readonly Block[]): number {
  const [first, setFirst] = useState<Block>([]);
  const known = new Set(first.map(({ key }) => key));
  const found = blocks.findIndex((members) => members.some(({ key }) => known.has(key)));
  const place = found === -1 ? Math.max(0, blocks.length - AT_FIRST) : found;
  useEffect(() => {
    const next = blocks[Math.max(0, place - 1)];
    if (found !== 0 && next !== undefined) setFirst(next);
  }, [blocks, found, place]);
  return place;
}

/** A block begins where one began before, so that what comes before or after it leaves it as it is. */
function blocksOf(turns: readonly KeyedTurn[], starts: ReadonlySet<string>): readonly Block[] {
  const blocks: KeyedTurn[][] = [];
  for (const one of turns) {
    const last = blocks.at(-1);
    if (last === undefined || last.length >= MOST || starts.has(one.key)) blocks.push([one]);
    else last.push(one);
  }
  return blocks;
}

interface BlockProps extends DrawingProps {
  readonly turns: Block;
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
    const watcher = new IntersectionObserver(
      (entries) => {
        const isSeen = entries.at(-1)?.isIntersecting === true || list.contains(document.activeElement);
        if (!isSeen) height.current = list.offsetHeight;
        setFar(!isSeen);
      },
      { root: list.closest(".log"), rootMargin: `${MARGIN_PX}px` },
    );
    watcher.observe(list);
    return () => watcher.disconnect();
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

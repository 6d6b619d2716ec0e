import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import type { TurnVersions } from "../../model/state.ts";
import { markdownOf, textPartsOf, type TurnAct } from "../../model/turn-acts.ts";
import type { DisplayedTurn } from "../../model/view.ts";
import { copyText } from "../common/clipboard.ts";
import { Icon, type IconName } from "../common/icons.tsx";
import { dayAndTime, fullTime } from "../../model/format.ts";
import { t } from "../../words/words.ts";

/** The code that draws Markdown is loaded beside the page. */
const htmlOf = async (texts: readonly string[]): Promise<string> =>
  (await import("../markdown/markdown.tsx")).answerHtml(texts);

interface ActsProps {
  readonly turn: DisplayedTurn;
  readonly acts: readonly TurnAct[];
  readonly chat: Chat;
  /** Shows how an answer was made. */
  readonly showFacts: (runIds: readonly string[]) => void;
}

/** The time of a turn and the buttons of its acts: one stop of the Tab key, within which the arrow keys move. */
export function TurnActs({ turn, acts, chat, showFacts }: ActsProps): VNode | null {
  const [reached, setReached] = useState(0);
  const [copied, setCopied] = useState<"done" | "failed">();
  const bar = useRef<HTMLDivElement>(null);
  if (acts.length === 0 && turn.at === undefined) return null;
  const copy = (): void =>
    void copyText(markdownOf(turn), turn.role === "user" ? undefined : () => htmlOf(textPartsOf(turn))).then(
      (isDone) => {
        setCopied(isDone ? "done" : "failed");
        setTimeout(() => setCopied(undefined), 1600);
      },
    );
  const does: Readonly<Record<TurnAct, () => void>> = {
    copy,
    edit: () => chat.edit(turn),
    retry: () => chat.retryLast(),
    branch: () => chat.branch(turn),
    facts: () => showFacts(turn.runIds),
  };
  const pressed = (event: KeyboardEvent): void => {
    const to = placeAfter(event.key, { at: Math.min(reached, acts.length - 1), count: acts.length, bar: bar.current });
    if (to === undefined) return;
    event.preventDefault();
    bar.current?.querySelectorAll("button")[to]?.focus();
  };
  return (
    <div class="turn-acts" role="toolbar" aria-label={LABELS[turn.role]} ref={bar} onKeyDown={pressed}>
      {acts.map((act, index) => (
        <button
          key={act}
          type="button"
          class="turn-act"
          aria-label={nameOf(act, turn)}
          title={nameOf(act, turn)}
          aria-haspopup={act === "facts" ? "dialog" : undefined}
          tabIndex={index === Math.min(reached, acts.length - 1) ? 0 : -1}
          onFocus={() => setReached(index)}
          onClick={does[act]}
        >
          <Icon name={act === "copy" && copied === "done" ? "check" : ICONS[act]} />
        </button>
      ))}
      {turn.at !== undefined && <TurnTime at={turn.at} />}
      <span class={copied === "failed" ? "" : "unseen"} role="status">
        {copied && (copied === "done" ? t("Copied") : t("Copy failed"))}
      </span>
    </div>
  );
}

interface VersionsProps {
  readonly versions: TurnVersions;
  readonly chat: Chat;
  /** The arrow that was pressed last, and the versions that it belongs to. */
  readonly pressed: PressedArrow;
}

/** What is shown next is another message, so that the focus has to be moved to its arrow. */
export interface PressedArrow {
  current: { readonly of: string | undefined; readonly step: 1 | -1 } | undefined;
}

/** Which of the versions of a message is shown, with arrows to the one before and after it. */
export function VersionArrows({ versions: { at, leaves }, chat, pressed }: VersionsProps): VNode {
  const group = useRef<HTMLDivElement>(null);
  const [of] = leaves;
  useEffect(() => {
    if (pressed.current === undefined || pressed.current.of !== of) return;
    const [before, after] = group.current?.querySelectorAll("button") ?? [];
    const wanted = pressed.current.step === 1 ? [after, before] : [before, after];
    pressed.current = undefined;
    wanted.find((button) => button?.disabled === false)?.focus();
  }, []);
  const arrow = (label: string, step: 1 | -1): VNode => {
    const leaf = leaves[at + step];
    const show = (): void => {
      if (leaf === undefined) return;
      pressed.current = { of, step };
      chat.showVersion(leaf);
    };
    return (
      <button
        type="button"
        class="turn-act"
        aria-label={label}
        title={label}
        disabled={leaf === undefined}
        onClick={show}
      >
        <Icon name="chevron" />
      </button>
    );
  };
  return (
    <div class="turn-versions" role="group" aria-label={t("Versions of this message")} ref={group}>
      {arrow(t("Version before"), -1)}
      <span>{t("{at} of {all}", { at: at + 1, all: leaves.length })}</span>
      {arrow(t("Version after"), 1)}
    </div>
  );
}

const LABELS = {
  user: t("Acts on this message"),
  assistant: t("Acts on this answer"),
  note: t("Acts on this note"),
} as const;

const ICONS: Readonly<Record<TurnAct, IconName>> = {
  copy: "copy",
  edit: "pencil",
  retry: "redo",
  branch: "branch",
  facts: "info",
};

function nameOf(act: TurnAct, { role }: DisplayedTurn): string {
  if (act === "copy") return role === "user" ? t("Copy message") : t("Copy answer");
  return {
    edit: t("Edit and send again"),
    retry: t("Answer again"),
    branch: t("Branch from here"),
    facts: t("How this answer was made"),
  }[act];
}

/** The button that a key reaches; undefined for a key that reaches none. */
function placeAfter(key: string, { at, count, bar }: { at: number; count: number; bar: Element | null }) {
  if (bar === null || count === 0) return undefined;
  const isTurned = getComputedStyle(bar).direction === "rtl";
  const steps = new Map([
    ["ArrowRight", at + (isTurned ? -1 : 1)],
    ["ArrowLeft", at + (isTurned ? 1 : -1)],
    ["Home", 0],
    ["End", count - 1],
  ]);
  const to = steps.get(key);
  return to === undefined ? undefined : (to + count) % count;
}

function TurnTime({ at }: { readonly at: number }): VNode {
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {dayAndTime(at)}
    </time>
  );
}

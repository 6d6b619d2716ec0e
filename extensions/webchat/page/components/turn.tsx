import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { dollars, factLine, shortCount } from "../model/format.ts";
import { planOf, withLastPlan } from "../model/plan.ts";
import type { ShownFile } from "../model/files.ts";
import type { Part } from "../model/transcript.ts";
import type { TurnVersions } from "../model/state.ts";
import type { TurnAct } from "../model/turn-acts.ts";
import type { DisplayedTurn } from "../model/view.ts";
import { useKnownNodes } from "./common/hooks.ts";
import { PlanCard } from "./plan.tsx";
import { ToolCall } from "./tool.tsx";
import { type PressedArrow, TurnActs, VersionArrows } from "./turns/turn-acts.tsx";
import { ownText } from "../model/json.ts";
import { t } from "../words/words.ts";

const SPEAKERS = { user: t("You:"), assistant: t("Agent:"), note: t("Note:") } as const;

/** Draws a Markdown text, which may still grow. */
export type MarkdownView = (props: { text: string; growing: boolean }) => VNode;

/** Draws a file of a message. */
export type FileView = (props: { file: ShownFile; fetched: (url: string) => Promise<Blob> }) => VNode;

interface TurnProps {
  readonly turn: DisplayedTurn;
  readonly chat: Chat;
  readonly acts: readonly TurnAct[];
  /** Set when there are other versions of it, which may be shown now. */
  readonly versions: TurnVersions | undefined;
  readonly pressed: PressedArrow;
  /** Draws Markdown; until it is loaded, answers are shown as their source. */
  readonly markdown: MarkdownView | undefined;
  /** Draws files; until it is loaded, they are shown by their names. */
  readonly files: FileView | undefined;
  /** Shows how an answer was made. */
  readonly showFacts: (runIds: readonly string[]) => void;
}

/** A turn of the conversation. */
export function TurnView(props: TurnProps): VNode {
  const { turn, chat, acts, versions, pressed, markdown, files, showFacts } = props;
  const known = useKnownNodes<Part>([turn.role, chat, markdown, files]);
  return useMemo(
    () => (
      <li
        class={turn.delivery === "waiting" ? "turn user waiting" : `turn ${turn.role}`}
        data-messages={turn.messageIds.join(" ")}
      >
        <Speaker turn={turn} />
        <div class="said">
          {withLastPlan(turn.parts).map((part, index, parts) => {
            const key = part.kind === "tool" ? part.id : index;
            const growing = turn.live === true && index === parts.length - 1;
            const drawing = { part, role: turn.role, chat, markdown, files, growing };
            const node = <PartView key={key} {...drawing} />;
            return growing ? node : known(part, node);
          })}
          {turn.live === true && turn.parts.at(-1)?.kind !== "text" && <Working phase={turn.phase} />}
        </div>
        <Delivery turn={turn} chat={chat} />
        <Outcome turn={turn} chat={chat} />
        {versions && <VersionArrows versions={versions} chat={chat} pressed={pressed} />}
        <TurnActs turn={turn} acts={acts} chat={chat} showFacts={showFacts} />
      </li>
    ),
    [turn, chat, acts.join(), versions, markdown, files, showFacts],
  );
}

/** A turn that could not be drawn, as plain text. */
export function PlainTurn({ turn }: { readonly turn: DisplayedTurn }): VNode {
  return (
    <li class={`turn ${turn.role}`}>
      <div class="said">
        <p class="plain">{textOf(turn)}</p>
      </div>
      <p class="outcome error">{t("This message could not be displayed; this is its text without formatting.")}</p>
    </li>
  );
}

/** What a turn says, with its failure. */
export function textOf(turn: DisplayedTurn): string {
  const texts = turn.parts.map((part) => (part.kind === "text" ? part.text : ""));
  return [...texts, turn.error?.text ?? ""].filter((line) => line !== "").join("\n");
}

/** The writer of a turn: visible for a named sender, otherwise only for screen readers. */
function Speaker(props: { turn: DisplayedTurn }): VNode {
  const { role, sender } = props.turn;
  return sender === undefined ? <span class="unseen">{SPEAKERS[role]}</span> : <span class="sender">{sender}</span>;
}

interface PartProps extends Pick<TurnProps, "chat" | "markdown" | "files"> {
  readonly part: Part;
  readonly role: DisplayedTurn["role"];
  readonly growing: boolean;
}

function PartView(props: PartProps): VNode | null {
  const { part, role, chat, growing, markdown: Markdown, files: File } = props;
  switch (part.kind) {
    case "text":
      return role === "user" || Markdown === undefined ? (
        <p class="plain" dir="auto">
          {part.text}
        </p>
      ) : (
        <Markdown text={part.text} growing={growing} />
      );
    case "thinking":
      return (
        <details class="thinking">
          <summary>{growing ? t("Thinking…") : t("Thought")}</summary>
          <p class="plain">{part.text}</p>
        </details>
      );
    case "file":
      return File === undefined ? (
        <p class="plain">{part.file.name}</p>
      ) : (
        <File file={part.file} fetched={(url) => chat.file(url)} />
      );
    case "image":
      return <img class="picture" src={part.src} alt={part.name} />;
    case "tool": {
      const plan = planOf(part);
      return plan ? <PlanCard plan={plan} /> : <ToolCall part={part} />;
    }
  }
}

function Working(props: { phase?: string | undefined }): VNode {
  return (
    <p class="working">
      <span class="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span class={props.phase === undefined ? "unseen" : ""}>{props.phase ?? t("Working")}</span>
    </p>
  );
}

function Delivery(props: { turn: DisplayedTurn; chat: Chat }): VNode | null {
  const { turn, chat } = props;
  if (turn.delivery === undefined) return null;
  if (turn.delivery === "sending") return <p class="delivery">{t("Sending…")}</p>;
  if (turn.delivery === "queued") return <p class="delivery">{t("Will be sent when the gateway is back")}</p>;
  const runId = turn.runIds[0] ?? "";
  if (turn.delivery === "waiting") {
    const { inboxId = 0 } = turn;
    return (
      <p class="delivery">
        {t("Waits for its turn ·")}{" "}
        <button type="button" class="link" onClick={() => chat.withdraw(inboxId, runId)}>
          {t("Withdraw")}
        </button>
      </p>
    );
  }
  return (
    <p class="delivery failed">
      {t("Not sent: {reason}", { reason: turn.deliveryError ?? "" })}{" "}
      <button type="button" class="link" onClick={() => chat.resend(runId)}>
        {t("Send again")}
      </button>
    </p>
  );
}

/** What a person at the page changes after failures of these kinds. */
const MENDS: Readonly<Record<string, string>> = {
  auth: t("Change the key"),
  billing: t("Change the key"),
  rate_limit: t("Change the key"),
  model_missing: t("Change the model"),
};

function Outcome(props: { turn: DisplayedTurn; chat: Chat }): VNode | null {
  const { turn, chat } = props;
  if (turn.error !== undefined) {
    const mend = chat.mayChangeModel ? ownText(MENDS, turn.error.failure ?? "") : undefined;
    return (
      <p class="outcome error">
        <span>{turn.error.text}</span>{" "}
        {mend !== undefined && (
          <button type="button" class="quiet" aria-haspopup="dialog" onClick={() => chat.show("model")}>
            {mend}
          </button>
        )}
      </p>
    );
  }
  if (turn.live === true || turn.role !== "assistant") return null;
  const { usage } = turn;
  const tokens =
    usage === undefined
      ? ""
      : t("{input} in · {output} out", {
          input: shortCount(usage.input + usage.cached),
          output: shortCount(usage.output),
        });
  const cost = dollars(usage?.cost ?? 0) ?? "";
  const shown = factLine([turn.aborted === true ? t("Stopped") : undefined, turn.model, tokens, cost]);
  if (shown === "") return null;
  const title =
    usage === undefined
      ? ""
      : t("Tokens: {input} in, {cached} from the cache, {output} out", {
          input: usage.input,
          cached: usage.cached,
          output: usage.output,
        });
  return (
    <p class="outcome" title={title}>
      {shown}
    </p>
  );
}

import type { Preview } from "../../outbox/preview.ts";
import type { Clock } from "../../types/clock.ts";
import { WHOLE_MESSAGES, type DeltaPace } from "../../types/run/events.ts";
import type { AnswerPorts, AnswerTarget } from "./answer-target.ts";
import { background } from "../../utils/background.ts";
import { createBlockFeed, type BlockFeed } from "./block-feed.ts";
import { Secret } from "../../utils/secrets/secret.ts";

/** Milliseconds from one look at an answer that is streamed to the next. */
const SHOWN_EVERY_MS = 100;

/**
 * The pace of the deltas of an answer that is shown before it is complete. A delta that may complete a block comes at
 * once.
 */
export function shownAtTimes(clock: Clock, feed?: BlockFeed): DeltaPace {
  return {
    clock,
    everyMs: () => SHOWN_EVERY_MS,
    ...(feed && { isUrgent: (delta: string, text: string) => feed.mayEndBlock(delta, text) }),
  };
}

/**
 * The pace of the deltas for a preview. Without a preview, no part of an answer is shown before the answer is complete.
 */
export const previewPace = (clock: Clock, preview: Preview | undefined): DeltaPace =>
  preview ? shownAtTimes(clock) : WHOLE_MESSAGES;

/**
 * How an answer is streamed. Where tool calls are shown, the text before each call is a message of its own, so that
 * texts and calls appear in their order. Thoughts in lines of their own come before a text and are known only when the
 * text is complete, so nothing is streamed.
 */
export function streamingOf({ style, agent, kind, verbose, reasons }: AnswerTarget): "off" | "partial" | "block" {
  const wanted = style.streaming ?? (agent.streaming.blocks ? "block" : "partial");
  if (kind.answer === "whole" || reasons === "on") return "off";
  if (reasons === "stream") return wanted === "partial" ? "partial" : "off";
  const isShowing = verbose !== undefined && verbose() !== "off";
  return isShowing && wanted === "partial" ? "block" : wanted;
}

/** Opens the preview of an answer. Undefined where the channel cannot show an unfinished answer. */
export function openPreview(
  { message, inboxId, style, earlier }: AnswerTarget,
  { outbox }: AnswerPorts,
  replyTo: string | undefined,
): Preview | undefined {
  const { sender, teamId } = message;
  return outbox.preview(
    message.from,
    { inboxId, eventKey: message.eventKey },
    {
      replyTo,
      recipient: { id: sender.id, ...(teamId !== undefined && { teamId }) },
      isNative: style.nativeStreaming,
      shownBefore: earlier.previewLength,
    },
  );
}

/**
 * Ends the preview of an answer that sends nothing more. The preview is deleted when `isToGo`. Nobody waits for the
 * end.
 */
export function endPreview(preview: Preview, isToGo: boolean): void {
  background("end of a preview", isToGo ? preview.discard() : preview.leave());
}

/**
 * The thoughts that the preview shows. Undefined where thoughts are not streamed: then they are lines of their own, or
 * are not shown.
 */
export const openThoughts = ({ reasons }: AnswerTarget): StreamedThoughts | undefined =>
  reasons === "stream" ? new StreamedThoughts() : undefined;

export const openFeed = (
  { style, agent }: AnswerTarget,
  { clock }: AnswerPorts,
  earlier: readonly string[],
): BlockFeed =>
  createBlockFeed({
    streaming: agent.streaming,
    coalesce: style.coalesce,
    byParagraph: style.byParagraph === true,
    clock,
    earlier,
  });

/**
 * UTF-16 units of the newest thoughts that a preview shows. A preview is one message, which must have room for the
 * answer too.
 */
const MOST_SHOWN = 1200;

/** The model's thoughts as the preview of an answer shows them, before the text. They are no part of the answer. */
export class StreamedThoughts {
  #text = "";
  #isParted = false;
  #wasShown = false;

  /** Whether a preview with thoughts may be in the chat. */
  get wasShown(): boolean {
    return this.#wasShown;
  }

  push(delta: string): void {
    const gap = this.#isParted && this.#text !== "" ? "\n\n" : "";
    this.#isParted = false;
    // A secret that is cut at the front would not be masked.
    this.#text = (this.#text + gap + delta).slice(-8 * MOST_SHOWN);
  }

  /** Called when the model has written other text: its next thinking is a thought of its own. */
  part(): void {
    this.#isParted = true;
  }

  /** The preview of a text. Its length never shrinks while thoughts come, because a preview cannot become shorter. */
  before(visible: string): string {
    const masked = Secret.mask(this.#text).trim();
    if (masked === "") return visible;
    this.#wasShown = true;
    const shown = masked.length > MOST_SHOWN ? `…${masked.slice(-MOST_SHOWN)}` : masked;
    const quoted = shown.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
    return [`💭 Reasoning:\n\n${quoted.join("\n")}`, visible].filter((part) => part !== "").join("\n\n");
  }
}

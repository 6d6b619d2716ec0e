import { parseDirectives, type ParsedReply } from "../../reply/directives.ts";
import { stripHeartbeatToken } from "../../reply/heartbeat-token.ts";
import { paragraphsOf } from "../../reply/paragraphs.ts";
import { isSkip, isUnseen, parseReply } from "../../reply/plain-reply.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { AnswerTarget } from "./answer-target.ts";
import type { ResponsePrefix } from "./response-prefix.ts";
import type { SentTexts } from "./sent-texts.ts";

/** The texts that the model has written in a run, and the part of these texts that becomes the answer. */
export class AnswerTexts {
  readonly #target: Pick<AnswerTarget, "filter" | "style">;
  readonly #prefix: ResponsePrefix;
  readonly #toolTexts: SentTexts;
  /** Complete messages of the model. */
  readonly #texts: string[] = [];
  /** The text of a call that failed halfway. */
  #broken = "";

  constructor(target: Pick<AnswerTarget, "filter" | "style">, prefix: ResponsePrefix, toolTexts: SentTexts) {
    this.#target = target;
    this.#prefix = prefix;
    this.#toolTexts = toolTexts;
  }

  /**
   * Adds a message that has ended. The text of a call that broke off counts only when no later call writes the whole
   * text.
   */
  add({ text, message }: RunEvent & { type: "message_end" }): void {
    if (message.stopReason === "error") this.#broken = text;
    else this.#take(text);
  }

  /** Called when the run has failed: no later call completes the broken text. */
  addBroken(): void {
    this.#take(this.#broken);
  }

  /**
   * The filter of a turn kind reads the silent and heartbeat tokens itself. Without a filter, people should not see
   * these tokens.
   */
  #take(text: string): void {
    const said = this.#target.filter ? text : plainOf(text);
    if (isUnseen(said)) return;
    const [first] = this.#texts;
    // A silent message, such as one that only calls a tool, adds nothing to others.
    if (first !== undefined && isSilent(said)) return;
    if (first !== undefined && isSilent(first)) this.#texts.length = 0;
    this.#texts.push(said);
  }

  /** The whole text that the model has written. */
  whole(): ParsedReply {
    return this.#parse(this.#texts);
  }

  #parse(texts: readonly string[]): ParsedReply {
    return this.#target.filter ? parseDirectives(joined(texts)) : parseReply(joined(texts));
  }

  /** The part of the text that is for people, without the texts that the message tool sent to this chat. */
  forPeople(): ParsedReply {
    const parsed = this.#toolTexts.has ? this.#parse(this.#unsent()) : this.whole();
    const { filter } = this.#target;
    return filter ? { ...parsed, text: filter(parsed.text) } : parsed;
  }

  /** The messages of an answer with this text. None when there is nothing to say. */
  messagesOf(text: string): string[] {
    if (text.trim() === "") return [];
    const [first = "", ...rest] = this.#target.style.byParagraph === true ? paragraphsOf(text) : [text];
    return [this.#prefix.before(first), ...rest];
  }

  /** The first message of the answer, with `visible` as the text that the model has written since. */
  firstWith(visible: string): string {
    return this.messagesOf(joined([...this.#unsent(), visible]))[0] ?? "";
  }

  #unsent(): readonly string[] {
    if (!this.#toolTexts.has) return this.#texts;
    return this.#texts.filter((text) => !this.#toolTexts.repeats(parseDirectives(text).text));
  }
}

/** Whether the model wrote the silent token and named no file. */
export function isSilent(text: string): boolean {
  const { silent, media } = parseDirectives(text);
  return silent && media.length === 0;
}

const plainOf = (text: string): string => (isSkip(text) ? "" : stripHeartbeatToken(text).text);

const joined = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== "").join("\n\n");

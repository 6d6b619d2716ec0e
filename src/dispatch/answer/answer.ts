import type { Outbox } from "../../outbox/deliver.ts";
import type { Preview } from "../../outbox/preview.ts";
import { createDirectiveFilter, parseDirectives, type ParsedReply } from "../../reply/directives.ts";
import { paragraphsOf } from "../../reply/paragraphs.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { Outcome } from "../../types/journal.ts";
import type { ReplyBlock } from "../../types/chat/reply.ts";
import type { RunResult } from "../../types/run/run.ts";
import type { AnswerRequest } from "./answer-request.ts";
import { AnswerSends, type SendHow } from "./answer-sends.ts";
import { attach } from "../media/attach.ts";
import { NOTICE } from "./reply-names.ts";
import { createBlockFeed, wordsOf, type BlockFeed } from "./block-feed.ts";
import { ResponsePrefix } from "./response-prefix.ts";
import { isUnfinished, outcomeOf } from "../turn/run-end.ts";
import { SentTexts } from "./sent-texts.ts";
import { noticeFor } from "../words.ts";
import { background } from "../../utils/background.ts";

/** Follows a run and brings its answer to the chat. Resolves when the whole reply is durable, with the message's outcome. */
export async function answer(request: AnswerRequest, outbox: Outbox): Promise<Outcome | "unfinished"> {
  const answering = new Answering(request, outbox);
  for await (const event of request.stream.watch()) await answering.take(event);
  return answering.outcome;
}

class Answering {
  outcome: Outcome | "unfinished" = "unfinished";
  readonly #request: AnswerRequest;
  readonly #outbox: Outbox;
  readonly #preview: Preview | undefined;
  readonly #feed: BlockFeed | undefined;
  readonly #texts: string[] = [];
  readonly #sent: SentTexts;
  readonly #prefix: ResponsePrefix;
  #filter = createDirectiveFilter();
  #visible = "";
  #broken = "";
  #blocks = 0;
  /** The words of each block that an earlier boot planned. */
  #known: readonly string[] = [];
  readonly #notices: string[] = [];
  readonly #sends: AnswerSends;

  constructor(request: AnswerRequest, outbox: Outbox) {
    this.#request = request;
    this.#outbox = outbox;
    this.#sent = new SentTexts(request.inboxId, request.message.from, request.earlier);
    const { style, agent } = request;
    this.#prefix = new ResponsePrefix(style.responsePrefix, agent);
    this.#sends = new AnswerSends(request, outbox, this.#prefix);
    const usual = style.streaming ?? (agent.streaming.blocks ? "block" : "partial");
    const streaming = request.kind.answer === "whole" ? "off" : usual;
    if (streaming === "block") this.#feed = this.#openFeed();
    else if (streaming === "partial") this.#preview = this.#openPreview();
    const { id } = request.earlierPreview;
    if (id !== undefined) this.#preview?.adopt(id);
  }

  #openPreview(): Preview | undefined {
    const { message, inboxId, style, earlierPreview } = this.#request;
    const { sender, teamId } = message;
    return this.#outbox.preview(message.from, inboxId, {
      replyTo: this.#replyTo({}),
      recipient: { id: sender.id, ...(teamId !== undefined && { teamId }) },
      isNative: style.nativeStreaming,
      shownBefore: earlierPreview.length,
    });
  }

  #openFeed(): BlockFeed {
    const { style, agent, clock } = this.#request;
    const known = this.#sends.plannedBlocks();
    this.#known = known;
    return createBlockFeed({
      streaming: agent.streaming,
      coalesce: style.coalesce,
      byParagraph: style.byParagraph === true,
      clock,
      earlier: known,
    });
  }

  async take(event: RunEvent): Promise<void> {
    this.#prefix.note(event);
    switch (event.type) {
      case "message_start":
        this.#filter = createDirectiveFilter();
        this.#visible = "";
        // Cut as in the boot that ran the tools: blocks are known again by their place.
        return this.#flush();
      case "retry":
        return this.#breakOff(event.continues);
      case "model_change":
        this.#notices.push(event.text);
        return;
      case "text_delta":
        return this.#hear(event);
      case "message_end":
        return this.#endMessage(event.text, event.message.stopReason === "error");
      case "tool_start":
        await this.#flush();
        this.#sent.begin(event);
        return this.#request.said(event.callId);
      case "tool_end":
        return this.#noteSent(event);
      case "approval_request":
        return this.#flush();
      case "run_end":
        return this.#end(event.result);
      default:
        return this.#sendBlocks(this.#feed?.tick());
    }
  }

  async #grow(delta: string): Promise<void> {
    this.#visible += delta;
    const visible = this.#visible;
    this.#preview?.update(() => this.#previewOf(visible));
    await this.#sendBlocks(this.#feed?.push(delta));
    await this.#sendBlocks(this.#feed?.tick());
  }

  /** What a preview shows of the answer; empty while the words may become those that the message tool has said. */
  #previewOf(visible: string): string {
    if (this.#sent.mayRepeat(visible)) return "";
    return this.#messagesOf(joined([...this.#unsent(), visible]))[0] ?? "";
  }

  /** True when every block sent before the restart matches the replayed text: the answer continues after it. */
  #isInChat({ carried, text }: { readonly carried?: boolean; readonly text: string }): boolean {
    return carried === true && this.#known.length > 0 && wordsOf(text) === this.#known.join("");
  }

  async #hear(event: Extract<RunEvent, { type: "text_delta" }>): Promise<void> {
    if (!this.#isInChat(event)) return this.#grow(this.#filter.push(event.delta));
    this.#visible += event.delta;
    this.#blocks = this.#known.length;
  }

  /** Either the next words go on from the broken ones, or those are forgotten with the half block that they began. */
  #breakOff(continues: boolean): void {
    if (continues) this.#filter = createDirectiveFilter();
    else this.#feed?.drop();
  }

  /** What a failed call said before it broke counts only when no later call says it whole. */
  async #endMessage(text: string, isBroken: boolean): Promise<void> {
    await this.#grow(this.#filter.end());
    if (isBroken) this.#broken = text;
    else if (text.trim() !== "") this.#texts.push(text);
  }

  async #noteSent(event: RunEvent & { type: "tool_end" }): Promise<void> {
    if (this.#sent.isOwn(event)) this.#sent.end(event, await this.#request.rowsNow());
    await this.#sendBlocks(this.#feed?.tick());
  }

  /** Texts that the message tool has not said in this chat. */
  #unsent(): readonly string[] {
    if (!this.#sent.has) return this.#texts;
    return this.#texts.filter((text) => !this.#sent.repeats(parseDirectives(text).text));
  }

  async #flush(): Promise<void> {
    await this.#sendBlocks(this.#feed?.flush());
  }

  async #end(result: RunResult): Promise<void> {
    await this.#flush();
    if (isUnfinished(result)) return this.#preview?.leave();
    if (this.#request.kind.refusals === "logged" && result.kind !== "replied") return this.#endWithout(result);
    const notice = noticeFor(result, this.#request.commandForm);
    if (result.kind === "failed") this.#texts.push(this.#broken);
    const sent = this.#blocks > 0 ? await this.#sendMedia() : await this.#sendWhole(notice, result.kind === "aborted");
    if (notice !== undefined && this.#blocks > 0) await this.#sendNotice(notice);
    const said = [sent, this.#sent.has, this.#blocks > 0].some(Boolean);
    if (said) await this.#sendNotices();
    this.outcome = outcomeOf(result, said);
  }

  /** Nobody waits for the answer. */
  #endWithout(result: RunResult): void {
    this.outcome = outcomeOf(result, this.#sent.has);
  }

  /** The whole answer as one logical reply; what a preview showed becomes its first chunk. */
  async #sendWhole(notice: string | undefined, isAborted: boolean): Promise<boolean> {
    const parsed = this.#parsed();
    const messages = this.#messagesOf(parsed.silent ? "" : parsed.text);
    const editOf = (await this.#preview?.finish(messages[0])) ?? this.#leftPreview();
    // What was read of an answer that somebody stopped stays in the chat.
    const fading = isAborted ? this.#preview?.fading : undefined;
    if (messages.length === 0 && fading !== undefined) messages.push(fading);
    const blocks: ReplyBlock[] = messages.map((markdown) => ({ kind: "text", markdown }));
    blocks.push(...(await this.#attached(parseDirectives(joined(this.#texts)))));
    return this.#sendAll(blocks, notice, { editOf, replyTo: this.#replyTo(parsed) });
  }

  /** The answer, and the notice that there is none or no more of it. False when there is neither. */
  async #sendAll(blocks: readonly ReplyBlock[], notice: string | undefined, how: SendHow): Promise<boolean> {
    if (notice !== undefined) await this.#sendNotice(notice, blocks, how);
    else if (blocks.length > 0) await this.#send("reply", blocks, how);
    return notice !== undefined || blocks.length > 0 || this.#sendNothing();
  }

  /** With what was said before it, under a name of its own: after a restart it tells that the turn has had its end. */
  #sendNotice(markdown: string, before: readonly ReplyBlock[] = [], how: SendHow = {}): Promise<void> {
    return this.#send(NOTICE, [...before, { kind: "notice", markdown, because: "error" }], how);
  }

  #parsed(): ParsedReply {
    const parsed = parseDirectives(joined(this.#unsent()));
    const { filter } = this.#request;
    return filter ? { ...parsed, text: filter(parsed.text) } : parsed;
  }

  /** An answer as the texts that go out one by one; none where there is nothing to say. */
  #messagesOf(text: string): string[] {
    if (text.trim() === "") return [];
    const [first = "", ...rest] = this.#request.style.byParagraph === true ? paragraphsOf(text) : [text];
    return [this.#prefix.before(first), ...rest];
  }

  #sendNothing(): false {
    if (this.#preview) background("end of a preview", this.#sent.has ? this.#preview.discard() : this.#preview.leave());
    return false;
  }

  /** One line each, behind the answer. */
  async #sendNotices(): Promise<void> {
    for (const [at, markdown] of this.#notices.entries())
      await this.#send(`change:${at}`, [{ kind: "notice", markdown, because: "fallback" }]);
  }

  async #sendMedia(): Promise<boolean> {
    const parsed = parseDirectives(joined(this.#texts));
    const blocks = await this.#attached(parsed);
    const replyTo = this.#request.style.replyToMode === "all" ? this.#replyTo(parsed) : undefined;
    if (blocks.length > 0) await this.#send("media", blocks, { replyTo });
    return true;
  }

  #attached(parsed: { media: readonly string[]; audioAsVoice: boolean }): Promise<readonly ReplyBlock[]> {
    return attach(parsed.media, parsed.audioAsVoice, {
      media: this.#request.media,
      workspace: this.#request.agent.workspace,
      closedPaths: this.#request.closedPaths,
      mostBytes: this.#request.style.mostMediaBytes,
    });
  }

  async #sendBlocks(blocks: readonly string[] = []): Promise<void> {
    for (const block of blocks) await this.#sendBlock(block);
  }

  async #sendBlock(block: string): Promise<void> {
    const { text, silent, ...directives } = parseDirectives(block);
    if (silent || text.trim() === "") return;
    const isFirst = this.#blocks === 0;
    if (this.#sent.repeats(text) && !this.#sends.wasPlanned(`block:${this.#blocks}`)) return;
    const { replyToMode } = this.#request.style;
    const { pause } = this.#request.agent.streaming;
    const markdown = isFirst ? this.#prefix.before(text) : text;
    const replyTo = isFirst || replyToMode === "all" ? this.#replyTo(directives) : undefined;
    const pauseMs = isFirst || !pause ? 0 : pause.minMs + Math.random() * (pause.maxMs - pause.minMs);
    const editOf = isFirst ? this.#leftPreview() : undefined;
    await this.#send(`block:${this.#blocks}`, [{ kind: "text", markdown }], { editOf, replyTo, pauseMs });
    this.#blocks += 1;
  }

  #send(name: string, blocks: readonly ReplyBlock[], how: SendHow = {}): Promise<void> {
    return this.#sends.send(name, blocks, { ...how, mayRepeat: this.#mayRepeat(name) });
  }

  /** When the preview cannot be edited, the chat may show both it and the final answer. */
  #mayRepeat(name: string): boolean {
    return (
      /^(?:reply|notice|block:0)$/.test(name) &&
      (this.#preview?.mayStand === true || this.#request.earlierPreview.id === "")
    );
  }

  /** The preview of an earlier boot, also when its channel was not yet connected as this answer began. */
  #leftPreview(): string | undefined {
    const { id } = this.#request.earlierPreview;
    return id === "" ? undefined : id;
  }

  #replyTo(directives: { replyTo?: { kind: "current" } | { kind: "id"; id: string } | undefined }): string | undefined {
    if (directives.replyTo?.kind === "id") return directives.replyTo.id;
    const wanted = directives.replyTo?.kind === "current" || this.#request.style.replyToMode !== "off";
    return wanted && this.#request.message.id !== "" ? this.#request.message.id : undefined;
  }
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== "").join("\n\n");

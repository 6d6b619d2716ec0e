import type { Preview } from "../../outbox/preview.ts";
import { createReplyFilter } from "../../reply/plain-reply.ts";
import type { NoticeCause, ReplyBlock } from "../../types/chat/reply.ts";
import type { Outcome } from "../../types/journal.ts";
import type { DeltaPace, RunEvent, RunStream } from "../../types/run/events.ts";
import type { VerboseLevel } from "../../types/run/verbose.ts";
import type { RunResult } from "../../types/run/run.ts";
import { noticeFor } from "../notices/chat-texts.ts";
import { attach } from "../media/attach.ts";
import { isUnfinished, runOutcomeOf } from "./run-end.ts";
import { AnswerBlocks, IdleBlocks, earlierPreview, replyTo, ReplyLimit, type WaitingBlocks } from "./answer-blocks.ts";
import { AnswerTexts, isSilent } from "./answer-texts.ts";
import { AnswerSends, type SendHow } from "./answer-sends.ts";
import type { AnswerPorts, AnswerTarget } from "./answer-target.ts";
import { NOTICE } from "./reply-names.ts";
import { ResponsePrefix } from "./response-prefix.ts";
import { SentTexts } from "./sent-texts.ts";
import { endPreview, openPreview, openThoughts, previewPace, streamingOf, type StreamedThoughts } from "./showing.ts";
import { thoughtsBetweenTags } from "../../harness/run/unanswered.ts";
import { callTopic } from "../../tools/call-topic.ts";
import { planLines } from "../../types/plan.ts";
import { codeBlock, codeSpan } from "../../utils/text/code-span.ts";
import { plainMarkdown } from "../../utils/text/plain-markdown.ts";
import { Secret } from "../../utils/secrets/secret.ts";
import { shorten } from "../../utils/text/shorten.ts";

/**
 * Follows a run and brings its answer to the chat. Resolves when the whole reply is durable, with the message's
 * outcome.
 */
export async function answer(
  stream: RunStream,
  target: AnswerTarget,
  ports: AnswerPorts,
): Promise<Outcome | "unfinished"> {
  const answering = new Answering(target, ports);
  await answering.begin();
  const idle = new IdleBlocks(ports.clock, answering);
  try {
    for await (const event of stream.watch(1, answering.pace)) {
      await idle.pause();
      await answering.take(event);
      idle.resume();
    }
  } finally {
    await idle.pause();
  }
  return answering.outcome;
}

class Answering implements WaitingBlocks {
  outcome: Outcome | "unfinished" = "unfinished";
  readonly #target: AnswerTarget;
  readonly #ports: AnswerPorts;
  readonly #preview: Preview | undefined;
  /** Set where the chat gets the answer in blocks. */
  readonly #blocks: AnswerBlocks | undefined;
  readonly #prefix: ResponsePrefix;
  readonly #sends: AnswerSends;
  readonly #toolTexts: SentTexts;
  readonly #texts: AnswerTexts;
  readonly #linesAfter: (readonly [markdown: string, because: NoticeCause])[] = [];
  #filter = createReplyFilter();
  /** The current message without directives. */
  #visible = "";
  readonly #thoughts: StreamedThoughts | undefined;
  readonly #limit = new ReplyLimit();
  /** The number of messages that joined the run. */
  #joined = 0;

  constructor(target: AnswerTarget, ports: AnswerPorts) {
    this.#target = target;
    this.#ports = ports;
    const { style, agent, earlier } = target;
    this.#toolTexts = new SentTexts(target.inboxId, target.message.from, earlier.rows);
    this.#prefix = new ResponsePrefix(style.responsePrefix, agent);
    this.#texts = new AnswerTexts(target, this.#prefix, this.#toolTexts);
    this.#sends = new AnswerSends(target, ports.outbox, this.#prefix);
    const streaming = streamingOf(target);
    if (streaming === "block") this.#blocks = this.#openBlocks();
    else if (streaming === "partial") this.#preview = openPreview(target, ports, replyTo(target, {}));
    if (earlier.previewId !== undefined) this.#preview?.adopt(earlier.previewId);
    if (this.#preview) this.#thoughts = openThoughts(target);
  }

  #openBlocks(): AnswerBlocks {
    const parts = { sends: this.#sends, prefix: this.#prefix, limit: this.#limit, toolTexts: this.#toolTexts };
    return new AnswerBlocks(this.#target, this.#ports, { ...parts, directives: () => this.#filter.directives() });
  }

  get pace(): DeltaPace {
    return this.#blocks?.pace ?? previewPace(this.#ports.clock, this.#preview);
  }

  begin(): Promise<void> {
    return this.#sendLine(sessionLine(this.#target.begins, this.#verbose));
  }

  async take(event: RunEvent): Promise<void> {
    this.#prefix.note(event);
    this.#joined += Number(isJoining(event));
    switch (event.type) {
      case "message_start":
        this.#filter = createReplyFilter();
        this.#visible = "";
        // Blocks are recognised after a restart by their position, so they must be cut at the same places.
        return this.#flush();
      case "retry":
        return this.#breakOff(event.continues);
      case "model_change":
        this.#linesAfter.push([event.text, "fallback"]);
        return;
      case "text_delta":
        return this.#takeDelta(event);
      case "message_end":
        return this.#endMessage(event);
      case "tool_start":
        await this.#flush();
        this.#toolTexts.begin(event);
        await this.#sendLine(callLine(event, this.#verbose));
        return this.#ports.textPlanned(event.callId);
      case "tool_end":
        return this.#endTool(event);
      case "run_end":
        return this.#end(event.result);
      case "thinking_delta":
        return this.#think(event.delta);
      default:
        return this.#takeOther(event);
    }
  }

  due(): number | undefined {
    return this.#blocks?.due();
  }

  async sendDue(): Promise<void> {
    await this.#blocks?.sendDue();
  }

  async #takeOther(event: RunEvent): Promise<void> {
    if (event.type === "approval_request") return this.#flush();
    if (event.type === "notice" && event.because === "image") this.#linesAfter.push([event.text, "error"]);
    if (event.type === "plan") await this.#sendLine(planLine(event, this.#verbose));
    await this.sendDue();
  }

  async #think(delta: string): Promise<void> {
    this.#thoughts?.push(delta);
    if (this.#thoughts) this.#updatePreview();
    await this.sendDue();
  }

  async #takeDelta(event: Extract<RunEvent, { type: "text_delta" }>): Promise<void> {
    if (event.anew) this.#beginAnew();
    const isInChat = event.carried === true && this.#blocks?.adopt(event.text) === true;
    if (!isInChat) return this.#show(this.#filter.push(event.delta), event.unsure);
    this.#visible += event.delta;
  }

  /** Drops the current message. Blocks that were sent stay in the chat. */
  #beginAnew(): void {
    this.#filter = createReplyFilter();
    this.#visible = "";
    this.#blocks?.drop();
  }

  async #show(delta: string, isUnsure = false): Promise<void> {
    this.#visible += delta;
    this.#thoughts?.part();
    this.#updatePreview();
    await this.#blocks?.push(delta, isUnsure);
  }

  /** Updates the preview, which makes its text later, when more may be known. */
  #updatePreview(): void {
    this.#preview?.update(() => this.#previewOf(this.#visible));
  }

  /** The preview of the answer. Empty while the text may turn out to repeat what the message tool sent. */
  #previewOf(visible: string): string {
    if (this.#toolTexts.mayRepeat(visible)) return "";
    const text = this.#texts.firstWith(visible);
    return this.#thoughts?.before(text) ?? text;
  }

  /**
   * `continues`: the next text continues the broken message. Otherwise that message is dropped with its unsent block.
   */
  #breakOff(continues: boolean): void {
    if (continues) this.#filter = createReplyFilter();
    else this.#blocks?.drop();
  }

  async #endMessage(event: RunEvent & { type: "message_end" }): Promise<void> {
    const showsThoughts = this.#target.reasons !== undefined && !this.#thoughts && !isSilent(event.text);
    if (showsThoughts) await this.#sendLine(thoughtLine(event), "thought");
    await this.#show(this.#filter.end());
    this.#texts.add(event);
    // From now on `#texts` has the text of the message. The text of a call that broke off is continued.
    if (event.message.stopReason !== "error") this.#visible = "";
  }

  async #endTool(event: RunEvent & { type: "tool_end" }): Promise<void> {
    if (this.#toolTexts.isOwn(event)) this.#toolTexts.end(event, await this.#ports.plannedRows());
    await this.sendDue();
    await this.#sendLine(resultLine(event, this.#verbose));
  }

  get #verbose(): VerboseLevel {
    return this.#target.verbose?.() ?? "off";
  }

  async #sendLine(line: ShownLine | undefined, because: NoticeCause = "tool"): Promise<void> {
    if (line) await this.#send(line.name, [{ kind: "notice", markdown: line.markdown, because }]);
  }

  async #end(result: RunResult): Promise<void> {
    await this.#flush();
    if (isUnfinished(result)) return this.#preview?.leave();
    if (this.#target.kind.refusals === "logged" && result.kind !== "replied") return this.#endSilently(result);
    const notice = noticeFor(result, this.#target.reader(), this.#joined);
    if (result.kind === "failed") this.#texts.addBroken();
    const isInChat = this.#blocks !== undefined && this.#blocks.count > 0;
    const sent = isInChat ? await this.#sendMedia() : await this.#sendWhole(notice, result.kind === "aborted");
    if (notice !== undefined && isInChat) await this.#sendNotice(notice);
    const said = [sent, this.#toolTexts.has, isInChat].some(Boolean);
    if (said) await this.#sendLinesAfter();
    if (this.#limit.note !== undefined) await this.#sendLine({ name: "left-out", markdown: this.#limit.note }, "error");
    this.outcome = runOutcomeOf(result, said);
  }

  /** Sends nothing, because nobody waits for the answer. */
  #endSilently(result: RunResult): void {
    this.outcome = runOutcomeOf(result, this.#toolTexts.has);
  }

  /** Sends the whole answer as one logical reply. A preview becomes its first chunk. */
  async #sendWhole(notice: string | undefined, isAborted: boolean): Promise<boolean> {
    const parsed = this.#texts.forPeople();
    const messages = this.#texts.messagesOf(this.#limit.take(parsed.silent ? "" : parsed.text));
    const editOf = (await this.#preview?.finish(messages[0])) ?? earlierPreview(this.#target);
    // When somebody stops an answer, the part that people could read stays in the chat.
    const fading = isAborted && this.#thoughts?.wasShown !== true ? this.#preview?.fading : undefined;
    if (messages.length === 0 && fading !== undefined) messages.push(fading);
    const blocks: ReplyBlock[] = messages.map((markdown) => ({ kind: "text", markdown }));
    const whole = this.#toolTexts.has ? this.#texts.whole() : parsed;
    blocks.push(...(await this.#attached(whole)));
    return this.#sendAll(blocks, notice, { editOf, replyTo: replyTo(this.#target, parsed) });
  }

  /** Sends the answer, and the notice when the answer is missing or incomplete. False when there is neither. */
  async #sendAll(blocks: readonly ReplyBlock[], notice: string | undefined, how: SendHow): Promise<boolean> {
    if (notice !== undefined) await this.#sendNotice(notice, blocks, how);
    else if (blocks.length > 0) await this.#send("reply", blocks, how);
    return notice !== undefined || blocks.length > 0 || this.#sendNothing();
  }

  /** Sends a notice as a reply with its own name, by which a restart sees that the turn has ended. */
  #sendNotice(markdown: string, before: readonly ReplyBlock[] = [], how: SendHow = {}): Promise<void> {
    return this.#send(NOTICE, [...before, { kind: "notice", markdown, because: "error" }], how);
  }

  #sendNothing(): false {
    const preview = this.#preview;
    const isToGo = this.#toolTexts.has || this.#thoughts?.wasShown === true;
    if (preview) endPreview(preview, isToGo);
    return false;
  }

  /** Sends the lines that come after the answer, each as a reply of its own. */
  async #sendLinesAfter(): Promise<void> {
    for (const [at, [markdown, because]] of this.#linesAfter.entries())
      await this.#send(`change:${at}`, [{ kind: "notice", markdown, because }]);
  }

  /** Sends the files of an answer whose text has gone out in blocks. */
  async #sendMedia(): Promise<boolean> {
    const parsed = this.#texts.whole();
    const blocks = await this.#attached(parsed);
    const quoted = this.#target.style.replyToMode === "all" ? replyTo(this.#target, parsed) : undefined;
    if (blocks.length > 0) await this.#send("media", blocks, { replyTo: quoted });
    return true;
  }

  async #flush(): Promise<void> {
    await this.#blocks?.flush();
  }

  #send(name: string, blocks: readonly ReplyBlock[], how: SendHow = {}): Promise<void> {
    return this.#sends.send(name, blocks, { ...how, mayRepeat: this.#mayRepeat(name) });
  }

  /**
   * Whether a reply may repeat the preview: a preview that cannot be edited may stay in the chat beside the final
   * answer.
   */
  #mayRepeat(name: string): boolean {
    return (
      /^(?:reply|notice)$/.test(name) && (this.#preview?.mayRemain === true || this.#target.earlier.previewId === "")
    );
  }

  #attached(parsed: { media: readonly string[]; audioAsVoice: boolean }): Promise<readonly ReplyBlock[]> {
    const { agent, style, session: sessionKey } = this.#target;
    const { media, closedPaths, guestOf, refused } = this.#ports;
    const more = { guestOf, sessionKey, mostBytes: style.mostMediaBytes, ...(refused && { refused }) };
    return attach(parsed.media, parsed.audioAsVoice, { media, closedPaths, workspace: agent.workspace, ...more });
  }
}

const isJoining = (event: RunEvent): boolean => event.type === "notice" && event.because === "steered";

/** Most UTF-16 units of a result that a chat is shown. */
const MOST_OUTPUT = 1500;
/** Most UTF-16 units of the thoughts before one text that a chat is shown. */
const MOST_THOUGHTS = 8000;

type ToolStart = Extract<RunEvent, { type: "tool_start" }>;
type ToolEnd = Extract<RunEvent, { type: "tool_end" }>;

/** A line for the chat, with the name under which it is sent once. */
interface ShownLine {
  readonly name: string;
  readonly markdown: string;
}

/** The line for a chat with this level when a conversation begins. Pure. */
const sessionLine = (id: string | undefined, level: VerboseLevel): ShownLine | undefined =>
  id === undefined || level === "off" ? undefined : { name: "session", markdown: `🧭 New session: ${codeSpan(id)}` };

/** The line for a chat with this level when a call begins: the tool, and the topic of the call. Pure. */
function callLine({ callId, name, args }: ToolStart, level: VerboseLevel): ShownLine | undefined {
  if (level === "off") return undefined;
  const topic = callTopic(name, args);
  const about = topic === undefined ? "" : `: ${codeSpan(topic)}`;
  return { name: `call:${callId}`, markdown: `🛠️ ${toolName(name)}${about}` };
}

/** The line about the agent's plan: its steps, and which steps are done. Pure. */
function planLine({ callId, plan }: Extract<RunEvent, { type: "plan" }>, level: VerboseLevel) {
  if (level === "off" || plan.steps.length === 0) return undefined;
  const lines = planLines(plan).map((line) => plainMarkdown(Secret.mask(line).replaceAll(/\s+/g, " ")));
  return { name: `plan:${callId}`, markdown: ["📋 Plan", ...lines].join("\n\n") };
}

/**
 * The line for a chat with this level when a call has ended: a failure, and with `full` the text that the model got.
 * Pure.
 */
function resultLine({ callId, name, isError, text }: ToolEnd, level: VerboseLevel): ShownLine | undefined {
  if (level === "off" || (level === "on" && !isError)) return undefined;
  const output = shorten(Secret.mask(text).trim(), MOST_OUTPUT, (left) => `\n… ${left} characters left out …\n`);
  const said = isError ? `⚠️ ${toolName(name)} failed` : `↳ ${toolName(name)}`;
  return { name: `result:${callId}`, markdown: output === "" ? said : `${said}\n${codeBlock(output)}` };
}

/** The thoughts before a text, as a quotation for a chat that wants to see them. Undefined without thoughts. Pure. */
function thoughtLine({ entryId, message }: Extract<RunEvent, { type: "message_end" }>): ShownLine | undefined {
  const parts = message.content.flatMap((part) => (part.type === "thinking" ? [part.thinking.trim()] : []));
  const thoughts = [...parts, thoughtsBetweenTags(message)];
  const whole = Secret.mask(thoughts.filter((thought) => thought !== "").join("\n\n"));
  if (whole === "") return undefined;
  const text = shorten(whole, MOST_THOUGHTS, (left) => `\n… ${left} characters left out …\n`);
  const quoted = text.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
  return { name: `thought:${entryId}`, markdown: ["💭 Reasoning:", "", ...quoted].join("\n") };
}

/**
 * The name of a tool as a chat shows it. The model may call a tool by any name, so only the characters of tool names
 * are shown.
 */
const toolName = (name: string): string => name.replaceAll(/[^\w.:-]+/g, "_").slice(0, 64);

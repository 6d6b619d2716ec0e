import { background } from "openclaw/plugin-sdk";
import type { NativeStream, StreamOptions, OutboundText, Peer, SendResult } from "openclaw/plugin-sdk";
import type { Account } from "./account.ts";
import { outcomeOf, reasonOf, errorCodeOf } from "./transport/failures.ts";
import type { MessageRef } from "./inbound/reactions.ts";
import { NO_THREAD, threadFor } from "./outbound/send.ts";

/** Mentions, which notify people when a stream shows them. An edit notifies nobody. */
const MENTIONS = /<[!@#]/;
/** Slack ends a stream that got nothing for about half a minute, and shows that as an error. */
const KEEP_ALIVE_MS = 20_000;

/** An answer that Slack shows while it is written. Slack does so only in threads, and only for a reader whose team it is given. */
export function startNativeStream(
  account: Account,
  to: Peer,
  { replyTo, answers, recipient }: StreamOptions,
): NativeStream | undefined {
  const thread = threadFor(to, replyTo);
  const isForSomebody = to.chat.kind === "direct" || recipient?.teamId !== undefined;
  if (thread === undefined || !isForSomebody || !account.streams.mayStart(to.chat.id)) return undefined;
  return new SlackStream(account, { to, thread, answers, recipient });
}

interface StreamTarget {
  readonly to: Peer;
  readonly thread: string;
  readonly answers: string | undefined;
  readonly recipient: StreamOptions["recipient"];
}

class SlackStream implements NativeStream {
  readonly isMessage = true;
  readonly keepAliveMs = KEEP_ALIVE_MS;
  readonly #account: Account;
  readonly #target: StreamTarget;
  #at: MessageRef | undefined;
  #shownText = "";
  #isLost = false;

  constructor(account: Account, target: StreamTarget) {
    this.#account = account;
    this.#target = target;
  }

  async show(part: OutboundText, markdown: string): Promise<SendResult> {
    const text = markdown.trimEnd();
    const isMore = text.startsWith(this.#shownText);
    if (this.#isLost || !isMore || MENTIONS.test(text))
      return refused("the answer does not continue the text that is shown");
    return this.#at ? this.#append(this.#at, part, text) : this.#begin(part, text);
  }

  async keepAlive(): Promise<SendResult> {
    await this.end();
    return refused("nothing new to show");
  }

  async end(): Promise<void> {
    if (!this.#at) return;
    try {
      await this.#account.streams.end(this.#at);
    } catch (error) {
      this.#account.host.log.info("Slack could not be informed that an answer ended", { reason: reasonOf(error) });
    }
  }

  async #begin(part: OutboundText, text: string): Promise<SendResult> {
    const { slack, streams, channelIds } = this.#account;
    const { to, thread, answers, recipient } = this.#target;
    try {
      const channel = await channelIds.of(to);
      const { ts } = await slack.calls.chat.startStream({
        channel,
        thread_ts: thread,
        markdown_text: text,
        ...(recipient && { recipient_user_id: recipient.id }),
        ...(recipient?.teamId !== undefined && { recipient_team_id: recipient.teamId }),
      });
      if (ts === undefined) return { kind: "unknown", reason: "Slack's answer names no message" };
      this.#at = { channel, ts };
      this.#account.threads()?.noteOwnMessage(channel, ts, thread);
      background("end of typing", this.#account.typing.clear(to, answers));
      return this.#shown(this.#at, part, text);
    } catch (error) {
      const outcome = outcomeOf(error);
      if (isRateLimited(outcome)) return refused("Slack's rate limit for streams is reached");
      const word = errorCodeOf(error) ?? "";
      if (outcome.kind === "refused" && !NO_THREAD.has(word)) streams.noteRefusal(to.chat.id, word);
      return outcome;
    }
  }

  async #append(at: MessageRef, part: OutboundText, text: string): Promise<SendResult> {
    const { slack, streams } = this.#account;
    const more = text.slice(this.#shownText.length);
    try {
      if (more !== "") await slack.calls.chat.appendStream({ ...at, markdown_text: more });
      return this.#shown(at, part, text);
    } catch (error) {
      const outcome = outcomeOf(error);
      // Slack limits each method separately, so the final answer need not wait.
      if (outcome.kind === "retry") return { ...outcome, rateLimited: false };
      this.#isLost = true;
      streams.forget(at);
      return outcome;
    }
  }

  #shown(at: MessageRef, part: OutboundText, text: string): SendResult {
    this.#shownText = text;
    this.#account.streams.note(at, part);
    return { kind: "sent", messageId: at.ts };
  }
}

const isRateLimited = (outcome: SendResult): boolean => outcome.kind === "retry" && outcome.rateLimited === true;

const refused = (reason: string): SendResult => ({ kind: "refused", reason });

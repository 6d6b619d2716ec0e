import { createHash } from "node:crypto";
import type { NativeStream, StreamOptions, OutboundText, Peer, SendResult } from "openclaw/plugin-sdk";
import { envelope } from "./envelope.ts";
import { failureOf, outcomeOf } from "./failures.ts";
import type { CallFailure } from "./failures.ts";
import type { Account } from "../account.ts";
import { withPlainTextFallback } from "./send.ts";
import type { FormattedText } from "./send.ts";

/** A draft disappears after 30 seconds (core.telegram.org/bots/api#sendmessagedraft). */
const KEEP_ALIVE_MS = 20_000;
const MAX_ID = 2_147_483_647;

interface Place {
  readonly chat_id: number;
  readonly message_thread_id?: number;
  readonly draft_id: number;
}

/** Shows answers as drafts. Telegram only has them in direct chats, and older servers not at all. */
export class Drafts {
  readonly #account: Account;
  #isRefused = false;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Undefined when this chat or the server has no drafts. */
  stream(to: Peer, { key }: StreamOptions): NativeStream | undefined {
    const { chat_id: chat, message_thread_id: thread } = envelope(this.#account, to, {});
    if (this.#isRefused || to.chat.kind !== "direct" || typeof chat !== "number") return undefined;
    const at = { chat_id: chat, ...(thread !== undefined && { message_thread_id: thread }), draft_id: idOf(key) };
    let last: OutboundText | undefined;
    const show = async (part: OutboundText): Promise<SendResult> => {
      last = part;
      return withPlainTextFallback(part, (text) => this.#show(at, text));
    };
    return {
      isMessage: false,
      keepAliveMs: KEEP_ALIVE_MS,
      show,
      keepAlive: async () => (last ? show(last) : { kind: "refused", reason: "nothing was shown" }),
    };
  }

  async #show(at: Place, text: FormattedText): Promise<SendResult> {
    try {
      await this.#account.bot.calls.sendMessageDraft({ ...at, ...text });
      return { kind: "sent", messageId: "" };
    } catch (error) {
      const failure = failureOf(error);
      if (isUnsupported(failure)) this.#refuse(failure.text);
      return outcomeOf(failure);
    }
  }

  #refuse(reason: string): void {
    this.#isRefused = true;
    this.#account.host.log.info("Telegram refuses drafts of this bot; messages are edited instead", { reason });
  }
}

/** A Bot API server before 9.3 does not know the method, one before 9.5 refuses it to bots without topics. */
const isUnsupported = (failure: CallFailure): boolean =>
  failure.kind === "answered" && (failure.code === 404 || failure.text.includes("TEXTDRAFT_"));

/** Stable for one answer, also after a restart; never zero. */
const idOf = (key: string): number => (createHash("sha256").update(key).digest().readUInt32BE(0) % MAX_ID) + 1;

import { createHash } from "node:crypto";
import type { NativeStream, StreamOptions, OutboundText, Peer, SendResult } from "openclaw/plugin-sdk";
import { envelope } from "./envelope.ts";
import { failureOf, resultOf } from "./failures.ts";
import type { Failure } from "./failures.ts";
import type { Account } from "../account.ts";
import { withPlainTextFallback } from "./send.ts";
import type { Words } from "./send.ts";

/** A draft is gone after 30 seconds (core.telegram.org/bots/api#sendmessagedraft). */
const REST_MS = 20_000;
const MOST_ID = 2_147_483_647;

interface Place {
  readonly chat_id: number;
  readonly message_thread_id?: number;
  readonly draft_id: number;
}

/** Answers that Telegram shows as drafts: in direct chats alone, where the server knows them. */
export class Drafts {
  readonly #account: Account;
  #isRefused = false;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Undefined where there are no drafts. */
  stream(to: Peer, { key }: StreamOptions): NativeStream | undefined {
    const { chat_id: chat, message_thread_id: thread } = envelope(this.#account, to, {});
    if (this.#isRefused || to.chat.kind !== "direct" || typeof chat !== "number") return undefined;
    const at = { chat_id: chat, ...(thread !== undefined && { message_thread_id: thread }), draft_id: idOf(key) };
    let last: OutboundText | undefined;
    const show = async (part: OutboundText): Promise<SendResult> => {
      last = part;
      return withPlainTextFallback(part, (words) => this.#show(at, words));
    };
    return {
      isMessage: false,
      keepAliveMs: REST_MS,
      show,
      keepAlive: async () => (last ? show(last) : { kind: "refused", reason: "nothing was shown" }),
    };
  }

  async #show(at: Place, words: Words): Promise<SendResult> {
    try {
      await this.#account.bot.calls.sendMessageDraft({ ...at, ...words });
      return { kind: "sent", messageId: "" };
    } catch (error) {
      const failure = failureOf(error);
      if (isUnknownHere(failure)) this.#refuse(failure.text);
      return resultOf(failure);
    }
  }

  #refuse(reason: string): void {
    this.#isRefused = true;
    this.#account.host.log.info("Telegram takes no drafts of this bot; messages are edited", { reason });
  }
}

/** A Bot API server before 9.3 does not know the method, one before 9.5 refuses it to bots without topics. */
const isUnknownHere = (failure: Failure): boolean =>
  failure.kind === "answered" && (failure.code === 404 || failure.text.includes("TEXTDRAFT_"));

/** The same for one answer, also after a restart; never zero. */
const idOf = (key: string): number => (createHash("sha256").update(key).digest().readUInt32BE(0) % MOST_ID) + 1;

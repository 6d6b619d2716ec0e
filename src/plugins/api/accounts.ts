import type { ChannelHost } from "../../types/chat/channel.ts";
import type { TypingCallbacks } from "./dispatcher.ts";

/** A connected account of a plugin's channel. */
export interface ConnectedAccount {
  readonly channel: string;
  readonly account: string;
  readonly host: ChannelHost;
  /** The typing indicator of each chat that wrote lately. */
  readonly typing: Map<string, TypingCallbacks>;
  /** The events whose runs the account's plugin follows. */
  readonly followed: Set<string>;
  /** Called when a chat has one. */
  showTyping(): void;
}

/** The connected accounts of one plugin. */
export class ConnectedAccounts {
  readonly #accounts = new Map<string, ConnectedAccount>();

  /** The returned function removes the account. */
  add(account: ConnectedAccount): () => void {
    const key = keyOf(account.channel, account.account);
    this.#accounts.set(key, account);
    return () => {
      if (this.#accounts.get(key) === account) this.#accounts.delete(key);
    };
  }

  /** Whether the account is still connected. */
  has(account: ConnectedAccount): boolean {
    return this.#accounts.get(keyOf(account.channel, account.account)) === account;
  }

  /** The account that a message names; the only one where it names none. Throws without one. */
  find(channel: string | undefined, account: string | undefined): ConnectedAccount {
    const all = [...this.#accounts.values()];
    const found = all.filter(
      (one) => (channel === undefined || one.channel === channel) && (account === undefined || one.account === account),
    );
    const [only] = found;
    if (only && found.length === 1) return only;
    const named = `${channel ?? "any channel"}, ${account ?? "any account"}`;
    throw new Error(`the message of ${named} belongs to ${found.length} connected accounts instead of one`);
  }
}

const keyOf = (channel: string, account: string): string => `${channel}\n${account}`;

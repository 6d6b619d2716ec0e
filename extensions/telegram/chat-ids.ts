import { BoundedMap } from "openclaw/plugin-sdk";
import type { Peer } from "openclaw/plugin-sdk";
import type { Account } from "./account.ts";
import { chatId } from "./send/envelope.ts";

const MOST_NAMES = 500;

/** The ids of chats, also of those that an operator or an agent named by their public names, such as `@news`. */
export class ChatIds {
  readonly #account: Pick<Account, "bot" | "migrations">;
  readonly #named = new BoundedMap<string, string>(MOST_NAMES);

  constructor(account: Pick<Account, "bot" | "migrations">) {
    this.#account = account;
  }

  /** Throws what grammY throws. */
  async of(to: Peer): Promise<string> {
    const name = chatId(this.#account, to);
    if (typeof name === "number") return String(name);
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const { id } = await this.#account.bot.calls.getChat({ chat_id: name });
    this.#named.set(name, String(id));
    return String(id);
  }
}

/** A platform and two chats of it, as the tests of the kills see it: it outlives the gateways. */
export interface KilledPlatform {
  readonly id: string;
  /** The section of `channels`; undefined where the gateway itself is the platform. */
  readonly channel?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Before the first start. */
  prepare?(stateDir: string): Promise<void>;
  /** Whenever a gateway has started. */
  started?(gateway: { readonly port: number; readonly token: string }): Promise<void>;
  /** True when what is said now arrives at once. */
  isListening(): boolean;
  say(chat: 0 | 1, text: string): void;
  /** The first chat writes with a picture (PNG). */
  show?(text: string, picture: Uint8Array): void;
  /** Texts of the bot in a chat, in their order. */
  shown(chat: 0 | 1): readonly string[] | Promise<readonly string[]>;
  /** What a chat shows of an answer that is being written, where that is no message. */
  growing?(chat: 0 | 1): string | undefined;
  /** Messages that would be delivered again; undefined where the platform is told of that only as it is connected to. */
  readonly unacknowledged?: () => number;
  /** Hears of every text of the bot at the moment at which people see it, before the gateway knows that they do. */
  onShown(listener: (text: string) => void): void;
  /** From now on nothing arrives that the gateway says, until `reconnect`. */
  deafen(): void;
  /** Takes gateways again. */
  reconnect(): void;
  close(): Promise<void>;
}

/** Hears of what is added to a list, when it has been. */
export function watchPushes<T>(list: readonly T[], listener: (item: T) => void): void {
  const watched = list as T[];
  watched.push = (...items) => {
    const length = Array.prototype.push.apply(watched, items);
    for (const item of items) listener(item);
    return length;
  };
}

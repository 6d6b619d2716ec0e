import type { ChannelAdapter } from "../../src/types/chat/channel.ts";
import type { ChatNews, MediaKind, Peer } from "../../src/types/chat/message.ts";

/** Acts of people beside writing, as far as the platform has them. */
interface PeopleActs {
  /** Somebody changes a message of theirs. */
  change?(to: Peer, messageId: string, text: string): void;
  /** Somebody puts an emoji under a message, or takes it away. */
  react?(to: Peer, messageId: string, emoji: string, how?: { readonly removed?: boolean }): void;
  /**
   * Acts of people in the group, other than writing and reacting. Each does it, and gives back the news that the
   * adapter should report.
   */
  readonly news?: readonly (() => ChatNews)[];
  /** Somebody presses a button under a message. */
  press?(to: Peer, messageId: string, command: string): void;
  /** The platform's menu of commands, where people see below a command that it waits for its answer. */
  readonly menu?: {
    /** Somebody gives a command without its slash; gives back the platform's id of the command. */
    give(to: Peer, name: string): string;
    /** Text that people see below a command: `…` while it waits, then its answer; undefined when nothing is there. */
    below(id: string): string | undefined;
  };
  /** Somebody sends a file; gives back the message's id. */
  attach?(to: Peer, text: string, file: PlatformFile): string;
  /** Somebody begins a message with a mention of the bot; `rest` follows it at once, as the caption of the file where one is sent. */
  call?(to: Peer, rest: string, file?: PlatformFile): void;
  /** Somebody answers a message that is a file. */
  quote?(to: Peer, text: string, file: PlatformFile): void;
  /** A bot writes. */
  sayAsBot?(to: Peer, text: string): void;
  /** The platform delivers the last event once more, to a running adapter. */
  redeliver?(): void;
  /** Somebody writes while the platform delivers nothing: only asking brings it. */
  sayUnheard?(to: Peer, text: string): void;
}

/** The platform's side of one adapter, at its fake. */
export interface Platform extends PeopleActs {
  readonly adapter: ChannelAdapter<never> | ChannelAdapter;
  /** Checked by the adapter's schema before use. */
  readonly config: Record<string, unknown>;
  /** Settings with which `connect` must throw `OpenClawError` `CHANNEL_AUTH`. */
  readonly wrongConfig?: Record<string, unknown>;
  readonly direct: Peer;
  readonly group: Peer;
  readonly topic?: Peer;
  /** Somebody writes; gives back the platform's message id. */
  say(to: Peer, text: string, more?: { naming?: boolean; replyingToBot?: boolean }): string;
  /** Messages that people see in a chat. */
  shown(peer: Peer): readonly string[];
  /** Makes the next calls that send fail. `lost`: done, but the connection drops before the answer. */
  failSends(how: "limited" | "broken" | "dropped" | "lost" | "forbidden", count?: number): void;
  /** The next receiving call drops. */
  failReceive(count: number): void;
  /** Events that the platform would deliver again after a restart; absent where it waits for no acknowledgement. */
  unacknowledged?(): number;
  /** False: a `limited` send is refused without a time to wait. Otherwise the fake says one second. */
  readonly saysWait?: boolean;
  /** How often people saw "typing…". */
  typed?(peer: Peer): number;
  /** The next call that shows the typing signal is refused. */
  failTyping?(): void;
  /** Where people see that, when not in every chat. */
  readonly typedIn?: Peer;
  /** Reactions of the bot under a message. */
  reactions?(peer: Peer, messageId: string): readonly string[];
  /** Files that the bot sent. */
  files?(peer: Peer): readonly PlatformFile[];
  /** How many files each message with files has that the bot sent, as people see it. */
  albums?(peer: Peer): readonly number[];
  /** Ids that the shown messages answer to, in their order. */
  answers?(peer: Peer): readonly (string | undefined)[];
  /** Chat and visible text of an answer that the platform shows as being written. */
  readonly stream?: {
    readonly where: Peer;
    shown(): string | undefined;
    /** Makes the platform refuse that for this bot from now on. */
    refuse(): void;
  };
  /** True: two sends with one key show one message. */
  readonly knowsKeys?: boolean;
  close(): Promise<void>;
}

type Far = "group" | "failSends" | "failReceive";

/** A platform that may lack groups, and a network in between that could fail. */
export type AnyPlatform = Omit<Platform, Far> & Partial<Pick<Platform, Far>>;

export interface PlatformFile {
  readonly kind: MediaKind;
  readonly bytes: Uint8Array;
  readonly mime?: string;
  readonly name?: string;
  readonly caption?: string;
}

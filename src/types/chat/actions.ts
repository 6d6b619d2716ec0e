/** A question with answers to choose from. */
export interface Poll {
  readonly question: string;
  readonly options: readonly string[];
  /** People may choose several answers. */
  readonly isMulti: boolean;
  /** Hours after which the poll ends; the platform's own time when unset. */
  readonly hours?: number | undefined;
}

/** Selects messages of a chat: the newest, or messages before, after or around one. */
export interface ReadQuery {
  readonly limit: number;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly around?: string | undefined;
}

/** Selects messages of a chat by their text. */
export interface SearchQuery {
  readonly text: string;
  readonly limit: number;
  /** Whose messages; anybody's when unset. */
  readonly userId?: string | undefined;
}

/** A message as a platform shows it. */
export interface SeenMessage {
  readonly id: string;
  /** Name or id of the message's author. */
  readonly sender: string;
  /** Epoch milliseconds. */
  readonly at?: number | undefined;
  readonly text: string;
  /** Names of the message's files. */
  readonly files?: readonly string[];
}

export interface ReactionCount {
  readonly emoji: string;
  readonly count: number;
}

export interface SeenThread {
  readonly id: string;
  readonly name: string;
}

/** A new thread: of a message where one is named. */
export interface NewThread {
  readonly name: string;
  readonly messageId?: string | undefined;
}

/** Facts of a platform about a person or a chat, in the platform's own words. */
export type ChatFacts = Readonly<Record<string, string | number | boolean>>;

/** A question with answers to choose from. */
export interface Poll {
  readonly question: string;
  readonly options: readonly string[];
  /** People may choose several answers. */
  readonly isMulti: boolean;
  /** Hours after which the poll ends; the platform's own time when unset. */
  readonly hours?: number | undefined;
}

/** Which messages of a chat are read: the newest, or those before, after or around one. */
export interface ReadQuery {
  readonly limit: number;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly around?: string | undefined;
}

/** Which messages of a chat are searched. */
export interface SearchQuery {
  readonly text: string;
  readonly limit: number;
  /** Whose messages; anybody's when unset. */
  readonly userId?: string | undefined;
}

/** A message as a platform shows it. */
export interface SeenMessage {
  readonly id: string;
  /** The name or id of whoever wrote it. */
  readonly sender: string;
  /** Epoch milliseconds. */
  readonly at?: number | undefined;
  readonly text: string;
  /** Names of its files. */
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

/** What a platform tells of a person or a chat, in its own words. */
export type ChatFacts = Readonly<Record<string, string | number | boolean>>;

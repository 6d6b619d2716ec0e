import type { StoryStep } from "./answers/messages.ts";
import type { LoopDesk } from "./cron/loops.ts";
import type { InboundMessage } from "./chat/message.ts";
import type { SessionKey } from "./ids.ts";
import type { SubagentActs } from "./subagent/spawn.ts";
import type { TaskDesk } from "./subagent/task.ts";

/** The restart of the gateway's process. */
export interface RestartDesk {
  /** Why the gateway would not come back, or may not restart: sentences for an owner. Undefined when it can. */
  whyNot(): Promise<string | undefined>;
  /** Returns at once. The gateway closes in order, and begins again. */
  begin(): void;
}

/**
 * Selects a message of a conversation: by the platform's id of the message or of a reply to it, or by its place before
 * `before`.
 */
export interface StoryAsk {
  readonly session: SessionKey;
  readonly before: InboundMessage;
  readonly which: { readonly id: string } | { readonly back: number };
  /** Others do not get the words of providers and tools. */
  readonly isOwner: boolean;
}

/** The records of what happened to messages. */
export interface StoryDesk {
  /**
   * Steps of a message and of each copy, as `openclaw why` shows them. Empty when the conversation has no such message.
   */
  of(asked: StoryAsk): Promise<readonly (readonly StoryStep[])[]>;
}

/** Operations that features of the gateway offer to commands, tools and methods: one desk each, by its name. */
export interface DeskTypes {
  /** Detached work. */
  readonly tasks: TaskDesk;
  /** Repeated tasks of conversations. */
  readonly loops: LoopDesk;
  /** Operations of people on subagents by commands. */
  readonly subagents: SubagentActs;
  readonly restart: RestartDesk;
  readonly stories: StoryDesk;
}

export interface Desks {
  /** Undefined while the gateway has not begun, and in a process without that feature. */
  get<Name extends keyof DeskTypes>(name: Name): DeskTypes[Name] | undefined;
}

/** The desks of one gateway. Each feature opens its own desk. */
export class OpenDesks implements Desks {
  readonly #desks: { -readonly [Name in keyof DeskTypes]?: DeskTypes[Name] } = {};

  open(desks: Partial<DeskTypes>): void {
    Object.assign(this.#desks, desks);
  }

  get<Name extends keyof DeskTypes>(name: Name): DeskTypes[Name] | undefined {
    return this.#desks[name];
  }
}

import type { Peer } from "../../types/chat/message.ts";
import type { Approval } from "../../types/run/tool.ts";

/** What decides where a question is shown. */
export type RoutedQuestion = Pick<Approval, "agentId" | "sessionKey" | "askedBy">;

/** Where the config wants a question to be shown. */
export interface ApprovalRoute {
  /** In the chat that the question is from. */
  readonly isInChat: boolean;
  /** Chats that get a copy. */
  readonly targets: readonly Peer[];
  /** Targets of the config that cannot be used: a sentence about each. */
  readonly unusable: readonly string[];
}

export const IN_CHAT: ApprovalRoute = { isInChat: true, targets: [], unusable: [] };

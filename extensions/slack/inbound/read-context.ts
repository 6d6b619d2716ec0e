import type { AccountId, MenuCommand } from "openclaw/plugin-sdk";
import type { Self } from "../transport/api.ts";
import type { SlackConfig } from "../config.ts";
import type { OutsideCommands } from "./outside-commands.ts";
import type { Mentions } from "./mentions.ts";
import type { NameLookups } from "./people.ts";
import type { Threads } from "./threads.ts";

/** Parts that reading a delivery needs: the account, its settings, and lookups at Slack. */
export interface ReadContext {
  readonly account: AccountId;
  readonly self: Self;
  readonly config: SlackConfig;
  readonly people: NameLookups;
  readonly outsideCommands: Pick<OutsideCommands, "directChatFor" | "privateChatFor" | "heardFrom" | "refuse">;
  readonly mentions: Pick<Mentions, "withFiles" | "hasLateFiles">;
  readonly threads: Pick<
    Threads,
    | "read"
    | "firstSeen"
    | "claimsHistory"
    | "hasBot"
    | "join"
    | "own"
    | "noteOwnMessage"
    | "threadOfOwn"
    | "claimsChannelHistory"
    | "before"
  >;
  readonly commands: readonly MenuCommand[];
  /** The epoch millisecond until which all lookups of a message together are waited for, lookups of `people` too. */
  readonly until: number;
  readonly now: () => number;
}

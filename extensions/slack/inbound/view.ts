import type { AccountId, MenuCommand } from "openclaw/plugin-sdk";
import type { Self } from "../transport/api.ts";
import type { SlackConfig } from "../config.ts";
import type { Elsewhere } from "../elsewhere.ts";
import type { Mentions } from "./mentions.ts";
import type { People } from "./people.ts";
import type { Threads } from "./threads.ts";

/** Whose eyes read what Slack delivers. */
export interface View {
  readonly account: AccountId;
  readonly self: Self;
  readonly config: SlackConfig;
  readonly people: Pick<People, "user" | "channel" | "sender">;
  readonly elsewhere: Pick<Elsewhere, "homeFor">;
  readonly mentions: Pick<Mentions, "whole" | "isLate">;
  readonly threads: Pick<
    Threads,
    "read" | "isFirstSight" | "hasBot" | "join" | "wrote" | "ofOwn" | "inherits" | "before"
  >;
  readonly commands: readonly MenuCommand[];
  readonly now: () => number;
}

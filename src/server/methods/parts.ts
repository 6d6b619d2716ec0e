import type { EventLoopHealth } from "../event-loop.ts";
import type { Hub } from "../transport/hub.ts";
import type { Presence } from "../transport/presence.ts";

/** The server's own state, which its methods read and change. */
export interface MethodParts {
  readonly version: string;
  readonly sessionsFile: string;
  readonly hub: Hub;
  readonly presence: Presence;
  eventLoop(): EventLoopHealth;
}

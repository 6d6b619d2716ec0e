import type { EventLoopHealth } from "../event-loop.ts";
import type { Hub } from "../transport/hub.ts";
import type { ServerOptions } from "../options.ts";
import type { Presence } from "../transport/presence.ts";

export interface MethodParts {
  readonly options: ServerOptions;
  readonly hub: Hub;
  readonly presence: Presence;
  eventLoop(): EventLoopHealth;
}

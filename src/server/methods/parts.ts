import type { EventLoopHealth } from "../event-loop.ts";
import type { Hub } from "../transport/hub.ts";
import type { Presence } from "../transport/presence.ts";
import type { Devices } from "../devices/devices.ts";
import type { WebPush } from "../push/push.ts";
import type { SetupCodes } from "../devices/setup-codes.ts";

/** The server's own state, which its methods read and change. */
export interface MethodParts {
  readonly version: string;
  readonly sessionsFile: string;
  readonly hub: Hub;
  readonly presence: Presence;
  readonly devices: Devices;
  readonly push: WebPush;
  /** Mark of the gateway's own token. */
  readonly login: string;
  readonly codes: SetupCodes;
  /** Where other machines reach the gateway; undefined while it listens on loopback only and no proxy is named. */
  readonly reachedAt: string | undefined;
  eventLoop(): EventLoopHealth;
}

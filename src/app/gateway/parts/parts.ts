import type { Heartbeats } from "../../../automation/heartbeat.ts";
import type { SessionMaintenance } from "../../../sessions/maintenance/maintenance.ts";
import type { GatewayEvent } from "../../../types/method.ts";
import type { TaskDesk } from "../../../types/subagent/task.ts";
import type { ModelInfo } from "../../../types/run/model.ts";
import type { Feed } from "../../../utils/feed.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Core } from "../../compose/core.ts";
import type { Live } from "../../live.ts";
import type { OpenHookFolders } from "../../plugins/hooks/open-hook-folders.ts";
import type { OpenPlugins } from "../../plugins/open-plugins.ts";
import type { StrayErrors } from "../../../plugins/host/stray-errors.ts";
import type { OpenLog } from "../../log/log.ts";
import type { MovingIn } from "../import/moving-in.ts";
import type { GatewayChannels } from "./gateway-channels.ts";
import type { CronDesk } from "../../../automation/cron/desk.ts";
import type { CronActs } from "../../../types/cron/acts.ts";
import type { LoopDesk } from "../../../types/cron/loops.ts";

export interface StartOptions {
  readonly log: OpenLog;
  readonly load: () => Promise<LoadedConfig>;
  readonly port?: number;
  readonly bind?: string;
  readonly token?: string;
  /** Unset: nothing is offered for an import. */
  readonly movingIn?: MovingIn;
  /** Called when clients can connect, before the gateway does anything else. */
  readonly listening?: (port: number) => Promise<void>;
  /** Called before the code of any plugin runs, with the record of plugins' errors that nobody catches. */
  readonly followingErrors?: (errors: StrayErrors) => void;
}

/** The plugins and the hooks of the running gateway. `follow` and `close` are for both. */
interface GatewayPlugins extends OpenPlugins {
  readonly hooks: OpenHookFolders;
  /** Calls the hooks for the gateway's start. Returns at once. */
  started(): void;
}

/** Work that nobody waits for. */
interface DetachedWork {
  readonly cron: OpenCron;
  /** All tasks. */
  readonly tasks: TaskDesk;
}

/** Everything that the parts of the running gateway share. */
export interface Parts extends DetachedWork {
  readonly live: Live;
  readonly log: OpenLog;
  readonly core: Core;
  readonly channels: GatewayChannels;
  readonly heartbeats: Heartbeats;
  readonly plugins: GatewayPlugins;
  readonly events: Feed<GatewayEvent>;
  readonly version: string;
  readonly startedAt: number;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
  readonly maintenance: SessionMaintenance;
  /** The model of a new conversation; unknown until the SDK is loaded, which waits for the server. */
  readonly model: { info?: ModelInfo };
}

/** The scheduled jobs of a running gateway. */
export interface OpenCron {
  readonly desk: CronDesk;
  /** Acts of agents on the jobs. */
  readonly acts: CronActs;
  /** The repeated tasks of conversations. */
  readonly loops: LoopDesk;
  /** Begins the jobs that are due. */
  start(): void;
  close(): Promise<void>;
}

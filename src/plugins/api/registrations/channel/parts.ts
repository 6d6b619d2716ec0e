import type { ChannelHost } from "../../../../types/chat/channel.ts";
import type { PluginScope } from "../../scope.ts";
import type { BridgedChannel } from "./plugin-object.ts";

/** An account of a plugin's channel while it is connected. */
export interface BridgeParts {
  readonly scope: PluginScope;
  readonly channel: BridgedChannel;
  readonly host: ChannelHost;
}

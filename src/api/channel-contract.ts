/** `openclaw/plugin-sdk/channel-contract`: types of channels. */
export type {
  ChannelAccountSnapshot,
  ChannelConfigAdapter,
  ChannelGatewayAdapter,
  ChannelGatewayContext,
  ChannelOutboundAdapter,
  ChannelOutboundContext,
  ChannelPlugin,
  OutboundDeliveryResult,
} from "../types/plugin/channel-plugin.ts";

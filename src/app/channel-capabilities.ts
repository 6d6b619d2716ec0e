import type { ChannelAdapter, ChannelLink } from "../types/channel.ts";
import { channelId } from "../types/ids.ts";
import { bundledChannels, findAdapter } from "./gateway/extensions.ts";

/** What a connection may be able to do beside sending. */
const METHODS = ["edit", "remove", "grow", "typing", "react", "find", "download", "missedSince"] as const;

/** What one channel can do. `methods` is told of a connected account alone: the connection brings them. */
export interface Capabilities {
  readonly channel: string;
  readonly label: string;
  readonly limits: Pick<ChannelAdapter["limits"], "text" | "format" | "media" | "lines">;
  readonly login: boolean;
  readonly logout: boolean;
  readonly probe: boolean;
  readonly methods?: readonly string[];
}

/** Every channel, or one. `linkOf` knows who is connected. */
export async function capabilitiesOf(
  only: string | undefined,
  linkOf: (channel: ChannelAdapter["id"]) => ChannelLink | undefined,
): Promise<readonly Capabilities[]> {
  const wanted = bundledChannels.filter((id) => only === undefined || id === only);
  const adapters = await Promise.all(wanted.map((id) => findAdapter(id)));
  return adapters.flatMap((adapter) => (adapter ? describe(adapter, linkOf(channelId(adapter.id))) : []));
}

function describe(adapter: ChannelAdapter, link: ChannelLink | undefined): Capabilities {
  const { text, format, media, lines } = adapter.limits;
  return {
    channel: adapter.id,
    label: adapter.label,
    limits: { text, format, media, ...(lines !== undefined && { lines }) },
    login: adapter.login !== undefined,
    logout: adapter.logout !== undefined,
    probe: adapter.probe !== undefined,
    ...(link && { methods: METHODS.filter((method) => link[method] !== undefined) }),
  };
}

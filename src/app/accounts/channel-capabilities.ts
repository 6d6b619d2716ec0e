import { capabilitiesIn } from "../../channels/connection/link.ts";
import type { ChannelAdapter, ChannelLink } from "../../types/chat/channel.ts";
import type { Capabilities } from "../../types/answers/channels.ts";
import { channelId, type AccountId, type ChannelId } from "../../types/ids.ts";
import { accountsIn, type Configured } from "./channel-accounts.ts";

type LinkOf = (channel: ChannelId, account: AccountId) => ChannelLink | undefined;

/**
 * Capabilities of every account in the config, or of one channel's accounts; of the channels themselves when the config
 * has no account. `linkOf` gives the link of a connected account.
 */
export async function capabilitiesOf(
  of: Configured,
  only: string | undefined,
  linkOf: LinkOf,
): Promise<readonly Capabilities[]> {
  const isWanted = (id: string): boolean => only === undefined || id === only;
  const accounts = (await accountsIn(of)).filter(({ adapter }) => isWanted(adapter.id));
  if (accounts.length > 0)
    return accounts.map(({ adapter, account }) => ({
      ...describe(adapter, linkOf(channelId(adapter.id), account)),
      accountId: account,
    }));
  const adapters = await Promise.all(
    of.contributions.channels.filter(({ id }) => isWanted(id)).map((channel) => channel.adapter()),
  );
  return adapters.map((adapter) => describe(adapter, undefined));
}

function describe(adapter: ChannelAdapter, link: ChannelLink | undefined): Capabilities {
  const { text, format, media, lines, caption, album, silent = false } = adapter.limits;
  return {
    channel: adapter.id,
    label: adapter.label,
    limits: {
      text,
      format,
      media,
      ...(lines !== undefined && { lines }),
      ...(caption && { caption: caption.text }),
      ...(album && { album: album.files }),
    },
    silent,
    login: adapter.login !== undefined,
    logout: adapter.logout !== undefined,
    probe: adapter.probe !== undefined,
    ...(link && { methods: methodsOf(adapter, link) }),
  };
}

const methodsOf = ({ buttons }: ChannelAdapter, link: ChannelLink): readonly string[] =>
  [...capabilitiesIn(link), ...(buttons ? ["buttons"] : [])].toSorted();

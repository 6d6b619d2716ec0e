import type { AccountNotes, ChannelHost, LinkReport } from "../../types/chat/channel.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { InboundMessage, MediaItem } from "../../types/chat/message.ts";
import type { Log } from "../../types/log.ts";
import { fetchForChannel } from "./fetch-file.ts";
import type { ChannelPorts, ConfiguredAccount } from "../ports.ts";

/** Reports of an adapter to its supervisor. */
export interface HostCallbacks {
  receive(messages: readonly InboundMessage[]): Promise<void>;
  report(state: LinkReport): void;
  /** Names the cause of a wait before the account can connect; undefined when the wait is over. */
  busy(activity: string | undefined): void;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Makes the host of one account's adapter. */
export function makeHost(
  account: ConfiguredAccount,
  ports: ChannelPorts,
  { busy, ...callbacks }: HostCallbacks,
): ChannelHost {
  const { adapter, account: id } = account;
  const where = `channels.${adapter.id}`;
  return {
    ...callbacks,
    account: id,
    commands: ports.commands ?? [],
    notes: notesOf(account, ports),
    openMedia: (item) => openMedia(item, ports),
    fetch: (url, request = {}) =>
      fetchForChannel(url, { maxBytes: adapter.limits.media, ...request }, callbacks.signal),
    async folder() {
      if (!ports.folder) throw unsupported(where, "has no folder for keys");
      return ports.folder(adapter.id, id);
    },
    async library(name) {
      if (!ports.library) throw unsupported(where, "cannot fetch a library");
      try {
        return await ports.library({ channel: adapter.id, name, signal: callbacks.signal, fetching: busy });
      } finally {
        busy(undefined);
      }
    },
    serve(path, answer) {
      if (!ports.serve) throw unsupported(where, "cannot receive web requests");
      ports.serve(path, answer, callbacks.signal);
    },
  };
}

const unsupported = (where: string, what: string): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message: `${where} ${what} in this process.`,
    fix: "Run it inside the gateway, or choose a mode of the channel that works without.",
  });

/** The notes of an account: durable when `values` is. */
export function notesOf({ adapter, account }: ConfiguredAccount, ports: ChannelPorts): AccountNotes {
  const { values } = ports;
  const name = (key: string): string => `channel:${adapter.id}:${account}:${key}`;
  return { get: (key) => values.get(name(key)), set: (key, value) => values.set(name(key), value) };
}

async function openMedia(item: MediaItem, { media }: ChannelPorts): Promise<Uint8Array> {
  if (item.source.at === "store") return media.read(item.source.id);
  throw new OpenClawError("MEDIA_UNAVAILABLE", {
    message: "The file is not in the media store.",
    fix: "Fetch it before sending it elsewhere.",
  });
}

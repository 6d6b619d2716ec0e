import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { isOwn } from "./config.ts";
import type { SignalConfig } from "./config.ts";
import { download } from "./inbound/download.ts";
import { Trouble, troubleReport } from "./failures.ts";
import { Notices } from "./inbound/notices.ts";
import { ownDaemon } from "./own.ts";
import type { OwnDaemon } from "./own.ts";
import { Recent } from "./people.ts";
import { identify, receive } from "./inbound/receive.ts";
import type { Room } from "./room.ts";
import { openDaemon, UNREACHED_FIX, USUAL_URL } from "./rpc.ts";
import { Outgoing, signs } from "./outbound/send.ts";
import { sendFile } from "./outbound/upload.ts";

/** Begins to listen. Throws `OpenClawError` when signal-cli is not there or does not know the account. */
export async function connect(config: SignalConfig, host: ChannelHost): Promise<ChannelLink> {
  const end = new AbortController();
  const signal = AbortSignal.any([host.signal, end.signal]);
  const own = isOwn(config) ? ownDaemon(config, host, signal) : undefined;
  const room = openRoom(config, host, { own, signal });
  try {
    await room.ready();
    await identify(room);
  } catch (error) {
    if (!(error instanceof Trouble)) {
      await own?.close();
      throw error;
    }
    if (!signal.aborted) host.report(troubleReport(error));
  }
  const receiving = receive(room);
  return {
    ...speaking(room),
    download: (item) => download(room.daemon, config, item),
    async close() {
      end.abort();
      await receiving;
      await own?.close();
    },
  };
}

function openRoom(
  config: SignalConfig,
  host: ChannelHost,
  { own, signal }: { own: OwnDaemon | undefined; signal: AbortSignal },
): Room {
  const base = (): string => own?.base ?? config.httpUrl ?? USUAL_URL;
  const options = {
    timeoutMs: config.timeoutSeconds * 1000,
    account: () => accountOf(room, config),
    unreachedFix: own ? undefined : UNREACHED_FIX,
  };
  const daemon = openDaemon(base, options);
  const room: Room = {
    config,
    host,
    daemon,
    signal,
    names: new Recent(2000),
    texts: new Recent(500),
    notices: new Notices(host),
    ready: async () => own?.ready(() => daemon.check(signal)),
    self: undefined,
  };
  return room;
}

const accountOf = ({ self }: Room, { account }: SignalConfig): string | undefined =>
  account ?? self?.number ?? self?.uuid;

function speaking(room: Room): Pick<ChannelLink, "send" | "edit" | "grow" | "remove" | "react" | "typing"> {
  const outgoing = new Outgoing(room);
  return {
    async send(to, part, options) {
      if (part.kind === "media") return sendFile(room, outgoing, to, { part, options });
      return outgoing.say(to, part, options);
    },
    edit: (to, messageId, part) => outgoing.edit(to, messageId, part),
    grow: (to, options) => outgoing.grow(to, options),
    remove: (to, messageId) => outgoing.remove(to, messageId),
    ...signs(room, outgoing),
  };
}

import { BoundedMap } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { startsDaemon } from "./config.ts";
import type { SignalConfig } from "./config.ts";
import { download, identify, receive } from "./inbound/receive.ts";
import { drain } from "./inbound/drain.ts";
import { Trouble, troubleReport } from "./failures.ts";
import { Notices } from "./account.ts";
import { StartedDaemon } from "./started-daemon.ts";
import type { Account } from "./account.ts";
import { openDaemon, UNREACHED_FIX, DEFAULT_URL } from "./rpc.ts";
import { SignalSender, signs } from "./outbound/send.ts";
import { sendFile } from "./outbound/upload.ts";

/** Begins to receive. Throws `OpenClawError` when signal-cli is missing or does not know the account. */
export async function connect(config: SignalConfig, host: ChannelHost): Promise<ChannelLink> {
  const end = new AbortController();
  const signal = AbortSignal.any([host.signal, end.signal]);
  const own = startsDaemon(config)
    ? new StartedDaemon(config, host, {
        signal,
        check: async (until) => account.daemon.check(until),
        drain: async (terms) => drain(account, terms),
      })
    : undefined;
  const account = openAccount(config, host, { own, signal });
  try {
    await account.ready();
    await identify(account);
  } catch (error) {
    if (!(error instanceof Trouble)) {
      await own?.close();
      throw error;
    }
    if (!signal.aborted) host.report(troubleReport(error));
  }
  const receiving = receive(account);
  return {
    ...outgoingMethods(account),
    download: (item) => download(account.daemon, config, item),
    async close() {
      end.abort();
      await receiving;
      if (own) await own.close();
      else account.stream?.close();
    },
  };
}

function openAccount(
  config: SignalConfig,
  host: ChannelHost,
  { own, signal }: { own: StartedDaemon | undefined; signal: AbortSignal },
): Account {
  const base = (): string => own?.base ?? config.httpUrl ?? DEFAULT_URL;
  const options = {
    timeoutMs: config.timeoutSeconds * 1000,
    account: () => accountOf(account, config),
    unreachedFix: own ? undefined : UNREACHED_FIX,
  };
  const daemon = openDaemon(base, options);
  const account: Account = {
    config,
    host,
    daemon,
    signal,
    names: new BoundedMap(2000),
    seen: new BoundedMap(500),
    notices: new Notices(host),
    ready: async () => own?.ready(),
    stream: undefined,
    self: undefined,
  };
  return account;
}

const accountOf = ({ self }: Account, { account }: SignalConfig): string | undefined =>
  account ?? self?.number ?? self?.uuid;

function outgoingMethods(
  account: Account,
): Pick<ChannelLink, "send" | "edit" | "stream" | "remove" | "react" | "typing" | "endTyping"> {
  const outgoing = new SignalSender(account);
  return {
    async send(to, part, options) {
      if (part.kind === "media") return sendFile(account, outgoing, to, { part, options });
      return outgoing.sendText(to, part, options);
    },
    edit: (to, messageId, part) => outgoing.edit(to, messageId, part),
    stream: (to, options) => outgoing.stream(to, options),
    remove: (to, messageId) => outgoing.remove(to, messageId),
    ...signs(account, outgoing),
  };
}

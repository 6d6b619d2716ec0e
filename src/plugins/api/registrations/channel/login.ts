import type { ChannelAdapter, LoginHost } from "../../../../types/chat/channel.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { optionalMethodIn, textIn } from "../../foreign.ts";
import type { PluginScope } from "../../scope.ts";
import type { BridgedChannel } from "./plugin-object.ts";

/** Milliseconds in which a person scans a QR code. */
const SCAN_MS = 480_000;

/** `channels login` by `gateway.loginWithQrStart` and `loginWithQrWait`; undefined where the plugin has not both. */
export function channelLoginOf(scope: PluginScope, channel: BridgedChannel): ChannelAdapter["login"] {
  const start = optionalMethodIn(channel.gateway, "loginWithQrStart");
  const wait = optionalMethodIn(channel.gateway, "loginWithQrWait");
  if (!start || !wait) return undefined;
  return async (_config, host) => {
    const what = `channel ${channel.id} login`;
    const asked = { accountId: host.account, force: true, verbose: false, timeoutMs: SCAN_MS };
    const begun = fieldsOf(await scope.call(what, () => start(asked)));
    const code = textIn(begun, "qrDataUrl") ?? "";
    if (code === "") throw notLinked(channel, begun);
    // An image cannot be drawn in a terminal: the person opens it.
    host.show(code.startsWith("data:") ? { kind: "text", text: code } : { kind: "qr", text: code });
    const sessionKey = textIn(begun, "sessionKey");
    const waiting = Promise.resolve(scope.call(what, () => wait({ ...asked, ...(sessionKey && { sessionKey }) })));
    const ended = fieldsOf(await Promise.race([waiting, aborted(host)]));
    if (ended["connected"] !== true) throw notLinked(channel, ended);
    const id = textIn(ended, "accountId") ?? host.account;
    return { id, name: id };
  };
}

const aborted = ({ signal }: LoginHost): Promise<object> =>
  new Promise((resolve) => {
    const end = () => resolve({ message: "The login was cancelled." });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

const notLinked = ({ id, label }: BridgedChannel, answer: Fields): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", {
    message: textIn(answer, "message") ?? `${label} was not linked.`,
    fix: `Try again: openclaw channels login --channel ${id}`,
  });

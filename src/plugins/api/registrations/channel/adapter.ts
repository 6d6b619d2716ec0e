import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { z } from "zod";
import type {
  ChannelAdapter,
  ChannelLink,
  SendOptions,
  SendResult,
  LoginHost,
  ChannelHost,
} from "../../../../types/chat/channel.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { channelId } from "../../../../types/ids.ts";
import { revealSecrets } from "../../../../utils/secrets/reveal.ts";
import type { PluginScope, TypingCallbacks } from "../../scope.ts";
import { textsIn, optionalMethodIn, textIn } from "../../foreign.ts";
import type { BridgedChannel } from "./plugin-object.ts";
import { background } from "../../../../utils/background.ts";
import { BoundedMap } from "../../../../utils/bounded-map.ts";
import type { MediaItem, Peer } from "../../../../types/chat/message.ts";
import type { OutboundFiles, OutboundPart } from "../../../../types/chat/reply.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { sendForOutbox } from "../../../outbox-send.ts";
import type { Clock } from "../../../../types/clock.ts";
import { backoff } from "../../../../utils/backoff.ts";
import { pause } from "../../../../utils/pause.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { within } from "../../../../utils/within.ts";
import { pluginLogger } from "../../logging.ts";
import { loginFix, refusedLogin, thrownFacts } from "./failures.ts";
import { channelRuntimeOf } from "./runtime.ts";

/** Bytes of one file. */
const MOST_BYTES = 100 * 1_048_576;
/** Chats whose typing indicator is remembered. */
const MOST_CHATS = 1000;

/** The adapter of a plugin's `ChannelPlugin` object: its monitor receives, its `outbound` sends. */
export function bridgedAdapter(scope: PluginScope, channel: BridgedChannel): ChannelAdapter {
  const login = channelLoginOf(scope, channel);
  return {
    id: channelId(channel.id),
    label: channel.label,
    limits: { text: channel.textLimit, format: "markdown", media: MOST_BYTES },
    // A wrong setting must not stop other channels: `connect` checks it.
    config: z.looseObject({}),
    accountIds: () => accountIdsOf(scope, channel),
    connect: (config, host) => connect({ scope, channel, host }, config),
    ...(login && { login }),
  };
}

/** None when the plugin cannot say. */
function accountIdsOf(scope: PluginScope, channel: BridgedChannel): readonly string[] {
  try {
    const ids = scope.call(`channel ${channel.id} accounts`, () => channel.listAccountIds(scope.shownConfig()));
    return textsIn({ ids }, "ids") ?? [];
  } catch (error) {
    scope.log.error("plugin failed", { call: `channel ${channel.id} accounts`, error });
    return [];
  }
}

async function connect(parts: BridgeParts, config: unknown): Promise<ChannelLink> {
  const { scope, channel, host } = parts;
  const checked = channel.schema.safeParse(revealSecrets(config));
  if (!checked.success) throw refused(channel, z.prettifyError(checked.error));
  const account = await resolveAccount(parts);
  const typing = new BoundedMap<string, TypingCallbacks>(MOST_CHATS);
  const link: ChannelLink = {
    async send(to, part, options) {
      const sent = await sendPart(parts, { to, part, options });
      background("end of typing", endTyping(scope, typing.get(to.chat.id), "onIdle"), scope.log);
      return sent;
    },
    // A message of the plugin names the addresses, which are not known before the message comes.
    download: (item) => host.fetch(item.source.at === "platform" ? item.source.ref : item.source.id),
    async close() {
      disconnect();
      await monitor.close();
    },
  };
  // The plugin gives its indicator with a message: until then the channel has none.
  const showTyping = () => {
    link.typing = async (to) => void (await typing.get(to.chat.id)?.onReplyStart());
    link.endTyping = (to) => endTyping(scope, typing.get(to.chat.id), "onIdle", "onCleanup");
  };
  const known = { channel: channel.id, account: host.account, host, typing, followed: new Set<string>(), showTyping };
  const disconnect = scope.accounts.add(known);
  const monitor = await startMonitor(parts, account).catch((error: unknown) => {
    disconnect();
    throw error;
  });
  return link;
}

/** Ends a plugin's typing indicator. An error of that must not make a message that was sent count as failed. */
async function endTyping(
  { log }: PluginScope,
  callbacks: TypingCallbacks | undefined,
  ...ends: readonly ("onIdle" | "onCleanup")[]
): Promise<void> {
  try {
    for (const end of ends) await callbacks?.[end]();
  } catch (error) {
    log.info("typing was not ended", { error });
  }
}

/** The plugin's own form of the account. Throws `CHANNEL_CONFIG` when it is not set up. */
async function resolveAccount({ scope, channel, host }: BridgeParts): Promise<unknown> {
  const config = scope.shownConfig();
  const account: unknown = await scope.call(`channel ${channel.id} account`, () =>
    channel.resolveAccount(config, host.account),
  );
  if (!channel.isConfigured || (await channel.isConfigured(account, config)) === true) return account;
  throw refused(channel, `The account ${host.account} of ${channel.label} is not set up.`);
}

const refused = ({ id }: BridgedChannel, message: string): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message,
    fix: `Correct channels.${id}, or link the account: openclaw channels login --channel ${id}`,
  });

interface Sending<Part = OutboundPart> {
  readonly to: Peer;
  readonly part: Part;
  readonly options: SendOptions;
}

/** Sends a part by `outbound.sendText` or `outbound.sendMedia`. Never rejects. */
async function sendPart(parts: BridgeParts, { part, ...more }: Sending): Promise<SendResult> {
  const { label } = parts.channel;
  if (parts.scope.signal.aborted) return { kind: "retry", reason: `the plugin of ${label} is not loaded any more` };
  try {
    if (part.kind === "media") return await sendFiles(parts, { ...more, part });
    const { sendText } = parts.channel;
    if (!sendText) return { kind: "refused", reason: `${label} sends no text` };
    return await call(parts, more, (context) => sendText({ ...context, text: part.body }));
  } catch (error) {
    return parts.scope.ports.channels.failedSend(error, parts.channel);
  }
}

/** Plugins read a file from this machine: it is written to a private folder for as long as the call takes. */
async function sendFiles(parts: BridgeParts, { part, ...more }: Sending<OutboundFiles>): Promise<SendResult> {
  const { sendMedia, label } = parts.channel;
  if (!sendMedia) return { kind: "refused", reason: `${label} sends no files` };
  const dir = await mkdtemp(join(tmpdir(), "openclaw-outbound-"));
  try {
    const mediaUrl = await writeItem(parts, part.media, dir);
    return await call(parts, more, (context) =>
      sendMedia({
        ...context,
        text: part.caption?.body ?? "",
        mediaUrl,
        mediaLocalRoots: [dir],
        ...(part.asVoice === true && { audioAsVoice: true }),
      }),
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function writeItem({ host }: BridgeParts, item: MediaItem, dir: string): Promise<string> {
  const path = join(dir, basename(item.name ?? (item.source.at === "store" ? item.source.id : "")) || "file");
  await writeFile(path, await host.openMedia(item), { mode: 0o600 });
  return path;
}

type Send = (context: object) => unknown;

async function call(
  { scope, channel, host }: BridgeParts,
  { to, options }: Pick<Sending, "to" | "options">,
  send: Send,
): Promise<SendResult> {
  const context = {
    cfg: scope.shownConfig(),
    to: to.chat.id,
    accountId: host.account,
    idempotencyKey: options.idempotencyKey,
    ...(options.replyTo !== undefined && { replyToId: options.replyTo }),
    ...(to.thread !== undefined && { threadId: to.thread }),
    ...(options.silent === true && { silent: true }),
  };
  const result: unknown = await scope.call(`channel ${channel.id} send`, () => sendForOutbox(() => send(context)));
  return { kind: "sent", messageId: idIn(result) };
}

/** Empty where the platform gives no id. */
function idIn(result: unknown): string {
  const id = isFields(result) ? result["messageId"] : undefined;
  return typeof id === "string" || typeof id === "number" ? String(id) : "";
}

/** Milliseconds in which a person scans a QR code. */
const SCAN_MS = 480_000;

/** `channels login` by `gateway.loginWithQrStart` and `loginWithQrWait`; undefined where the plugin has not both. */
function channelLoginOf(scope: PluginScope, channel: BridgedChannel): ChannelAdapter["login"] {
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

/** Milliseconds in which a monitor shows that it cannot start. */
const START_MS = 1000;
/** Milliseconds for `stopAccount`, and for the end of `startAccount`. */
const STOP_MS = 2000;
/** A monitor that runs counts as a sign of life this often, because many report none while nobody writes. */
const ALIVE_EVERY_MS = 60_000;

interface Monitor {
  /** Resolves when the plugin receives nothing any more, or does not say so in time. Never rejects. */
  close(): Promise<void>;
}

/**
 * Calls `gateway.startAccount`, which receives until its signal aborts, and calls it again when it ends before. Rejects when
 * it fails at once.
 */
async function startMonitor(parts: BridgeParts, account: unknown): Promise<Monitor> {
  const monitor = new RunningMonitor(parts, account);
  await monitor.start();
  return monitor;
}

class RunningMonitor implements Monitor {
  readonly #parts: BridgeParts;
  readonly #account: unknown;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #status: Fields = {};
  #result: unknown;
  #running: Promise<void> = Promise.resolve();
  /** Resolves when the plugin first reports that the account works. */
  readonly #isUp = Promise.withResolvers<false>();

  constructor(parts: BridgeParts, account: unknown) {
    this.#parts = parts;
    this.#account = account;
    this.#signal = AbortSignal.any([this.#stop.signal, parts.host.signal, parts.scope.signal]);
  }

  async start(): Promise<void> {
    const { host, scope } = this.#parts;
    const first = this.#startAccount();
    try {
      const ended = first.then(() => true);
      const isEarly = await Promise.race([ended, this.#isUp.promise, inTime(ended, scope.ports.clock)]);
      host.report({ kind: "alive" });
      // Without a lasting promise, the plugin receives by other means, such as a route.
      this.#running = isEarly ? this.#live(Promise.withResolvers<never>().promise) : this.#keep(first);
    } catch (error) {
      this.#stop.abort();
      throw refusedLogin(this.#parts.channel, error) ?? error;
    }
    background("monitor of a channel", this.#running, scope.log);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const { scope, channel } = this.#parts;
    const ended = [this.#stopAccount(), this.#running];
    const isInTime = await within(Promise.allSettled(ended), STOP_MS, scope.ports.clock);
    if (!isInTime) scope.log.warn("plugin is late", { call: `channel ${channel.id} stopAccount`, ms: STOP_MS });
  }

  async #stopAccount(): Promise<void> {
    const { scope, channel } = this.#parts;
    const stops = [
      optionalMethodIn(channel.gateway, "stopAccount"),
      isFields(this.#result) ? optionalMethodIn(this.#result, "stop") : undefined,
    ];
    try {
      for (const stop of stops) await scope.call(`channel ${channel.id} stopAccount`, () => stop?.(this.#context()));
    } catch (error) {
      scope.log.warn("plugin failed", { call: `channel ${channel.id} stopAccount`, error });
    }
  }

  /** Starts the account again, each time later, until the signal aborts. */
  async #keep(first: Promise<void>): Promise<void> {
    const { host, scope, channel } = this.#parts;
    let running = first;
    for (let failures = 0; ; failures++) {
      const thrown = await this.#live(running).then(
        () => new Error(`the monitor of ${channel.label} ended`),
        (error: unknown) => error,
      );
      if (this.#signal.aborted) return;
      const refused = refusedLogin(channel, thrown);
      if (refused) return host.report({ kind: "dead", reason: refused.message, fix: refused.fix });
      const reason = errorText(thrown);
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason, retryInMs });
      await pause(retryInMs, { clock: scope.ports.clock, signal: this.#signal });
      if (this.#signal.aborted) return;
      running = this.#startAccount();
    }
  }

  /** Waits for the end of a monitor, or for the signal; reports signs of life in the meantime. */
  async #live(running: Promise<void>): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    const abort = () => aborted.resolve();
    this.#signal.addEventListener("abort", abort, { once: true });
    if (this.#signal.aborted) abort();
    let cancel = () => undefined as void;
    const tick = () => {
      cancel = this.#parts.scope.ports.clock.after(ALIVE_EVERY_MS, () => {
        if (problemIn(this.#status) === undefined) this.#parts.host.report({ kind: "alive" });
        tick();
      });
    };
    tick();
    try {
      await Promise.race([running, aborted.promise]);
      // `close` waits, for a bounded time, for the rest of an aborted monitor's work.
      if (this.#signal.aborted) await running.catch(() => undefined);
    } finally {
      cancel();
      this.#signal.removeEventListener("abort", abort);
    }
  }

  async #startAccount(): Promise<void> {
    const { scope, channel } = this.#parts;
    const start = optionalMethodIn(channel.gateway, "startAccount");
    this.#result = await scope.call(`channel ${channel.id} startAccount`, () => start?.(this.#context()));
  }

  /** Argument of `startAccount` and `stopAccount`. */
  #context(): object {
    const { scope, host } = this.#parts;
    const log = pluginLogger(scope.log.with({ account: host.account }));
    return {
      cfg: scope.shownConfig(),
      accountId: host.account,
      account: this.#account,
      runtime: { log: log.info, error: log.error, exit: () => undefined },
      abortSignal: this.#signal,
      log,
      getStatus: () => ({ accountId: host.account, ...this.#status }),
      setStatus: (next: unknown) => this.#setStatus(next),
      channelRuntime: channelRuntimeOf(scope),
    };
  }

  #setStatus(next: unknown): void {
    if (!isFields(next) || this.#signal.aborted) return;
    this.#status = { ...this.#status, ...next };
    const reason = problemIn(this.#status);
    const isAuth = reason !== undefined && thrownFacts(new Error(reason)).isAuth;
    const fix = isAuth ? { fix: loginFix(this.#parts.channel) } : {};
    this.#parts.host.report(reason === undefined ? { kind: "alive" } : { kind: "trouble", reason, ...fix });
    if (reason === undefined) this.#isUp.resolve(false);
  }
}

/** Whether a monitor ended in the time that it has for its start. */
const inTime = (ended: Promise<unknown>, clock: Clock): Promise<boolean> => within(ended, START_MS, clock);

/** The problem that an account's status names; undefined while it says that it runs. */
function problemIn({ running, connected, lastError }: Fields): string | undefined {
  const isDown = connected === false || (running === false && connected !== true);
  if (!isDown) return undefined;
  return typeof lastError === "string" && lastError !== "" ? lastError : "the plugin reports no connection";
}

/** An account of a plugin's channel while it is connected. */
interface BridgeParts {
  readonly scope: PluginScope;
  readonly channel: BridgedChannel;
  readonly host: ChannelHost;
}

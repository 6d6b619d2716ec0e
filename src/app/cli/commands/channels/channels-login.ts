import { ownError, ownStep } from "../../../../channels/own-keys.ts";
import type { LoginStep } from "../../../../types/chat/channel.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { qrRows } from "../../../../utils/text/qr.ts";
import { accountFolder } from "../../../accounts/accounts.ts";
import { libraryStore, libraryUrl } from "../../../compose/libraries.ts";
import { findAccount } from "../../../accounts/channel-accounts.ts";
import { channelAnswers, type LoggedOut, type LoginView } from "../../../../types/answers/channels.ts";
import { findPlugins } from "../../../plugins/found.ts";
import { hasGateway } from "../../address.ts";
import { callOnce, withGateway } from "../../call-gateway.ts";
import { isErrorCode } from "../../client-errors.ts";
import type { GatewayClient } from "../../client.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { writeJson, type Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readState, requireState, type State } from "../../state.ts";

export interface ChannelLoginFlags {
  readonly channel: string;
  readonly account?: string;
  readonly phone?: string;
}

/** The exit code of shells after SIGINT: 128 and the signal's number. */
const INTERRUPTED = 130;

/** Links an account: by the running gateway, else in this process. Ctrl-C cancels it. Throws CHANNEL_MISSING, CHANNEL_AUTH. */
export async function channelsLogin(io: Io, flags: ChannelLoginFlags): Promise<number> {
  const state = await readState(io);
  const over = new AbortController();
  const stop = () => over.abort();
  process.once("SIGINT", stop);
  try {
    const name = hasGateway(io, state)
      ? await withGateway(io, state, (client) => loginThere(io, client, flags, over.signal), { isQuiet: true })
      : await loginHere(io, flags, over.signal);
    io.out(`Linked ${flags.channel} as ${withoutTerminalControls(name)}.\n`);
    return 0;
  } catch (error) {
    if (!over.signal.aborted) throw error;
    io.err("Given up.\n");
    return INTERRUPTED;
  } finally {
    process.off("SIGINT", stop);
  }
}

async function loginThere(
  io: Io,
  client: GatewayClient,
  flags: ChannelLoginFlags,
  signal: AbortSignal,
): Promise<string> {
  const { channel, account: accountId, phone } = flags;
  const asked = { channel, ...(accountId !== undefined && { accountId }), ...(phone !== undefined && { phone }) };
  let now: LoginView = await client.call("channels.login.start", asked, channelAnswers.login);
  const { loginId } = now;
  // The person has ended the command: it ends whether or not the gateway answers.
  const cancel = () =>
    void client.call("channels.login.cancel", { loginId }, channelAnswers.cancelled).catch((error: unknown) => {
      io.err(`The gateway did not confirm that the login is cancelled: ${errorText(error)}\n`);
    });
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  for (const one of now.steps) showStep(io, one);
  while (now.state === "waiting") {
    now = await client.call("channels.login.wait", { loginId, next: now.next }, channelAnswers.login);
    for (const one of now.steps) showStep(io, one);
  }
  if (now.state === "linked") return now.self?.name ?? channel;
  throw notLinked(now);
}

function notLinked({ error: message = "It was not linked.", code = "", fix }: LoginView): OpenClawError {
  const known = isErrorCode(code) ? code : "CHANNEL_AUTH";
  return new OpenClawError(known, { message, fix: fix ?? "The log has more: openclaw logs" });
}

/** Only a gateway loads plugins, so only it can link the account of a plugin's channel. */
async function refusePluginChannel(io: Io, { contributions, paths }: State, channel: string): Promise<void> {
  if (contributions.channel(channel)) return;
  const { plugins } = await findPlugins(paths, io.env);
  const owner = plugins.find(({ manifest }) => manifest.channels.some(({ id }) => id === channel));
  if (!owner) return;
  throw new OpenClawError("GATEWAY_UNREACHABLE", {
    message: `${channel} is a channel of the plugin ${owner.manifest.id}, and only a running gateway can link its accounts.`,
    fix: "Start the gateway with `openclaw gateway run`, then repeat this command.",
  });
}

async function loginHere(io: Io, flags: ChannelLoginFlags, signal: AbortSignal): Promise<string> {
  const state = await requireState(io);
  await refusePluginChannel(io, state, flags.channel);
  const found = await findAccount(state, flags.channel, flags.account);
  const { adapter, account, config } = found;
  if (!adapter.login) {
    throw new OpenClawError("USAGE", {
      message: `${adapter.label} needs no login, only its settings.`,
      fix: `See openclaw channels add --help and docs/guides/channels.md.`,
    });
  }
  const desk = deskOf(io, state, { channel: adapter.id, account, signal });
  try {
    const self = await adapter.login(config, {
      ...desk,
      show: (one) => desk.show(ownStep(one, found)),
      account,
      signal,
      ...(flags.phone !== undefined && { phone: flags.phone }),
    });
    return self.name;
  } catch (error) {
    throw ownError(error, found);
  }
}

const deskOf = (
  io: Io,
  { paths }: State,
  { channel, account, signal }: { channel: string; account: string; signal: AbortSignal },
) => ({
  folder: () => accountFolder(paths.credentials, channel, account),
  library: (name: string) =>
    libraryUrl(libraryStore(paths, { info: (message) => io.err(`${withoutTerminalControls(message)}\n`) }), {
      channel,
      name,
      signal,
    }),
  show: (one: LoginStep) => showStep(io, one),
  log: {
    info: () => undefined,
    warn: (message: string) => io.err(`${withoutTerminalControls(message)}\n`),
  },
});

function showStep(io: Io, one: LoginView["steps"][number]): void {
  if (one.kind === "text") io.err(`${withoutTerminalControls(one.text)}\n`);
  else if (one.kind === "code") io.out(`Type this code into the app: ${withoutTerminalControls(one.code)}\n`);
  else io.out(`${showQr(io, one.rows ?? qrRows(one.text))}Scan it with the app (linked devices).\n`);
}

/** Forgets a linked account: by the running gateway, else in this process. Exit code 1 if another program holds the link. */
export async function channelsLogout(io: Io, flags: ChannelLoginFlags & { readonly json?: boolean }): Promise<number> {
  const state = await readState(io);
  const done = hasGateway(io, state) ? await logoutThere(io, state, flags) : await logoutHere(io, flags);
  if (flags.json === true) writeJson(io, done);
  else printCleared(io, done);
  return done.holder === undefined ? 0 : 1;
}

function printCleared(io: Io, done: LoggedOut): void {
  const who = `${done.channel} (${done.accountId})`;
  if (done.cleared) io.out(`Forgot ${who}.\n`);
  else if (done.holder === undefined) io.out(`${who} is not linked: it has only its settings.\n`);
  else
    io.err(
      `${who} was not forgotten: ${withoutTerminalControls(done.holder)}\nfix: ${withoutTerminalControls(done.fix ?? "Ask there.")}\n`,
    );
}

function logoutThere(io: Io, state: State, { channel, account: accountId }: ChannelLoginFlags) {
  const params = { channel, ...(accountId !== undefined && { accountId }) };
  return callOnce(io, state, { method: "channels.logout", params, shape: channelAnswers.logout });
}

async function logoutHere(io: Io, flags: ChannelLoginFlags): Promise<LoggedOut> {
  const state = await requireState(io);
  const { adapter, account, config } = await findAccount(state, flags.channel, flags.account);
  const signal = new AbortController().signal;
  await adapter.logout?.(config, { ...deskOf(io, state, { channel: adapter.id, account, signal }), account, signal });
  const isCleared = adapter.logout !== undefined;
  const facts = { channel: adapter.id, accountId: account, cleared: isCleared };
  return isCleared ? facts : { ...facts, ...adapter.unlinking?.(config) };
}

const QUIET = 4;
/** Characters by upper and lower cell. Light cells are drawn, because most terminals are dark. */
const HALVES: Readonly<Record<string, string>> = { "00": "█", "01": "▀", "10": "▄", "11": " " };
const BLACK_ON_WHITE = "\u001B[40;97m";
const PLAIN = "\u001B[0m";

/** A QR code as half blocks, two rows a line, with the margin that cameras need. Ends with a newline. */
function showQr(io: Io, rows: readonly string[]): string {
  const width = (rows[0]?.length ?? 0) + 2 * QUIET;
  const empty = Array.from({ length: QUIET }, () => "0".repeat(width));
  const side = "0".repeat(QUIET);
  const all = [...empty, ...rows.map((row) => side + row + side), ...empty];
  const lines = Array.from({ length: Math.ceil(all.length / 2) }, (_, at) =>
    halves(all[at * 2] ?? "", all[at * 2 + 1] ?? "0".repeat(width)),
  );
  return lines.map((line) => (io.color ? `${BLACK_ON_WHITE}${line}${PLAIN}\n` : `${line}\n`)).join("");
}

const halves = (upper: string, lower: string): string =>
  Array.from({ length: upper.length }, (_, x) => HALVES[`${upper[x]}${lower[x]}`] ?? " ").join("");

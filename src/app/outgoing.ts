import { channelIn, parseTarget } from "../channels/target.ts";
import { attach, type AttachPorts, mediaBlock } from "../dispatch/media/attach.ts";
import { pause as pauseFor } from "../utils/pause.ts";
import type { Outbox, Reply } from "../outbox/deliver.ts";
import type { ChannelLimits } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import { accountId, channelId } from "../types/ids.ts";
import type { MediaStore, OutboxRow } from "../types/journal.ts";
import type { Peer } from "../types/chat/message.ts";
import { MethodError } from "../types/method.ts";
import type { ReplyBlock } from "../types/chat/reply.ts";
import { FetchRefused, safeFetch } from "../utils/net/safe-fetch.ts";
import { defaultAccountOf } from "./accounts/accounts.ts";
import type { Live } from "./live.ts";
import { WEB_CHAT } from "./contributions/extensions.ts";

/** The parts of the gateway that sending needs. */
export interface OutgoingParts {
  readonly live: Pick<Live, "config" | "defaultAgent">;
  readonly channels: {
    status(): readonly { readonly channel: string; readonly accountId: string; readonly enabled: boolean }[];
    limits(to: Peer): ChannelLimits | undefined;
  };
  readonly core: {
    readonly media: MediaStore;
    readonly outbox: Pick<Outbox, "deliver">;
    readonly ports: { readonly clock: Clock; readonly storage: Pick<AttachPorts, "closedPaths"> };
  };
}

/** A message that an operator or a tool sends to a chat. */
export interface Outgoing {
  readonly to: string;
  readonly channel?: string | undefined;
  readonly accountId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly message?: string | undefined;
  /** Web addresses, or files of the workspace. */
  readonly media: readonly string[];
  /** Absolute path of the workspace; the default agent's when unset. */
  readonly workspace?: string | undefined;
  /** The only hosts that web addresses may name, with their subdomains; any when unset. */
  readonly hosts?: readonly string[] | undefined;
  /** Contents of files; they are sent before those of `media`. */
  readonly files?: readonly { readonly bytes: Uint8Array; readonly name?: string | undefined }[] | undefined;
  readonly asVoice?: boolean | undefined;
}

/** The chat that a target identifies. Throws `MethodError` when it is ambiguous or unknown. */
export function targetPeer(
  { to, channel: named, accountId: account, threadId }: Pick<Outgoing, "to" | "channel" | "accountId" | "threadId">,
  parts: Pick<OutgoingParts, "live" | "channels">,
): Peer {
  const known = [...new Set(parts.channels.status().map((row) => String(row.channel)))];
  const others = known.filter((id) => id !== WEB_CHAT);
  const channel = named ?? channelIn(to, known) ?? (others.length === 1 ? others[0] : undefined);
  if (channel === undefined) throw refused(`name a channel: ${known.join(", ") || "none is switched on"}`);
  const target = parseTarget(to, channel);
  if (!target) throw refused(`"${to}" names no chat`);
  const sender = account ?? defaultAccountOf(parts.live.config, channel);
  const rows = parts.channels.status().filter((row) => row.channel === channel);
  if (!rows.some((row) => row.accountId === sender && row.enabled)) {
    throw noAccount(sender, channel);
  }
  const thread = threadId ?? target.thread;
  return {
    channel: channelId(channel),
    account: accountId(sender),
    chat: target.chat,
    ...(thread !== undefined && { thread }),
  };
}

/** The message as blocks; files are fetched and stored. Throws `MethodError` when a file cannot be fetched. */
export async function blocksOf(
  outgoing: Omit<Outgoing, "to"> & Pick<AttachPorts, "guestOf">,
  to: Peer,
  parts: OutgoingParts,
): Promise<readonly ReplyBlock[]> {
  const {
    message = "",
    media,
    asVoice = false,
    hosts,
    guestOf,
    workspace = parts.live.defaultAgent.workspace,
  } = outgoing;
  const limits = parts.channels.limits(to);
  const mostBytes = limits?.media ?? 0;
  const files: ReplyBlock[] = [];
  for (const file of outgoing.files ?? []) files.push(await keep(file, asVoice, parts.core));
  for (const ref of media)
    files.push(await fetchOne(ref, { asVoice, mostBytes, workspace, hosts, guestOf }, parts.core));
  const text: readonly ReplyBlock[] = message.trim() === "" ? [] : [{ kind: "text", markdown: message }];
  if (text.length + files.length === 0) throw refused("there is nothing to send: give a message or a file");
  return [...text, ...files];
}

async function fetchOne(
  ref: string,
  how: Pick<AttachPorts, "guestOf" | "workspace"> & {
    asVoice: boolean;
    mostBytes: number;
    hosts: readonly string[] | undefined;
  },
  core: OutgoingParts["core"],
): Promise<ReplyBlock> {
  if (/^https?:\/\//i.test(ref)) {
    try {
      return await keep(
        await safeFetch(ref, { maxBytes: how.mostBytes, ...(how.hosts && { allowHosts: how.hosts }) }),
        how.asVoice,
        core,
      );
    } catch (error) {
      if (error instanceof FetchRefused) throw refused(`the file cannot be had: ${error.message}`);
      throw error;
    }
  }
  const ports = { media: core.media, closedPaths: core.ports.storage.closedPaths, ...how };
  const [block] = await attach([ref], how.asVoice, ports);
  if (block?.kind === "media") return block;
  throw refused(block ? block.markdown.replace(/^⚠️ /, "") : `${ref} is no file`);
}

async function keep(
  { bytes, name, mime }: { bytes: Uint8Array; name?: string | undefined; mime?: string },
  asVoice: boolean,
  core: OutgoingParts["core"],
): Promise<ReplyBlock> {
  const facts = { ...(mime !== undefined && { mime }), ...(name !== undefined && { name }) };
  const stored = await core.media.put(bytes, facts);
  return mediaBlock(stored, { name, asVoice });
}

const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 1000;
const NEVER = new AbortController().signal;

/**
 * Puts the reply into the outbox and waits until each of its messages has arrived or failed, at most `ms`, or until
 * `signal` aborts. A repeated `replyKey` sends nothing twice and reports the state.
 */
export async function deliverAndWait(
  reply: Reply,
  ms: number,
  { core, signal = NEVER }: Pick<OutgoingParts, "core"> & { readonly signal?: AbortSignal },
): Promise<readonly OutboxRow[]> {
  const { clock } = core.ports;
  const end = clock.now() + ms;
  for (let pause = FIRST_LOOK_MS; ; pause = Math.min(LONGEST_LOOK_MS, pause * 2)) {
    const rows = await core.outbox.deliver(reply);
    const left = end - clock.now();
    if (left <= 0 || signal.aborted || rows.every(({ state }) => state === "sent" || state === "failed")) return rows;
    await pauseFor(Math.min(pause, left), { clock, signal });
  }
}

const refused = (message: string): MethodError => new MethodError("INVALID_REQUEST", message);

const noAccount = (account: string, channel: string): MethodError =>
  new MethodError("NOT_FOUND", `No account ${account} of ${channel} is on.`, {
    details: {
      code: "CHANNEL_MISSING",
      fix: "List the accounts: openclaw channels list --all. Add one: openclaw channels add.",
    },
  });

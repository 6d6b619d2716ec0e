import { createChatPort } from "../../dispatch/chat.ts";
import { warmAgent } from "../../harness/warm.ts";
import { recover } from "../../dispatch/recover.ts";
import type { Server } from "../../server/options.ts";
import { startServer } from "../../server/server.ts";
import type { InboxRow, PairingRequest } from "../../types/journal.ts";
import type { GatewayEvent } from "../../types/method.ts";
import { Feed } from "../../utils/feed.ts";
import { openCore } from "../core.ts";
import type { Live } from "../live.ts";
import { packageVersion } from "../package-root.ts";
import { ChannelRoom } from "./channel-room.ts";
import type { Parts, StartOptions } from "./parts.ts";
import { defaultModel, describeModel } from "./model-text.ts";
import { createHeartbeats } from "./heartbeats.ts";
import { followConfig } from "./reload.ts";
import { serverOptions } from "./server-options.ts";
import { WebClients } from "./web-clients.ts";
import { keepUp } from "./upkeep.ts";
import { watchDisk } from "./disk.ts";

/** A gateway at work. */
export interface Gateway {
  readonly port: number;
  readonly version: string;
  modelText(): Promise<string>;
  channelsText(): string;
  /** Takes nothing new, lets runs end within `graceMs`, flushes. */
  close(graceMs: number): Promise<void>;
}

/** Opens the state, listens, then connects the channels and takes up what an earlier boot left. The lock is the caller's. */
export async function startGateway(live: Live, options: StartOptions): Promise<Gateway> {
  const { log } = options;
  const stop = new AbortController();
  const channels = new ChannelRoom(live, log);
  const events = new Feed<GatewayEvent>();
  const onPairing = (request: PairingRequest) => events.publish(pairingRequested(request));
  const core = await openCore(live, log, { ...channels.surroundings(), onPairing });
  const rest = {
    live,
    log,
    core,
    channels,
    events,
    version: packageVersion(),
    startedAt: Date.now(),
    stopping: stop.signal,
    model: {},
  };
  const parts: Parts = { ...rest, heartbeats: createHeartbeats(rest) };
  const clients = new WebClients({
    sessions: core.sessions,
    defaultAgent: () => live.defaultAgent.id,
    tell: (event) => events.publish(event),
  });
  channels.connectTo(core, clients);
  const chat = createChatPort(core.dispatch, core.ports, (message) => clients.say(message));
  const left = await core.journal.inbox.open();
  const server = await startServer(await serverOptions(parts, chat, options));
  log.info("listening", { host: server.host, port: server.port });
  await channels.start();
  await takeUp(parts, left);
  channels.open();
  parts.heartbeats.start();
  const reloads = new AbortController();
  const followed = followConfig(parts, options.load, reloads.signal);
  void watchDisk(parts, stop.signal);
  void keepUp(parts, stop.signal);
  void warmUp(parts);
  return {
    port: server.port,
    version: parts.version,
    modelText: () => describeModel(parts),
    channelsText: () => channels.text(),
    async close(graceMs) {
      // A change in these moments must not connect a channel that has just been left.
      reloads.abort();
      await followed;
      await closeGateway({ parts, server, stop }, graceMs);
    },
  };
}

/** Without the code: it is read with `pairing.list`, by those who may. */
function pairingRequested({ channel, account, senderId, name, createdAt, expiresAt }: PairingRequest): GatewayEvent {
  const payload = { channel, account, senderId, ...(name !== undefined && { name }), createdAt, expiresAt };
  return { event: "pairing.requested", payload, scope: "operator.pairing" };
}

/** Replies first: what was already said must not wait behind new runs. */
async function takeUp({ core, live, log }: Parts, left: readonly InboxRow[]): Promise<void> {
  const replies = await core.outbox.recover();
  if (replies > 0) log.info("replies taken up again", { count: replies });
  const { maxAgeHours, maxRows } = live.config.messages.recovery;
  await recover(core.dispatch, core.ports, left, { maxAgeMs: maxAgeHours * HOUR_MS, maxRows });
}

/** The model SDK is loaded once the server answers, so that the first message does not wait for it. */
async function warmUp(parts: Parts): Promise<void> {
  try {
    await warmAgent();
    const found = await parts.core.models.find(await defaultModel(parts));
    if ("missing" in found) parts.log.warn("model not usable", { why: found.missing });
    else parts.model.info = found.info;
  } catch (error) {
    parts.log.warn("model not ready", { error });
  }
}

async function closeGateway(
  gateway: { parts: Parts; server: Server; stop: AbortController },
  graceMs: number,
): Promise<void> {
  const { parts, server, stop } = gateway;
  const { core, channels } = parts;
  await channels.stopReceiving();
  await parts.heartbeats.close();
  await core.dispatch.close(graceMs);
  await core.outbox.close(SEND_GRACE_MS);
  await core.dispatch.replies.acks.settle(ACK_GRACE_MS);
  stop.abort();
  await server.close(CLOSE_MS, "the gateway stops");
  await channels.close();
  await core.close();
  parts.events.close();
}

const HOUR_MS = 3_600_000;
const SEND_GRACE_MS = 5000;
const ACK_GRACE_MS = 2000;
const CLOSE_MS = 1000;

import { createChatPort } from "../../dispatch/clients/chat.ts";
import type { Server } from "../../server/options.ts";
import { startServer } from "../../server/server.ts";
import { OpenClawError, withFix } from "../../types/errors.ts";
import type { PairingRequest } from "../../types/answers/pairing.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { GatewayEvent, Method } from "../../types/method.ts";
import { Feed } from "../../utils/feed.ts";
import { openCore } from "../compose/core.ts";
import type { Live } from "../live.ts";
import { GatewayChannels } from "./parts/gateway-channels.ts";
import { makeParts } from "./make-parts.ts";
import type { Parts, StartOptions } from "./parts/parts.ts";
import { describeModel } from "./parts/model-text.ts";
import { followConfig } from "./lifecycle/reload.ts";
import { serverOptions, serverPorts } from "./server-options.ts";
import { WebClients } from "./web-clients.ts";
import { startBackgroundTasks } from "./lifecycle/background-tasks.ts";
import { closeGateway } from "./lifecycle/close.ts";
import type { RestartDesk } from "../../types/desks.ts";
import { systemClock } from "../../types/clock.ts";
import type { LoadedConfig } from "../config/load.ts";
import { endOldQuestions } from "../../dispatch/resume/old-questions.ts";
import { recover } from "../../dispatch/recover.ts";
import { tellRestarted, isRestartOf, noteRestart } from "../../dispatch/resume/restart-notice.ts";
import JSON5 from "json5";
import type { DispatchPorts } from "../../dispatch/ports.ts";
import type { ConfigEdit, GatewayActs } from "../../types/gateway-acts.ts";
import { patchLeaves, wholeLeaves } from "../config/edit/patch.ts";
import { writeConfigValues } from "../config/edit/write.ts";
import { schemaKeys, schemaKeysBelow } from "../config/keys/schema-keys.ts";
import { isRecord, readPath, valueAt, type KeyPath } from "../config/schema/problem.ts";
import { shownConfig } from "../config/shown.ts";
import { requireSlots } from "../plugins/select.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";

/** A running gateway. */
export interface Gateway {
  readonly port: number;
  readonly version: string;
  modelText(): Promise<string>;
  channelsText(): string;
  /** Every method that a client can call now, with the shapes of its parameters and of its answer. */
  methods(): Promise<readonly Method[]>;
  /**
   * Resolves with the error that stops the gateway, if one occurs. The caller closes the gateway and ends the process.
   */
  readonly failed: Promise<OpenClawError>;
  /** Resolves when an owner asked for a restart. The caller closes the gateway and starts another one. */
  readonly restartAsked: Promise<void>;
  /** Accepts nothing new, gives runs `graceMs` to end, and writes all pending data. */
  close(graceMs: number): Promise<void>;
}

/**
 * Opens the state, listens, connects the channels, and resumes the unfinished work of an earlier process. The caller
 * holds the lock.
 */
export async function startGateway(live: Live, options: StartOptions): Promise<Gateway> {
  const { log } = options;
  const stop = new AbortController();
  let server: Server | undefined;
  const late: { parts?: Parts } = {};
  const channels = new GatewayChannels(live, log);
  const events = new Feed<GatewayEvent>();
  const onPairing = (request: PairingRequest) => events.publish(pairingRequested(request));
  const restart = openRestart(live, options.load);
  const core = await openCore(live, log, {
    ...channels.surroundings(),
    onPairing,
    restart: restart.desk,
    approverClients: () => server?.approvers() ?? 0,
    gatewayActs: (ports) => gatewayActs(live, ports),
    cronActs: () => late.parts?.cron.acts,
  });
  const opened = { live, log, core, channels, events, stopping: stop.signal };
  const parts = await makeParts(opened, options.followingErrors);
  late.parts = parts;
  const reloads = new AbortController();
  const close = (graceMs: number) => closeGateway({ parts, server, stop }, graceMs);
  try {
    // The rows of an earlier process are read before any client can write.
    const left = await core.journal.inbox.open();
    server = await listen(parts, options);
    await begin(parts, left);
  } catch (error) {
    // A gateway that is started in this process afterwards must find nothing of this one at work.
    await close(0);
    throw error;
  }
  const followed = followConfig(parts, options.load, reloads.signal);
  const { port, methods } = server;
  startBackgroundTasks(parts, stop.signal, port);
  return {
    port,
    methods,
    version: parts.version,
    modelText: () => describeModel(parts),
    channelsText: () => channels.text(),
    failed: core.journal.lost,
    restartAsked: restart.asked,
    async close(graceMs) {
      // A config change now must not reconnect a channel that was just closed.
      reloads.abort();
      await followed;
      await close(graceMs);
    },
  };
}

/** Starts the server. Clients can connect from then on; their messages are kept and not yet answered. */
async function listen(parts: Parts, options: StartOptions): Promise<Server> {
  const { core, channels, events, live, log } = parts;
  const clients = new WebClients({
    sessions: core.sessions,
    defaultAgent: () => live.defaultAgent.id,
    emit: (event) => events.publish(event),
  });
  channels.connectTo(core, clients);
  const chat = createChatPort(core.dispatch, core.ports, (message) => clients.receive(message));
  const server = await startServer(await serverOptions(parts, options), serverPorts(parts, chat));
  await options.listening?.(server.port);
  log.info("listening", { host: server.host, port: server.port });
  return server;
}

/** Connects the channels, and continues the work that an earlier process left. */
async function begin(parts: Parts, left: readonly InboxRow[]): Promise<void> {
  const { channels, core, heartbeats } = parts;
  // Connected clients are answered before the channels' libraries are loaded, since that blocks the event loop.
  await new Promise(setImmediate);
  // Sandboxes and plugins begin before the first run: an engine may open its store only now.
  core.sandboxes.begin();
  await Promise.all([parts.plugins.plugins.start(), channels.start()]);
  await takeUp(parts, left);
  channels.open();
  heartbeats.start();
  parts.cron.start();
  core.archive.start();
  parts.plugins.started();
}

/** The event does not contain the code; authorized clients read it with `pairing.list`. */
function pairingRequested({ channel, account, senderId, name, createdAt, expiresAt }: PairingRequest): GatewayEvent {
  const payload = { channel, account, senderId, ...(name !== undefined && { name }), createdAt, expiresAt };
  return { event: "pairing.requested", payload, scope: "operator.pairing" };
}

/** Milliseconds in which the client that asked can read the answer before its connection closes. */
const DELAY_MS = 1000;

/** The gateway's restart by a command. */
interface OpenRestart {
  readonly desk: RestartDesk;
  /** Resolves when a restart was asked for. The starter of the gateway closes it and starts it again. */
  readonly asked: Promise<void>;
}

/** Opens the restart desk. With a config that cannot be read a restart is refused: the gateway would not come back. */
function openRestart(live: Live, load: () => Promise<LoadedConfig>): OpenRestart {
  const asked = Promise.withResolvers<void>();
  return {
    asked: asked.promise,
    desk: {
      async whyNot() {
        if (!live.config.commands.restart) return "`commands.restart` is off.";
        try {
          await load();
          return undefined;
        } catch (error) {
          if (!(error instanceof OpenClawError)) throw error;
          return `${error.message} ${error.fix}`;
        }
      },
      begin: () => void systemClock.after(DELAY_MS, () => asked.resolve()),
    },
  };
}

const HOUR_MS = 3_600_000;

/** Continues the work that an earlier process left. Replies come first: finished answers must not wait for new runs. */
async function takeUp(
  { core, live, log }: Pick<Parts, "core" | "live" | "log">,
  left: readonly InboxRow[],
): Promise<void> {
  await endOldQuestions(core.ports);
  const replies = await core.outbox.recover();
  if (replies > 0) log.info("replies taken up again", { count: replies });
  await tellRestarted(core.dispatch.replies.notices, core.ports);
  const { maxAgeHours, maxRows } = live.config.messages.recovery;
  await recover(core.dispatch, core.ports, left, { maxAgeMs: maxAgeHours * HOUR_MS, maxRows });
}

/** Acts of the tool `gateway`. They call `ports` when they are used, not before. */
function gatewayActs(live: Live, ports: () => DispatchPorts): GatewayActs {
  return {
    config: async (path) => explained(async () => configAt(live, readPath(path))),
    schema: async (path) => explained(async () => schemaAt(readPath(path))),
    edits: async (text, { whole }) => editsIn(text, whole, live),
    async write(edits, baseHash) {
      const done = await explained(async () => {
        await requireSlots(live, edits);
        await writeConfigValues(await loadOptionsFor(live.contributions, live.paths), edits, baseHash);
        return {};
      });
      return typeof done === "string" ? done : undefined;
    },
    restart: (asked) => restart(asked, ports()),
  };
}

/** Runs the work. An error that the operator or the model must mend comes back as a sentence; others are thrown. */
async function explained<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OpenClawError) return withFix(error);
    throw error;
  }
}

function configAt(live: Live, path: KeyPath) {
  const value = shownConfig(valueAt(live.config, path), path);
  return value === undefined ? "There is no value at this path." : { hash: live.loaded.hash, value };
}

function schemaAt(path: KeyPath): Readonly<Record<string, unknown>> | string {
  const below = schemaKeysBelow(path);
  if (path.length === 0) return { keys: below };
  const names = path.map(String);
  const found = schemaKeys().find(
    (key) => key.path.length === names.length && key.path.every((name, index) => fits(name, names[index])),
  );
  if (!found) return "The schema has no key at this path.";
  const { properties: _below, ...node } = found.node;
  return { ...node, ...(below.length > 0 && { keys: below }) };
}

const fits = (name: string, segment: string | undefined): boolean =>
  name === segment || name === "*" || (name === "[]" && segment !== undefined && /^\d+$/.test(segment));

function editsIn(text: string, whole: boolean, live: Live): readonly ConfigEdit[] | string {
  const read = parsed(text);
  if (!isRecord(read)) return "`raw` is not a JSON object.";
  return whole ? wholeLeaves(live.config, read) : patchLeaves(live.config, read);
}

function parsed(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    // The caller refuses everything but an object.
    return undefined;
  }
}

const NOTE = "The gateway restarted, as you asked.";

async function restart(
  { runId, sessionKey, note, delayMs }: Parameters<GatewayActs["restart"]>[0],
  { program: { desks }, storage: { journal }, clock }: DispatchPorts,
): Promise<string | undefined> {
  const desk = desks.get("restart");
  if (!desk) return "this process is no daemon.";
  const rows = await journal.inbox.ofRun(runId);
  for (const { message } of rows)
    if (await isRestartOf(message, journal.values)) return "it was restarted for this message already.";
  const why = await desk.whyNot();
  if (why !== undefined) return why;
  const at = clock.now();
  for (const { message } of rows) await noteRestart({ message, key: sessionKey, at }, journal.values);
  await journal.events.add(sessionKey, note === undefined ? NOTE : `${NOTE} ${note}`);
  if (delayMs === 0) desk.begin();
  else clock.after(delayMs, () => desk.begin());
  return undefined;
}

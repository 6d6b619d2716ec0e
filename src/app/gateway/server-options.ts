import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { openToolCalls } from "../../dispatch/clients/tool-calls.ts";
import type { GatewayConfig } from "../../server/config.ts";
import { devicesIn } from "../../server/devices/devices.ts";
import { pushIn } from "../../server/push/kept.ts";
import type { AccessOptions, ServerOptions, ServerPorts, Catalog } from "../../server/options.ts";
import { keyNames } from "../../sessions/shown/wire-keys.ts";
import type { ChatPort } from "../../types/chat/chat.ts";
import { systemClock } from "../../types/clock.ts";
import { OpenClawError } from "../../types/errors.ts";
import { Secret } from "../../types/secret.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { ensureGatewayToken, findGatewayPassword, shortTokenFix, TOKEN_CHARS } from "../config/gateway-login.ts";
import type { Config } from "../config/schema/schema.ts";
import { controlUiGap, controlUiRoot } from "../config/control-ui.ts";
import { packageRoot } from "../package-root.ts";
import { notifyPaired } from "./strangers/notify-paired.ts";
import { openWebhooks } from "./hooks/open-hooks.ts";
import type { Parts, StartOptions } from "./parts/parts.ts";
import { reportsOf } from "./reports.ts";
import { settingsInForce } from "./session-settings.ts";
import { rightsOf } from "./parts/session-rights.ts";
import { z } from "zod";
import type { KeyValue } from "../../types/journal.ts";

/** Events in addition to those of runs. */
const EVENT_NAMES = ["sessions.changed", "session.queue", "pairing.requested", "config.changed", "cron", "health"];

/**
 * Options of the server. Throws `BIND_REFUSED` for an address that this machine does not have, and for an address that
 * other machines reach with a weak token.
 */
export async function serverOptions(parts: Parts, options: StartOptions): Promise<ServerOptions> {
  const { live, version } = parts;
  const { gateway } = live.config;
  const token = await tokenFor(parts, options);
  return {
    host: guarded(hostFor(options.bind ?? gateway.bind, gateway.customBindHost), token),
    port: options.port ?? gateway.port,
    access: accessOptions(live.config, token),
    version,
    methods: async () => (await import("./methods/methods.ts")).gatewayMethods(parts, options.movingIn),
    added: live.contributions,
    eventNames: EVENT_NAMES,
    sessionsFile: join(live.paths.sessionsDir, "sessions.json"),
    ...(await pageOptions(parts)),
    ...openAiOptions(gateway),
  };
}

/** A Control UI that is missing is told here, and by each answer of its path: the channels do not need it. */
async function pageOptions({ live: { config, paths }, log }: Parts): Promise<Pick<ServerOptions, "page">> {
  const { enabled, basePath } = config.gateway.controlUi;
  if (!enabled) return {};
  const root = controlUiRoot(config, paths, process.env);
  const gap = root === undefined ? undefined : await controlUiGap(root, paths);
  if (gap) log.warn(gap.message, { fix: gap.fix });
  if (gap?.isClosed) return {};
  return { page: { dir: root ?? join(packageRoot, "dist", "page"), basePath, isControlUi: root !== undefined } };
}

/** `/v1` is served when one of its endpoints is. */
function openAiOptions({ http: { endpoints } }: GatewayConfig): Pick<ServerOptions, "openAi"> {
  const { chatCompletions, responses } = endpoints;
  if (!chatCompletions.enabled && !responses.enabled) return {};
  const { conversationHeaders, utilityModel } = chatCompletions;
  return {
    openAi: {
      chatCompletions: chatCompletions.enabled,
      responses: responses.enabled,
      conversationHeaders,
      ...(utilityModel !== undefined && { utilityModel }),
    },
  };
}

/** The token of `--token`, else as it is found or made. One that can be guessed is told. */
async function tokenFor({ live, log }: Parts, { token: given }: StartOptions): Promise<Secret> {
  if (given !== undefined) {
    warnOfShort(new Secret(given), "Give --token a longer random text, or leave it out.", log);
    return new Secret(given);
  }
  const { token, from } = await ensureGatewayToken(live.paths, live.config, { env: process.env, log });
  warnOfShort(token, shortTokenFix(from), log);
  return token;
}

function warnOfShort(token: Secret, fix: string, log: Parts["log"]): void {
  if (token.reveal().length >= TOKEN_CHARS) return;
  log.warn(`the gateway's token has fewer than ${TOKEN_CHARS} characters and can be guessed`, { fix });
}

function accessOptions(config: Config, token: Secret): AccessOptions {
  const { gateway } = config;
  const password = findGatewayPassword(config, process.env);
  return {
    token,
    ...(password && { password }),
    allowedOrigins: gateway.controlUi.allowedOrigins,
    rateLimit: gateway.auth.rateLimit,
    trustedProxies: gateway.trustedProxies,
    handshakeMs: gateway.handshakeTimeoutMs,
    takesDeviceTokens: gateway.roles === undefined,
  };
}

/** The functions of this gateway that the server may call. */
export function serverPorts(parts: Parts, chat: ChatPort): ServerPorts {
  const { live, core, log, channels, events } = parts;
  return {
    chat,
    sessions: core.sessions,
    sessionGroups: groupsIn(core.journal.values),
    devices: devicesIn(core.journal.values),
    push: {
      store: pushIn(core.journal.values),
      env: process.env,
      allowPrivate: () => live.config.gateway.push.allowPrivateNetwork,
    },
    onPatched: (sessionKey, patch, entry) =>
      core.ports.runs.hooks?.notify("session:patch", { sessionKey, patch, sessionEntry: { ...entry } }, { sessionKey }),
    media: core.media,
    pairing: { ...core.journal.pairing, notify: (paired) => notifyPaired(paired, parts) },
    keys: keyNames(() => live.defaultAgent.id),
    callTool: openToolCalls(core.dispatch, core.ports, () => live.config.gateway.tools),
    // The provider of vectors is asked by few clients.
    embed: async (request) => (await import("./embeddings.ts")).embedFor(request, live),
    catalog: catalogOf(parts),
    reports: reportsOf(parts),
    events: (signal) => events.watch(signal),
    webhooks: openWebhooks(parts, channels.webhooks),
    log,
    clock: systemClock,
  };
}

/**
 * Least characters of a token for an address that other machines reach: fewer can be guessed from outside within a
 * token's life.
 */
const LEAST_PUBLIC_TOKEN = 16;

/** The address, unless it needs a stronger token: an address that other machines reach does. Throws `BIND_REFUSED`. */
function guarded(host: string, token: Secret): string {
  if (/^(127\.|::1$|localhost$)/.test(host) || token.reveal().length >= LEAST_PUBLIC_TOKEN) return host;
  throw new OpenClawError("BIND_REFUSED", {
    message: `The gateway does not listen on ${host} with a token of fewer than ${LEAST_PUBLIC_TOKEN} characters.`,
    fix: "Take gateway.auth.token and OPENCLAW_GATEWAY_TOKEN out, so that a long one is made, or set gateway.bind to loopback.",
  });
}

function hostFor(bind: string, custom: string | undefined): string {
  if (bind === "lan") return "0.0.0.0";
  if (bind === "custom") {
    if (custom !== undefined) return custom;
    throw new OpenClawError("BIND_REFUSED", {
      message: 'The address "custom" needs one that is named.',
      fix: "First: openclaw config set gateway.customBindHost <IP address>",
    });
  }
  if (bind === "tailnet") return tailnetAddress();
  return "127.0.0.1";
}

/** The machine's Tailscale address: Tailscale assigns addresses of 100.64.0.0/10. Throws `BIND_REFUSED` without one. */
function tailnetAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.find(
    ({ address, family }) => family === "IPv4" && /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./.test(address),
  );
  if (found) return found.address;
  throw new OpenClawError("BIND_REFUSED", {
    message: 'gateway.bind is "tailnet", but this machine has no Tailscale address.',
    fix: "Start Tailscale, or set gateway.bind to loopback.",
  });
}

/** The agents, models and settings of this gateway, as the server shows them. */
const catalogOf = (parts: Parts): Catalog => ({
  agents: () => parts.live.agents.map(listedAgent),
  defaultAgent: parts.live.defaultAgent.id,
  models: () => parts.core.models.list(),
  forInput: async (agentId) => {
    const [{ shownModels }, { shownCommands }] = await Promise.all([
      import("./models/model-methods.ts"),
      import("./methods/command-methods.ts"),
    ]);
    return { models: await shownModels({ agentId }, parts), commands: shownCommands(parts, true) };
  },
  defaultModel: () => parts.model.info,
  settingsOf: (key) => settingsInForce(key, parts),
  rightsOf: (key) => rightsOf(key, parts),
});

/** The value with the names of the groups of sessions. */
const GROUPS = "session-groups";
const groupNames = z.array(z.string()).catch([]);

const groupsIn = (values: KeyValue): ServerPorts["sessionGroups"] => ({
  read: async () => groupNames.parse(JSON.parse((await values.get(GROUPS)) ?? "[]")),
  write: (names) => values.set(GROUPS, JSON.stringify(names)),
});

function listedAgent({ id, name, heartbeat }: AgentSettings): ReturnType<Catalog["agents"]>[number] {
  const named = { id, ...(name !== undefined && { name }) };
  if (!heartbeat) return named;
  const { everyMs, target, prompt, ackMaxChars } = heartbeat;
  return { ...named, heartbeat: { everyMs, target, ...(prompt !== undefined && { prompt }), ackMaxChars } };
}

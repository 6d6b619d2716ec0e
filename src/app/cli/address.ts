import { networkInterfaces } from "node:os";
import { OpenClawError } from "../../types/errors.ts";
import { Secret } from "../../types/secret.ts";
import { findGatewayPassword, findGatewayToken, PASSWORD_VARIABLE, TOKEN_VARIABLE } from "../config/gateway-login.ts";
import { remoteGateway } from "../config/remote.ts";
import type { Config } from "../config/schema/schema.ts";
import type { Io } from "./io.ts";
import type { State } from "./state.ts";

export interface GatewayFlags {
  readonly url?: string;
  readonly token?: string;
}

export interface Address {
  /** `ws://` or `wss://`. */
  readonly url: string;
  readonly token: Secret | undefined;
  readonly password?: Secret | undefined;
  /** Whether a flag or the environment gave it, so that it is not the gateway of this state directory. */
  readonly isElsewhere: boolean;
  /** Whether it is the gateway of this state directory and its port is not known yet. */
  readonly startingPid?: number;
  /** The state directory that the gateway must have: no lock says that it is the one at this address. */
  readonly stateDir?: string;
}

/**
 * The gateway's address and what it takes as login: of the flag, else of the config, else of the environment, else of the state
 * directory. A gateway elsewhere never gets the login of this machine's own: one of `gateway.remote` gets that of `gateway.remote`, and
 * any gets that of a flag or the environment. Throws `USAGE` on an invalid address.
 */
export async function findGateway(io: Io, state: State, flags: GatewayFlags = {}): Promise<Address> {
  const given = secretOf(flags.token);
  const url = flags.url ?? io.env["OPENCLAW_GATEWAY_URL"];
  if (url) {
    const token = given ?? secretOf(io.env[TOKEN_VARIABLE]);
    return { url: checkUrl(url), token, password: secretOf(io.env[PASSWORD_VARIABLE]), isElsewhere: true };
  }
  const remote = remoteGateway(state.config);
  if (!remote) return ownGateway(io, state, given);
  const token = given ?? remote.token ?? secretOf(io.env[TOKEN_VARIABLE]);
  const password = secretOf(io.env[PASSWORD_VARIABLE]) ?? remote.password;
  return { url: remote.url, token, password, isElsewhere: true };
}

/** The gateway of this state directory. */
async function ownGateway(io: Io, { owner, config, paths }: State, given: Secret | undefined): Promise<Address> {
  const port = owner?.port ?? config.gateway.port;
  return {
    url: `ws://${gatewayHost(config)}:${port}`,
    token: given ?? (await findGatewayToken(paths, config, io.env))?.token,
    password: findGatewayPassword(config, io.env),
    isElsewhere: false,
    ...(owner && owner.port === undefined && { startingPid: owner.pid }),
    ...(!owner && { stateDir: paths.stateDir }),
  };
}

function secretOf(text: string | undefined): Secret | undefined {
  const trimmed = text?.trim();
  return trimmed ? new Secret(trimmed) : undefined;
}

/** Whether the environment or the config names a gateway that is not the one of this state directory. */
export const isElsewhere = (io: Io, { config }: Pick<State, "config">): boolean =>
  Boolean(io.env["OPENCLAW_GATEWAY_URL"]) || remoteGateway(config) !== undefined;

/** Whether there is a gateway to ask instead of reading the files. */
export const hasGateway = (io: Io, state: State): boolean => isElsewhere(io, state) || state.owner !== undefined;

/** The host with which this machine reaches its own gateway, in brackets if a URL needs them. */
export function gatewayHost(config: Config): string {
  const { bind, customBindHost } = config.gateway;
  if (bind === "custom" && customBindHost !== undefined && !isEverywhere(customBindHost)) {
    return customBindHost.includes(":") ? `[${customBindHost}]` : customBindHost;
  }
  return bind === "tailnet" ? (tailnetAddress() ?? "127.0.0.1") : "127.0.0.1";
}

const isEverywhere = (host: string): boolean => host === "0.0.0.0" || host === "::";

/** Tailscale assigns addresses of 100.64.0.0/10. */
function tailnetAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.find(({ family, address }) => family === "IPv4" && isTailnet(address))?.address;
}

function isTailnet(address: string): boolean {
  const [first, second = 0] = address.split(".").map(Number);
  return first === 100 && second >= 64 && second < 128;
}

/** Throws `USAGE`. */
export function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "ws:" || url?.protocol === "wss:") return text;
  throw new OpenClawError("USAGE", {
    message: "The gateway's address is no ws:// or wss:// URL.",
    fix: "Write it as ws://127.0.0.1:18789.",
  });
}

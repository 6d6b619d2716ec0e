import { OpenClawError } from "../../types/errors.ts";
import type { Secret } from "../../types/secret.ts";
import type { Config } from "./schema/schema.ts";

/** A gateway elsewhere that commands talk to. */
export interface RemoteGateway {
  /** `ws://` or `wss://`. */
  readonly url: string;
  readonly token?: Secret | undefined;
  readonly password?: Secret | undefined;
}

/** The gateway that `gateway.mode: "remote"` names; undefined for a gateway on this machine. */
export function remoteGateway({ gateway: { mode, remote } }: Config): RemoteGateway | undefined {
  const { url, token, password } = remote;
  return mode === "remote" && url !== undefined ? { url, token, password } : undefined;
}

/** Throws CONFIG_INVALID where the config says that the gateway runs elsewhere: two gateways would answer the same chats. */
export function requireLocal({ gateway }: Config): void {
  if (gateway.mode !== "remote") return;
  throw new OpenClawError("CONFIG_INVALID", {
    message: `gateway.mode is "remote": commands talk to ${gateway.remote.url ?? "a gateway elsewhere"}, and none is started here.`,
    fix: "For a gateway on this machine: openclaw config set gateway.mode local",
  });
}

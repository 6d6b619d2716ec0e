import type { HooksConfig } from "./config.ts";

/** The programs that watch a mail account, each with its arguments. They hold secrets. */
export interface GmailPlan {
  readonly account: string;
  /** Arguments with which Tailscale passes notices on; undefined when another program does. */
  readonly tailscale?: readonly string[];
  /** Arguments that register the watch at Google, and renew it. */
  readonly start: readonly string[];
  readonly renewMs: number;
  /** Arguments of the watcher, which runs until it is ended. */
  readonly serve: readonly string[];
}

const USUAL_PATH = "/gmail-pubsub";

/**
 * The programs for `hooks.gmail`; undefined when no account is watched, and a text, the reason, when a setting is
 * missing.
 */
export function gmailPlan(hooks: HooksConfig, gatewayPort: number): GmailPlan | string | undefined {
  const { account, topic, pushToken, label, renewEveryMinutes } = hooks.gmail;
  if (account === undefined) return undefined;
  if (!hooks.enabled || !hooks.token) return "hooks.enabled is false, so the gateway takes no requests of the watcher";
  if (topic === undefined) return "hooks.gmail.topic is missing";
  if (!pushToken) return "hooks.gmail.pushToken is missing";
  return {
    account,
    ...tailscaleOf(hooks.gmail),
    start: ["gog", "gmail", "watch", "start", "--account", account, "--label", label, "--topic", topic],
    renewMs: renewEveryMinutes * 60_000,
    serve: [
      "gog",
      "gmail",
      "watch",
      "serve",
      "--account",
      account,
      ...serveArgs(hooks.gmail, pushToken.reveal()),
      ...reportArgs(hooks, hooks.token.reveal(), gatewayPort),
    ],
  };
}

type Gmail = HooksConfig["gmail"];

function tailscaleOf({ tailscale: { mode, path, target }, serve }: Gmail): Pick<GmailPlan, "tailscale"> {
  if (mode === "off") return {};
  return { tailscale: ["tailscale", mode, "--bg", "--set-path", path, "--yes", target ?? String(serve.port)] };
}

function serveArgs({ serve, tailscale }: Gmail, pushToken: string): readonly string[] {
  const path = serve.path ?? (tailscale.mode === "off" ? USUAL_PATH : "/");
  return ["--bind", serve.bind, "--port", String(serve.port), "--path", path, "--token", pushToken];
}

function reportArgs({ gmail, path }: HooksConfig, token: string, port: number): readonly string[] {
  const url = gmail.hookUrl ?? `http://127.0.0.1:${port}${path}/gmail`;
  const body = gmail.includeBody ? ["--include-body"] : [];
  return ["--hook-url", url, "--hook-token", token, ...body, "--max-bytes", String(gmail.maxBytes)];
}

import { z } from "zod";
import { about, milliseconds, secretField } from "../utils/config.ts";
import { isNetwork } from "./transport/peer.ts";

const rateLimit = z.strictObject({
  maxAttempts: z.int().min(1).default(10).meta(about("Attempts", "Wrong tokens from one address until it is locked.")),
  windowMs: milliseconds.default(60_000).meta(about("Window", "Milliseconds over which wrong tokens are counted.")),
  lockoutMs: milliseconds.default(300_000).meta(about("Lockout", "Milliseconds a locked address has to wait.")),
});

const auth = z.strictObject({
  mode: z
    .enum(["token", "password", "none", "trusted-proxy"])
    .optional()
    .meta(
      about(
        "Mode",
        "What a client may show: with `password` the password as well as the token, with `token` the token alone. When " +
          "unset, `password` where there is one. `none` and `trusted-proxy` are treated as `token`, with a warning.",
      ),
    ),
  token: secretField
    .optional()
    .meta(
      about("Token", "Shared token of clients. Made at the first start in `credentials/gateway-token` when unset."),
    ),
  password: secretField.optional().meta(about("Password", "Shared password of clients, for the mode `password`.")),
  rateLimit: rateLimit.prefault({}).meta(about("Rate limit", "How guessing is slowed down, on loopback too.")),
});

const controlUi = z.strictObject({
  enabled: z.boolean().default(true).meta(about("Chat page", "Serves the chat page at `/`.")),
  allowedOrigins: z
    .array(z.string())
    .prefault([])
    .meta(about("Allowed origins", "Further exact origins (`https://host:port`) whose pages may open a WebSocket.")),
});

const http = z.strictObject({
  endpoints: z
    .strictObject({
      chatCompletions: z
        .strictObject({
          enabled: z.boolean().default(true).meta(about("Enabled", "Serves `/v1/chat/completions` and `/v1/models`.")),
        })
        .prefault({})
        .meta(about("Chat completions", "The OpenAI-compatible endpoint.")),
    })
    .prefault({})
    .meta(about("Endpoints", "HTTP endpoints besides the page and health.")),
});

const reload = z.strictObject({
  mode: z
    .enum(["hybrid", "hot", "restart", "off"])
    .default("hybrid")
    .meta(
      about(
        "Mode",
        "What a changed config file does. `hybrid` and `hot` apply what can be applied while running and name the rest; " +
          "`restart` only names what changed; `off` does not watch the file.",
      ),
    ),
  debounceMs: milliseconds.default(300).meta(about("Debounce", "Milliseconds of quiet before the file is read again.")),
});

/** `gateway.*` */
export const gatewayConfig = z
  .strictObject({
    mode: z
      .enum(["local", "remote"])
      .default("local")
      .meta(about("Mode", "Where the gateway runs; always here, as `local` says.")),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .default(18_789)
      .meta(about("Port", "TCP port of HTTP and WebSocket; 0 takes a free one.")),
    bind: z
      .enum(["loopback", "lan", "auto", "custom", "tailnet"])
      .default("loopback")
      .meta(
        about(
          "Bind",
          "Where to listen: `loopback` 127.0.0.1, `lan` every interface, `tailnet` the Tailscale address, `custom` " +
            "`customBindHost`, `auto` loopback. Anything but loopback needs a token or password.",
        ),
      ),
    customBindHost: z.string().optional().meta(about("Bind host", 'IP address for `bind: "custom"`.')),
    auth: auth.prefault({}).meta(about("Auth", "Who may connect.")),
    trustedProxies: z
      .array(z.string().refine(isNetwork, { message: "is no IP address or network such as 10.0.0.0/8" }))
      .prefault([])
      .meta(
        about(
          "Trusted proxies",
          "IP addresses and networks (CIDR) of proxies in front of the gateway. The last address in their `X-Forwarded-For` " +
            "that is not one of them is the client's: wrong tokens and silent sockets are counted for it.",
        ),
      ),
    controlUi: controlUi.prefault({}).meta(about("Control UI", "The chat page in the browser.")),
    http: http.prefault({}).meta(about("HTTP", "HTTP endpoints.")),
    handshakeTimeoutMs: milliseconds
      .default(10_000)
      .meta(about("Handshake timeout", "Milliseconds a WebSocket may take to say who it is.")),
    reload: reload.prefault({}).meta(about("Reload", "What happens when the config file changes.")),
    adopt: z
      .boolean()
      .default(false)
      .meta(about("Adopt", "Starts channels although another program wrote this state directory last.")),
  })
  .refine((gateway) => gateway.bind !== "custom" || gateway.customBindHost !== undefined, {
    path: ["customBindHost"],
    message: 'is missing; bind "custom" needs it',
  })
  .refine(({ auth: { mode, password } }) => mode !== "password" || password !== undefined, {
    path: ["auth", "password"],
    message: 'is missing; mode "password" needs it',
  });

export type GatewayConfig = z.output<typeof gatewayConfig>;

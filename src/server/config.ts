import { z } from "zod";
import { about, atStart, milliseconds, secretField } from "../utils/config.ts";
import { isNetwork } from "./remote-peer.ts";

const rateLimit = z.strictObject({
  maxAttempts: z
    .int()
    .min(1)
    .default(10)
    .meta(about("Attempts", "Wrong tokens from one address after which the gateway locks it.")),
  windowMs: milliseconds
    .default(60_000)
    .meta(about("Window", "Milliseconds over which wrong tokens of one address are counted.")),
  lockoutMs: milliseconds.default(300_000).meta(about("Lockout", "Milliseconds for which an address stays locked.")),
});

const auth = z.strictObject({
  mode: z
    .enum(["token", "password", "none", "trusted-proxy"])
    .optional()
    .meta(
      about(
        "Mode",
        "How clients log in: `token` accepts the token, `password` accepts the token or the password. When unset, " +
          "`password` if a password is set, else `token`. `none` and `trusted-proxy` are treated as `token`, with a " +
          "warning.",
      ),
    ),
  token: secretField
    .optional()
    .meta(
      about(
        "Token",
        "Shared token of clients. When unset, the variable `OPENCLAW_GATEWAY_TOKEN` has it; when that is unset too, the first " +
          "start makes one in `credentials/gateway-token`.",
      ),
    ),
  password: secretField
    .optional()
    .meta(
      about(
        "Password",
        "Shared password of clients, for `mode: password`. When unset, the variable `OPENCLAW_GATEWAY_PASSWORD` has it.",
      ),
    ),
  rateLimit: rateLimit
    .prefault({})
    .meta(about("Rate limit", "Limits wrong tokens and passwords, from this machine too.")),
});

const push = z.strictObject({
  allowPrivateNetwork: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Private network",
        "Whether a push service may have an address of this machine or of a private network. A browser names its push service, and a client could name any server.",
      ),
    ),
});

/** Paths that the server answers itself, so that no page can be served below them. */
const OWN_ROOTS = /^\/(healthz|readyz|metrics|v1|tools)(\/|$)/i;

/** The base path as the server uses it: empty, or with a slash in front and none at the end. */
const basePath = z
  .string()
  .transform((text) =>
    text
      .trim()
      .replace(/^(?=[^/])/, "/")
      .replace(/\/+$/, ""),
  )
  .refine((path) => /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*$/.test(path), { message: "is no path such as /claw" })
  .refine((path) => !OWN_ROOTS.test(path), { message: "is a path that the gateway answers itself" });

const controlUi = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(
      about("Chat page", "Serves the chat page at `/`, or at the base path. Nothing answers there when it is off."),
    ),
  basePath: basePath
    .prefault("")
    .meta(
      about("Base path", "Path below which the page is served, such as `/claw`. Its WebSocket is there too.", "/claw"),
    ),
  root: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Root",
        "Folder with a Control UI of OpenClaw, such as `dist/control-ui` of its package, which is served in place of the " +
          "gateway's own page. A relative path starts at the config file's folder.",
      ),
    ),
  allowedOrigins: z
    .array(z.string())
    .prefault([])
    .meta(about("Allowed origins", "Additional exact origins (`https://host:port`) whose pages may open a WebSocket.")),
});

const http = z.strictObject({
  endpoints: z
    .strictObject({
      chatCompletions: z
        .strictObject({
          enabled: z.boolean().default(true).meta(about("Enabled", "Serves `/v1/chat/completions`.")),
          conversationHeaders: z
            .array(z.string().min(1))
            .prefault(["X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id", "X-Conversation-Id"])
            .meta(
              about(
                "Conversation headers",
                "Headers that name the conversation of a request, the first one that the request has. `x-openclaw-session-key` " +
                  "comes before them.",
              ),
            ),
          utilityModel: z
            .string()
            .regex(/^[^/]+\/.+$/, { error: "must be provider/model" })
            .optional()
            .meta(
              about(
                "Utility model",
                "Model that answers what clients ask for themselves, such as titles, tags and follow-up questions, and what they " +
                  "ask the model `openclaw/utility`. The agent's own model when unset.",
              ),
            ),
        })
        .prefault({})
        .meta(about("Chat completions", "The OpenAI-compatible endpoint.")),
      responses: z
        .strictObject({
          enabled: z.boolean().default(true).meta(about("Enabled", "Serves `/v1/responses`.")),
        })
        .prefault({})
        .meta(about("Responses", "The endpoint of OpenAI's Responses API.")),
    })
    .prefault({})
    .meta(about("Endpoints", "HTTP endpoints in addition to the page and health.")),
});

const httpTools = z.strictObject({
  allow: z
    .array(z.string())
    .prefault([])
    .meta(
      about(
        "Allowed tools",
        "Tools and groups that clients may call over HTTP although the gateway denies them by default, such as `exec` and " +
          "`write`. Wildcards lift nothing. The rules of `tools` and of the agent hold too.",
      ),
    ),
  deny: z
    .array(z.string())
    .prefault([])
    .meta(about("Denied tools", "Tools that no client may call over HTTP: names, groups and `*` wildcards.")),
});

const reload = z.strictObject({
  mode: z
    .enum(["hybrid", "hot", "restart", "off"])
    .default("hybrid")
    .meta(
      about(
        "Mode",
        "How the gateway handles a changed config file. `hybrid` and `hot` apply the changes that need no restart and " +
          "log the others. `restart` only logs the changes. `off` does not watch the file.",
      ),
    ),
  debounceMs: milliseconds
    .default(300)
    .meta(about("Debounce", "Milliseconds without a further change before the gateway reads the file again.")),
});

const remote = z.strictObject({
  url: z
    .string()
    .regex(/^wss?:\/\/\S+$/, { error: "must be a ws:// or wss:// URL" })
    .optional()
    .meta(about("URL", "Address of that gateway, such as `wss://gateway.example.org`.", "wss://gateway.example.org")),
  token: secretField
    .optional()
    .meta(about("Token", "Token of that gateway. When unset, the variable `OPENCLAW_GATEWAY_TOKEN` has it.")),
  password: secretField
    .optional()
    .meta(about("Password", "Password of that gateway. The variable `OPENCLAW_GATEWAY_PASSWORD` comes before it.")),
});

/** `gateway.*` */
export const gatewayConfig = z
  .strictObject({
    mode: z
      .enum(["local", "remote"])
      .default("local")
      .meta(
        atStart(
          about(
            "Mode",
            "Where the gateway runs: `local`, on this machine, or `remote`: commands talk to `gateway.remote.url`, and no gateway " +
              "is started here.",
          ),
        ),
      ),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .default(18_789)
      .meta(atStart(about("Port", "TCP port of HTTP and WebSocket; 0 takes a free port."))),
    bind: z
      .enum(["loopback", "lan", "auto", "custom", "tailnet"])
      .default("loopback")
      .meta(
        atStart(
          about(
            "Bind",
            "Address to listen on. `loopback` and `auto`: 127.0.0.1; `lan`: every interface; `tailnet`: the Tailscale " +
              "address; `custom`: `customBindHost`. Anything but loopback needs a token or password.",
          ),
        ),
      ),
    customBindHost: z
      .string()
      .optional()
      .meta(atStart(about("Bind host", 'IP address for `bind: "custom"`.'))),
    auth: auth.prefault({}).meta(atStart(about("Auth", "Login of clients."))),
    remote: remote.prefault({}).meta(about("Remote", "The gateway elsewhere that commands talk to in `mode: remote`.")),
    roles: z
      .looseObject({})
      .optional()
      .meta(
        atStart(
          about(
            "Roles",
            "Roles of people who sign in with a header of a proxy, which nobody does here. While it is set, a device needs the shared token or password: its own token says nothing of a person's role.",
          ),
        ),
      ),
    trustedProxies: z
      .array(z.string().refine(isNetwork, { message: "is no IP address or network such as 10.0.0.0/8" }))
      .prefault([])
      .meta(
        atStart(
          about(
            "Trusted proxies",
            "IP addresses and networks (CIDR) of proxies in front of the gateway. The gateway takes the last address in " +
              "their `X-Forwarded-For` that is not a proxy as the client's, and counts wrong tokens and silent sockets for " +
              "it.",
          ),
        ),
      ),
    controlUi: controlUi.prefault({}).meta(atStart(about("Control UI", "The chat page in the browser."))),
    tools: httpTools.prefault({}).meta(about("Tools", "Tools that clients call over HTTP (`POST /tools/invoke`).")),
    http: http.prefault({}).meta(atStart(about("HTTP", "HTTP endpoints."))),
    push: push.prefault({}).meta(about("Push", "Notifications of browsers whose page is closed.")),
    handshakeTimeoutMs: milliseconds
      .default(10_000)
      .meta(atStart(about("Handshake timeout", "Milliseconds within which a new WebSocket must send `connect`."))),
    reload: reload.prefault({}).meta(atStart(about("Reload", "How the gateway handles a changed config file."))),
    adopt: z
      .boolean()
      .default(false)
      .meta(
        atStart(
          about(
            "Adopt",
            "Starts channels on a state directory that another program wrote last, as `openclaw onboard --adopt` does without this key.",
          ),
        ),
      ),
  })
  .refine((gateway) => gateway.bind !== "custom" || gateway.customBindHost !== undefined, {
    path: ["customBindHost"],
    message: 'is missing; bind "custom" needs it',
  });

export type GatewayConfig = z.output<typeof gatewayConfig>;

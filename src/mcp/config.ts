import { z } from "zod";
import { about, milliseconds, secretField, secretText } from "../utils/config.ts";

const ssrfPolicy = z.strictObject({
  allowedHostnames: z
    .array(z.string())
    .prefault([])
    .meta(about("Allowed hosts", "Hosts that may have private addresses, such as `localhost`.")),
  dangerouslyAllowPrivateNetwork: z
    .boolean()
    .default(false)
    .meta(about("Private network", "Lets the server, and whatever it redirects to, have any private address.")),
});

const serverConfig = z
  .strictObject({
    enabled: z.boolean().default(true).meta(about("Enabled", "Off: the server is not started and has no tools.")),
    transport: z
      .enum(["stdio", "streamable-http", "sse"])
      .optional()
      .meta(
        about(
          "Transport",
          "How the server is reached. When unset: `stdio` with a command; with a URL `streamable-http`, and `sse` if the server does not know that.",
        ),
      ),
    command: z
      .string()
      .min(1)
      .optional()
      .meta(about("Command", "Program of a server on this machine, without a shell.")),
    args: z.array(secretText).prefault([]).meta(about("Arguments", "Arguments of the program.")),
    env: z
      .record(z.string(), secretText)
      .prefault({})
      .meta(about("Environment", "Variables for the program, in addition to the few that every command gets.")),
    cwd: z
      .string()
      .min(1)
      .optional()
      .meta(about("Directory", "Where the program starts; the home directory when unset.")),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .meta(about("URL", "Address of a server that is reached over HTTP.")),
    headers: z
      .record(z.string(), secretField)
      .prefault({})
      .meta(about("Headers", "HTTP headers of every request, such as `Authorization`.")),
    connectionTimeoutMs: milliseconds
      .default(30_000)
      .meta(about("Connection timeout", "Milliseconds for the start of the server and the list of its tools.")),
    requestTimeoutMs: milliseconds
      .default(60_000)
      .meta(about("Request timeout", "Milliseconds for one call of a tool.")),
    ssrfPolicy: ssrfPolicy
      .prefault({})
      .meta(about("Addresses", "Private addresses that the URL may lead to. Only public ones are allowed by default.")),
  })
  .refine(
    ({ command, url }) => (command === undefined) !== (url === undefined),
    "a server has either `command` or `url`",
  )
  .refine(
    ({ command, transport }) => transport === undefined || (command === undefined) === (transport !== "stdio"),
    "`transport` must be `stdio` with `command`, and `streamable-http` or `sse` with `url`",
  );

/** `mcp.*` */
export const mcpConfig = z.strictObject({
  servers: z
    .record(z.string().min(1).max(64), serverConfig)
    .prefault({})
    .meta(
      about("Servers", "Servers of the Model Context Protocol by name. Their tools are `<server>__<tool>`.", {
        files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "~/notes"] },
      }),
    ),
  sessionIdleTtlMs: milliseconds
    .default(600_000)
    .meta(about("Idle time", "Milliseconds without a call after which a server is stopped; 0 keeps it running.")),
});

export type McpConfig = z.output<typeof mcpConfig>;
export type McpServerConfig = z.output<typeof serverConfig>;

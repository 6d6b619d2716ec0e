import { REST, RequestMethod } from "@discordjs/rest";
import type { RawFile } from "@discordjs/rest";
import type { APIUser } from "discord-api-types/v10";
import { OpenClawError } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { DiscordConfig } from "./config.ts";
import { socketUrl } from "./frame.ts";

/** The bot itself. */
export interface Self {
  readonly id: string;
  readonly name: string;
}

export interface Call {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly files?: RawFile[];
}

const METHODS = {
  GET: RequestMethod.Get,
  POST: RequestMethod.Post,
  PUT: RequestMethod.Put,
  PATCH: RequestMethod.Patch,
  DELETE: RequestMethod.Delete,
} as const;
type Method = keyof typeof METHODS;

/** The longest wait of a read for a rate limit. */
const READ_WAIT_MS = 5000;

/** Whether an address holds its own token: calls there need no other, and a refused token there is not the bot's. */
export const hasOwnToken = (address: string): boolean => /\/(?:webhooks|interactions)\//.test(address);

/** Discord's REST API. Every call throws what `@discordjs/rest` throws; `failures.ts` reads that. */
export interface Api {
  /** Throws when the answer lacks what `SHAPES` requires for the route. */
  ask<T>(method: Method, route: `/${string}`, call?: Call): Promise<T>;
  /** A call whose answer nobody needs. */
  act(method: Method, route: `/${string}`, call?: Call): Promise<void>;
  readonly token: string;
  close(): void;
}

/** The signal ends reads; calls that change something finish. Throws `OpenClawError` when there is no token. */
export function openApi(config: DiscordConfig, signal: AbortSignal): Api {
  const token = readToken(config);
  const rest = new REST({
    api: config.apiUrl,
    version: "10",
    // The core retries sends and waits for rate limits, because it knows which sends queue up. Reads wait here, but not for long: what
    // needs one may have to go on without it.
    retries: 0,
    offset: 0,
    rejectOnRateLimit: ({ method, retryAfter, timeToReset }) =>
      method !== "GET" || Math.max(retryAfter, timeToReset) > READ_WAIT_MS,
    timeout: config.timeoutSeconds * 1000,
  }).setToken(token);
  const request = async (method: Method, fullRoute: `/${string}`, call: Call = {}): Promise<string> => {
    const { query, ...more } = call;
    // The library never removes its listener from a signal, so that each call gets its own.
    const ending = method === "GET" ? { signal: AbortSignal.any([signal]) } : {};
    // The library forgets the bot's token after a 401 to a call that was made with it.
    const options = { ...more, ...ending, fullRoute, method: METHODS[method], auth: !hasOwnToken(fullRoute) };
    const answer = await rest.queueRequest(query ? { ...options, query: new URLSearchParams(query) } : options);
    return answer.text();
  };
  return {
    token,
    ask: async <T>(...[method, route, call]: Parameters<Api["ask"]>) => {
      const answer = parse(await request(method, route, call));
      // The error does not name the route, which may hold a token.
      if (!isAnswer<T>(answer, route)) throw new Error(`Discord's answer to a ${method} cannot be read`);
      return answer;
    },
    act: async (method, route, call) => void (await request(method, route, call)),
    close() {
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
    },
  };
}

/** A session begun beyond `remaining` costs the bot its token. A server of your own may set no limit. */
const gatewayShape = z.looseObject({
  url: socketUrl,
  shards: z.int().min(1).optional(),
  session_start_limit: z
    .looseObject({ remaining: z.number(), reset_after: z.number(), max_concurrency: z.int().min(1).optional() })
    .optional(),
});
/** Discord's answer to a bot about its gateway. */
export type GatewayInfo = z.output<typeof gatewayShape>;

const withId = z.looseObject({ id: z.string().min(1) });
/**
 * Shapes that answers must have, by route; an object with an id where no row matches.
 * docs.discord.com/developers/reference
 */
const SHAPES: readonly (readonly [RegExp, z.ZodType])[] = [
  [/^\/gateway\/bot$/, gatewayShape],
  [/^\/users\/@me$/, withId.extend({ username: z.string() })],
  [/^\/guilds\/[^/]+\/members\/[^/]+$/, z.looseObject({ roles: z.array(z.string()) })],
  [/^\/guilds\/[^/]+$/, withId.extend({ roles: z.array(withId) })],
  // The answer has no messages while Discord still indexes the server.
  [
    /^\/guilds\/[^/]+\/messages\/search$/,
    z.looseObject({ messages: z.array(z.array(z.unknown())).optional(), retry_after: z.number().optional() }),
  ],
  [/^\/guilds\/[^/]+\/threads\/active$/, z.looseObject({ threads: z.array(withId) })],
  [/^\/guilds\/[^/]+\/emojis$/, z.array(z.looseObject({ name: z.string().nullable() }))],
  [/^\/channels\/[^/]+\/messages\/pins$/, z.looseObject({ items: z.array(z.looseObject({})) })],
  // A read answers with a list, a send with one message. `messagesOf` reads the entries: one odd message costs no other.
  [/^\/channels\/[^/]+\/messages$/, z.union([z.array(z.unknown()), withId])],
];

function isAnswer<T>(value: unknown, route: string): value is T {
  const [, shape] = SHAPES.find(([fits]) => fits.test(route)) ?? [undefined, withId];
  return shape.safeParse(value).success;
}

/** Undefined for text that is not JSON, such as a proxy's page. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readToken(config: DiscordConfig): string {
  const token = config.token
    ?.reveal()
    .trim()
    .replace(/^Bot\s+/, "");
  if (token !== undefined && token !== "") return token;
  throw new OpenClawError("CHANNEL_CONFIG", {
    message: "Discord has no bot token.",
    fix: "Set channels.discord.token to the token of the page Bot in the Discord developer portal.",
  });
}

/** Asks Discord who the token belongs to. */
export async function whoAmI(api: Api): Promise<Self> {
  return selfOf(await api.ask<APIUser>("GET", "/users/@me"));
}

export const selfOf = (user: Pick<APIUser, "id" | "username">): Self => ({ id: user.id, name: user.username });

import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServerConfig } from "../config.ts";
import { guardedFetch } from "../../utils/net/guarded-fetch.ts";
import { fetchWithLogin, type Login, LoginFile } from "./login-file.ts";
import { mcpLoginProvider } from "./provider.ts";

/** Bytes of an answer of the server of the logins. */
const MOST_BYTES = 1024 * 1024;

/** How a login talks with a person. */
export interface McpLoginTalk {
  /** Shows the address at which to log in. */
  show(url: URL): void;
  /** The address that a person pastes when the browser is on another machine; never resolves where nobody can. */
  pasted(signal: AbortSignal): Promise<string>;
  readonly signal: AbortSignal;
}

interface LoginWish {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly stateDir: string;
  readonly scope?: string | undefined;
  /** Port of this machine at which the browser comes back; any free one when unset. */
  readonly port?: number | undefined;
}

/** Logs in at a server and keeps the login; gives its file. Rejects with a text when it does not work; an earlier login then stays. */
export async function logIn({ name, config, stateDir, scope, port }: LoginWish, talk: McpLoginTalk): Promise<string> {
  const { auth } = await import("@modelcontextprotocol/sdk/client/auth.js");
  const serverUrl = new URL(config.url ?? "");
  const { allowedHostnames: privateHosts, dangerouslyAllowPrivateNetwork: allowPrivate } = config.ssrfPolicy;
  const guard = await guardedFetch({ maxBytes: MOST_BYTES, privateHosts, allowPrivate });
  const state = randomBytes(24).toString("base64url");
  const callback = await openCallback(state, port);
  // The login stays in memory until it is finished, so that nothing of an unfinished one is kept.
  let login: Login = {};
  const store = { read: async () => login, write: async (next: Login) => void (login = next) };
  const provider = mcpLoginProvider(store, { redirectUrl: callback.url, scope, state, open: (url) => talk.show(url) });
  const options = {
    serverUrl,
    fetchFn: fetchWithLogin(guard.fetch, serverUrl, []),
    ...(scope !== undefined && { scope }),
  };
  try {
    if ((await auth(provider, options)) === "REDIRECT") {
      const authorizationCode = await codeFrom(callback.brought, state, talk);
      await auth(provider, { ...options, authorizationCode });
    }
    const file = new LoginFile(stateDir, name, config.url ?? "");
    await file.write(login);
    return file.path;
  } finally {
    callback.close();
    await guard.close();
  }
}

async function codeFrom(
  brought: Promise<ReturnType<typeof broughtBy>>,
  state: string,
  { pasted, signal }: McpLoginTalk,
): Promise<string> {
  const over = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(new Error("nobody came back from the browser in time"));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const typed = pasted(over.signal).then((text) => {
    const address = URL.parse(text.trim());
    return (
      (address && broughtBy(address.searchParams, state)) ?? { refused: "the pasted address is not of this login" }
    );
  });
  try {
    const found = await Promise.race([brought, typed, stopped.promise]);
    if (found && "code" in found) return found.code;
    throw new Error(`the login was refused: ${found?.refused ?? "no code came back"}`);
  } finally {
    over.abort();
    signal.removeEventListener("abort", stop);
  }
}

/** Result of a login in the browser: a code, or why there is none. */
type Brought = { readonly code: string } | { readonly refused: string };

/** Waits on this machine for the browser after a login. */
interface Callback {
  /** Where the browser is to come back to. */
  readonly url: string;
  /** Resolves with the result of the first browser that knows the state. */
  readonly brought: Promise<Brought>;
  close(): void;
}

const PATH = "/callback";

/** Listens on this machine alone, at a free port unless one is given. Rejects when the port is taken. */
async function openCallback(state: string, port = 0): Promise<Callback> {
  const { promise: brought, resolve } = Promise.withResolvers<Brought>();
  const server = createServer((request, response) => {
    const address = URL.parse(request.url ?? "/", "http://127.0.0.1");
    const found = address?.pathname === PATH ? broughtBy(address.searchParams, state) : undefined;
    response.writeHead(found ? 200 : 404, { "content-type": "text/plain; charset=utf-8", connection: "close" });
    response.end(found ? PAGE : "Nothing is here.\n");
    if (found) resolve(found);
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  return { url: `http://127.0.0.1:${portOf(address)}${PATH}`, brought, close: () => void server.close() };
}

const PAGE = "You can close this window. The terminal says whether the login worked.\n";

const portOf = (address: AddressInfo | string | null): number =>
  address !== null && typeof address === "object" ? address.port : 0;

/** Result in an address that a browser came back to, or a person pasted; undefined without the state of this login. */
function broughtBy(given: URLSearchParams, state: string): Brought | undefined {
  if (given.get("state") !== state) return undefined;
  const code = given.get("code");
  return code === null ? { refused: given.get("error") ?? "no code came back" } : { code };
}

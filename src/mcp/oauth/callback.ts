import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What the browser brings back: a code, or why there is none. */
type Brought = { readonly code: string } | { readonly refused: string };

/** Waits on this machine for the browser after a login. */
export interface Callback {
  /** Where the browser is to come back to. */
  readonly url: string;
  /** Resolves with what the first browser brings that knows the state. */
  readonly brought: Promise<Brought>;
  close(): void;
}

const PATH = "/callback";

/** Listens on this machine alone, at a free port unless one is given. Rejects when the port is taken. */
export async function openCallback(state: string, port = 0): Promise<Callback> {
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

/** What an address brings that a browser came back to, or a person pasted; undefined without the state of this login. */
export function broughtBy(given: URLSearchParams, state: string): Brought | undefined {
  if (given.get("state") !== state) return undefined;
  const code = given.get("code");
  return code === null ? { refused: given.get("error") ?? "no code came back" } : { code };
}

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Answer = (asked: Asked, response: ServerResponse) => void;

async function listen(answer: Answer) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const one = { path: `${request.method} ${request.url}`, headers: request.headers, body };
      asked.push(one);
      answer(one, response);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const json = (response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void =>
  void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));

export interface LoginServers {
  /** Address of the MCP server, which wants a login. */
  readonly url: string;
  /** What the MCP server, and the server of its logins, were asked. */
  readonly mcp: readonly Asked[];
  readonly logins: readonly Asked[];
  /** The tokens that the MCP server takes. */
  readonly valid: Set<string>;
  /** What becomes of whoever opens the address of a login: where the browser ends. */
  browse(address: URL): Promise<URL>;
  /** The person refuses from now on. */
  refuse(): void;
  /** Tokens for renewals that were used already. */
  readonly reused: readonly string[];
}

/** An MCP server that wants a login, and the server of its logins, which takes each token for renewals once. */
export async function startLoginServers(): Promise<LoginServers> {
  const valid = new Set<string>();
  const challenges = new Map<string, string>();
  const renewals = new Set<string>();
  const reused: string[] = [];
  let isRefusing = false;
  let count = 0;

  const granted = () => {
    count += 1;
    const [access, refresh] = [`access-token-${count}`, `refresh-token-${count}`];
    valid.add(access);
    renewals.add(refresh);
    return { access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 3600 };
  };

  const tokenFor = (form: URLSearchParams): object | undefined => {
    if (form.get("grant_type") === "refresh_token") {
      const token = form.get("refresh_token") ?? "";
      if (renewals.delete(token)) return granted();
      reused.push(token);
      return undefined;
    }
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return challenges.get(form.get("code") ?? "") === challenge ? granted() : undefined;
  };

  const logins = await listen(({ path, body }, response) => {
    if (path.startsWith("GET /.well-known/oauth-authorization-server"))
      return json(response, {
        issuer: logins.url,
        authorization_endpoint: `${logins.url}/authorize`,
        token_endpoint: `${logins.url}/token`,
        registration_endpoint: `${logins.url}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
      });
    if (path === "POST /register")
      return json(response, { ...(JSON.parse(body) as object), client_id: "client-1" }, 201);
    if (path.startsWith("GET /authorize")) {
      const asked = new URL(path.slice("GET ".length), logins.url).searchParams;
      const back = new URL(asked.get("redirect_uri") ?? "");
      back.searchParams.set("state", asked.get("state") ?? "");
      const code = `code-${challenges.size}`;
      if (isRefusing) back.searchParams.set("error", "access_denied");
      else {
        challenges.set(code, asked.get("code_challenge") ?? "");
        back.searchParams.set("code", code);
      }
      return void response.writeHead(302, { location: back.href }).end();
    }
    if (path === "POST /token") {
      const found = tokenFor(new URLSearchParams(body));
      return found ? json(response, found) : json(response, { error: "invalid_grant" }, 400);
    }
    return json(response, {}, 404);
  });

  const mcp = await listen(({ path, headers, body }, response) => {
    if (path.startsWith("GET /.well-known/oauth-protected-resource"))
      return json(response, { resource: `${mcp.url}/mcp`, authorization_servers: [logins.url] });
    if (!path.endsWith("/mcp")) return json(response, {}, 404);
    if (!valid.has((headers.authorization ?? "").replace("Bearer ", ""))) {
      const metadata = `Bearer resource_metadata="${mcp.url}/.well-known/oauth-protected-resource"`;
      return json(response, { error: "unauthorized" }, 401, { "www-authenticate": metadata });
    }
    if (path !== "POST /mcp") return json(response, {}, 405);
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    return json(response, { jsonrpc: "2.0", id, result: RESULTS[method] ?? {} });
  });

  return {
    url: `${mcp.url}/mcp`,
    mcp: mcp.asked,
    logins: logins.asked,
    valid,
    reused,
    refuse: () => void (isRefusing = true),
    async browse(address) {
      const answer = await fetch(address, { redirect: "manual" });
      return new URL(answer.headers.get("location") ?? "");
    },
  };
}

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "guarded", version: "1" },
  },
  "tools/list": { tools: [{ name: "whoami", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "You are Ada." }] },
};

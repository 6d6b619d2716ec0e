import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mcpConfig } from "../../../src/mcp/config.ts";
import { logIn, type McpLoginTalk } from "../../../src/mcp/oauth/log-in.ts";
import { Secret } from "../../../src/types/secret.ts";
import { newDir, textOf, world } from "../kit.ts";
import { startLoginServers, type LoginServers } from "./server.ts";

const LOCAL = { allowedHostnames: ["127.0.0.1"] };
const serverAt = (url: string, more: object = {}) => ({ url, ssrfPolicy: LOCAL, ...more });
const never = (): Promise<string> => new Promise(() => undefined);

/** A person who opens the address in a browser of this machine. */
const inBrowser = ({ browse }: LoginServers): McpLoginTalk => ({
  show: (address) => void browse(address).then((back) => fetch(back)),
  pasted: never,
  signal: new AbortController().signal,
});

function logInAt(servers: LoginServers, stateDir: string, talk = inBrowser(servers)): Promise<string> {
  const { servers: parsed } = mcpConfig.parse({ servers: { guarded: serverAt(servers.url) } });
  return logIn({ name: "guarded", config: parsed["guarded"]!, stateDir }, talk);
}

test("a login in the browser is kept, for the gateway alone, and its server answers", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  const path = await logInAt(servers, dir);
  expect(path).toMatch(/credentials\/mcp\/guarded-[0-9a-f]{16}\.json$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, "credentials", "mcp")).mode & 0o777).toBe(0o700);
  const { call, log } = world({ servers: { guarded: serverAt(servers.url) } }, {}, dir);
  expect(textOf(await call("guarded__whoami"))).toContain("You are Ada.");
  // What the log and errors show of it.
  expect(Secret.mask("access-token-1 refresh-token-1")).toBe("[secret] [secret]");
  expect(JSON.stringify(log.lines)).not.toContain("access-token");
});

test("without a login the failure names the command, and nothing is registered", async () => {
  const servers = await startLoginServers();
  const { names, servers: all } = world({ servers: { guarded: serverAt(servers.url) } });
  expect(await names()).toEqual([]);
  expect(all.failures()).toEqual([{ server: "guarded", why: "it wants a login: run openclaw mcp login guarded" }]);
  expect(servers.logins).toEqual([]);
});

test("a login is renewed once for calls at the same moment, without headers of the config", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  const path = await logInAt(servers, dir);
  const guarded = serverAt(servers.url, { headers: { "X-Key": "key-of-the-config" } });
  const { call, names } = world({ servers: { guarded } }, {}, dir);
  await names();
  servers.valid.clear();
  const said = await Promise.all([1, 2, 3, 4].map(() => call("guarded__whoami")));
  expect(said.map(textOf).every((text) => text.includes("You are Ada."))).toBe(true);
  expect(servers.reused).toEqual([]);
  expect(servers.logins.filter(({ path: asked }) => asked === "POST /token")).toHaveLength(2);
  expect(readFileSync(path, "utf8")).toContain("refresh-token-2");
  expect(servers.mcp.at(-1)?.headers["x-key"]).toBe("key-of-the-config");
  expect(servers.logins.filter(({ headers }) => "x-key" in headers)).toEqual([]);
});

test("processes that renew the same login at the same moment use its token once, and all go on", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  const path = await logInAt(servers, dir);
  const config = { servers: { guarded: serverAt(servers.url) } };
  const all = [1, 2, 3].map(() => world(config, {}, dir));
  await Promise.all(all.map(({ names }) => names()));
  servers.valid.clear();
  const said = await Promise.all(all.map(({ call }) => call("guarded__whoami")));
  expect(said.map(textOf).filter((text) => !text.includes("You are Ada."))).toEqual([]);
  expect(servers.reused).toEqual([]);
  expect(readFileSync(path, "utf8")).toContain("refresh-token-2");
});

test("a login that is not taken any more asks for another one, and the gateway sends nobody to a browser", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  const path = await logInAt(servers, dir);
  const { call, names, servers: all } = world({ servers: { guarded: serverAt(servers.url) } }, {}, dir);
  await names();
  servers.valid.clear();
  // Somebody else has used it.
  await fetch(
    new URL(
      "/token",
      new URL(servers.logins[0]!.headers.host === undefined ? "" : `http://${servers.logins[0]!.headers.host}`),
    ),
    {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: "refresh-token-1" }),
    },
  );
  servers.valid.clear();
  expect(textOf(await call("guarded__whoami"))).toContain("openclaw mcp login guarded");
  expect(all.failures()[0]?.why).toContain("openclaw mcp login guarded");
  expect(readFileSync(path, "utf8")).not.toContain("access-token");
});

test("a login is for one address, and counts where the config has none", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  await logInAt(servers, dir);
  const other = world({ servers: { guarded: serverAt(`${servers.url}?other`) } }, {}, dir);
  expect(await other.names()).toEqual([]);
  servers.valid.add("own-token");
  const headers = { authorization: "Bearer own-token" };
  const own = world({ servers: { guarded: serverAt(servers.url, { headers }) } }, {}, dir);
  expect(await own.names()).toContain("guarded__whoami");
  expect(servers.mcp.at(-1)?.headers.authorization).toBe("Bearer own-token");
});

test("a refused login is told, and leaves the earlier one; so does one that nobody finishes", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  const path = await logInAt(servers, dir);
  const before = readFileSync(path, "utf8");
  servers.refuse();
  await expect(logInAt(servers, dir)).rejects.toThrow("the login was refused: access_denied");
  const silent = { show: () => undefined, pasted: never, signal: AbortSignal.timeout(200) };
  await expect(logInAt(servers, dir, silent)).rejects.toThrow("nobody came back from the browser in time");
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(join(dir, "credentials", "mcp"))).toHaveLength(1);
});

test("only the browser of this login is believed; its address can also be pasted", async () => {
  const servers = await startLoginServers();
  const dir = newDir();
  const shown = Promise.withResolvers<URL>();
  const talk: McpLoginTalk = {
    show: (address) => shown.resolve(address),
    async pasted() {
      const address = await shown.promise;
      const back = new URL(address.searchParams.get("redirect_uri") ?? "");
      for (const query of ["?code=stolen", "?code=stolen&state=guessed", ""])
        expect((await fetch(`${back.origin}/callback${query}`)).status).toBe(404);
      return (await servers.browse(address)).href;
    },
    signal: new AbortController().signal,
  };
  expect(readFileSync(await logInAt(servers, dir, talk), "utf8")).toContain("access-token-1");
});

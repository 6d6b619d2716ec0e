import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { startLoginServers } from "../../mcp/oauth/server.ts";
import { until } from "../../kit/until.ts";
import { test } from "../../kit/gateway/world.ts";

const BIN = join(import.meta.dirname, "../../../bin/openclaw.mjs");

/** The built command, which waits for a browser. */
function logIn(stateDir: string) {
  const env = { ...process.env, OPENCLAW_STATE_DIR: stateDir };
  const child = spawn(process.execPath, [BIN, "mcp", "login", "guarded"], { env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said.text += String(chunk)));
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { said, code };
}

describe("an MCP server that wants a login", () => {
  test("is named with the command, answers after the login, and no more after the logout", async ({
    world,
    expect,
  }) => {
    const servers = await startLoginServers();
    const guarded = { url: servers.url, ssrfPolicy: { allowedHostnames: ["127.0.0.1"] } };
    const { home } = await world.start({ commands: { ownerAllowFrom: ["1001"] }, mcp: { servers: { guarded } } });
    const before = await home.run(["mcp", "probe"]);
    expect(before.code).toBe(1);
    expect(before.stdout).toContain("it wants a login: run openclaw mcp login guarded");

    const login = logIn(home.stateDir);
    await until(() => /https?:\S+\/authorize\S+/.test(login.said.text), "the address");
    const address = /https?:\S+\/authorize\S+/.exec(login.said.text)?.[0] ?? "";
    await fetch(await servers.browse(new URL(address)));
    expect(await login.code, login.said.text).toBe(0);
    expect(login.said.text).toContain("a running gateway uses it from the next call on");
    expect(login.said.text).not.toContain("access-token");
    expect((await home.run(["mcp", "probe"])).stdout).toContain("guarded__whoami");

    expect((await home.run(["mcp", "logout", "guarded"])).stdout).toContain("is removed from this machine");
    expect((await home.run(["mcp", "logout", "guarded"])).stdout).toContain("There was no login");
    expect((await home.run(["mcp", "probe"])).code).toBe(1);
    const none = await home.run(["mcp", "login", "nobody"]);
    expect(none.stderr).toContain("The config has no MCP server nobody");
  });

  test("is used by a running gateway once somebody has logged in", async ({ world, expect }) => {
    const servers = await startLoginServers();
    const guarded = { url: servers.url, ssrfPolicy: { allowedHostnames: ["127.0.0.1"] } };
    const home = await world.home(
      world.config({ commands: { ownerAllowFrom: ["1001"] }, mcp: { servers: { guarded } } }),
    );
    const login = logIn(home.stateDir);
    await until(() => /\/authorize\S+/.test(login.said.text), "the address");
    await fetch(await servers.browse(new URL(/https?:\S+\/authorize\S+/.exec(login.said.text)?.[0] ?? "")));
    expect(await login.code, login.said.text).toBe(0);
    const gateway = await home.start();
    world.model.answer(({ isAfterTool, toolText }) =>
      isAfterTool ? { text: /You are \w+\./.exec(toolText)?.[0] ?? toolText } : { tool: "guarded__whoami", args: {} },
    );
    world.telegram.say("who am I there?");
    await world.told("You are Ada.");
    // A token that is not taken any more is renewed during the next call.
    servers.valid.clear();
    world.telegram.say("and now?");
    await until(() => servers.logins.filter(({ path }) => path === "POST /token").length === 2, "the renewal");
    await world.telegram.waitFor(({ text }) => text === "You are Ada.");
    expect(gateway.output).not.toContain("access-token");
  });
});

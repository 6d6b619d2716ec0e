import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { expect, test } from "vitest";
import { run, stateDir } from "../../../kit/gateway/cli.ts";

const at = (config?: string) => {
  const dir = stateDir(config);
  const path = join(dir, "openclaw.json");
  return { dir, env: { OPENCLAW_STATE_DIR: dir }, text: () => readFileSync(path, "utf8"), has: () => existsSync(path) };
};

test("setup makes config, workspace and session folders, and nothing more; what is there stays", async () => {
  const { dir, env, text } = at();
  const made = await run(["setup", "--baseline"], env);
  expect([made.code, made.err]).toEqual([0, expect.stringContaining("openclaw onboard")]);
  expect(JSON5.parse(text())).toEqual({ gateway: { mode: "local" }, session: { dmScope: "per-channel-peer" } });
  for (const place of ["workspace/AGENTS.md", "sessions", "credentials/gateway-token"])
    expect(existsSync(join(dir, place)), place).toBe(true);
  const before = text();
  const asJson = await run(["setup", "--json"], env);
  expect(JSON.parse(asJson.out)).toEqual({
    ok: true,
    configPath: join(dir, "openclaw.json"),
    workspace: join(dir, "workspace"),
    sessionsDir: join(dir, "sessions"),
  });
  expect(text()).toBe(before);
});

test("setup keeps the comments of a config, and refuses one with a problem", async () => {
  const { env, text, dir } = at("{\n  // mine\n  logging: { level: 'warn' },\n}\n");
  expect(await run(["setup", "--workspace", join(dir, "desk")], env)).toMatchObject({ code: 0 });
  expect(text()).toContain("// mine");
  expect(JSON5.parse(text())).toMatchObject({
    agents: { defaults: { workspace: "desk" } },
    gateway: { mode: "local" },
  });
  const broken = at("{ gateway: ");
  expect(await run(["setup"], broken.env)).toMatchObject({ code: 78, err: expect.stringContaining("openclaw doctor") });
  expect(broken.text()).toBe("{ gateway: ");
});

test.each([
  ["workspace", "agents.defaults.workspace"],
  ["model", "openclaw models auth add"],
  ["web", "tools.web.search.provider"],
  ["gateway", "gateway.port"],
  ["daemon", "openclaw gateway install"],
  ["channels", "openclaw channels add"],
  ["plugins", "openclaw plugins enable"],
  ["skills", "skills.entries"],
  ["health", "openclaw doctor"],
])("configure --section %s names its commands where there is nobody to ask", async (section, command) => {
  const { env, has } = at();
  const { code, out, err } = await run(["configure", "--section", section], env);
  expect([code, out, err, has()]).toEqual([2, "", expect.stringContaining(command), false]);
});

test("configure names all commands without a section, and the sections for a wrong one", async () => {
  const { env } = at();
  const all = await run(["configure"], env);
  expect([all.code, all.err]).toEqual([2, expect.stringMatching(/models set[\s\S]*gateway install/)]);
  const wrong = await run(["configure", "--section", "colours"], env);
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("Sections: workspace, model, web")]);
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { shownConfig } from "../../../src/app/config/shown.ts";
import { Secret } from "../../../src/types/secret.ts";
import { writeConfigValue } from "../../../src/app/config/edit/write.ts";

let path = "";
let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "config-shown-"));
  path = join(dir, "openclaw.json");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const EVERYWHERE = {
  gateway: { auth: { token: "CANARY-token-1" } },
  models: {
    providers: {
      a: {
        baseUrl: "https://me:CANARY-base-2@llm.example/v1",
        apiKey: "CANARY-key-3",
        headers: { Authorization: "Bearer CANARY-header-4" },
        models: [{ id: "m" }],
      },
    },
  },
  channels: {
    telegram: { botToken: "${BOT}", proxy: "socks5://u:CANARY-proxy-5@127.0.0.1:1", accessKey: "CANARY-access-6" },
    signal: { httpUrl: "http://u:CANARY-signal-7@127.0.0.1:2", pat: "CANARY-pat-8" },
  },
  plugins: {
    entries: { p: { env: { ANY: "CANARY-env-9" }, config: { url: "https://x.example/?api_key=CANARY-param-10" } } },
  },
  tools: { media: { audio: { headers: { "x-any": "CANARY-header-11" } } } },
};

describe("the config as clients see it", () => {
  it("has no secret, whether its place is known here or not", async () => {
    writeFileSync(path, JSON.stringify(EVERYWHERE));
    const { config } = await loadConfig({ path, env: { BOT: "CANARY:bot-12" } });
    const shown = JSON.stringify(shownConfig(config));
    expect(shown).not.toContain("CANARY");
    expect(shown).toContain("https://[secret]@llm.example/v1");
    expect(JSON.stringify(shownConfig(EVERYWHERE))).not.toContain("CANARY-");
  });

  it("has no secret of a plugin's own settings, whose keys have no types here", async () => {
    const config = {
      tokens: ["CANARY-list-1"],
      credentials: { user: "CANARY-user-2", more: [{ pass: "CANARY-pass-3" }] },
      refresh_token: { value: "CANARY-value-4" },
      apiKeys: { main: "CANARY-main-5" },
      password: 1234567890123,
      key: "sk-0123456789abcdef0123456789",
      title: "Mine",
      most: 5,
    };
    const file = { plugins: { entries: { p: { config } } } };
    writeFileSync(path, JSON.stringify(file));
    const loaded = await loadConfig({ path, env: {} });
    for (const shown of [shownConfig(file), shownConfig(loaded.config)].map((value) => JSON.stringify(value))) {
      expect(shown).not.toMatch(/CANARY|1234567890123|sk-0/);
      expect(shown).toContain('"title":"Mine","most":5');
    }
    expect(Secret.mask("it says CANARY-pass-3 and sk-0123456789abcdef0123456789")).toBe(
      "it says [secret] and [secret]",
    );
  });

  it("has no secret that is an argument of a command", async () => {
    const args = ["--api-key", "CANARY-arg-1", "--token=CANARY-arg-2", "-password", "CANARY-arg-3", "--port", "8080"];
    const file = {
      mcp: {
        servers: {
          a: { command: "x", args },
          b: {
            command: "x",
            args: ["API_KEY=CANARY-arg-6", "https://x:CANARY-arg-7@a.example", "--token", "${HIDDEN}"],
          },
        },
      },
      audio: {
        transcription: {
          command: ["curl", "-H", "Authorization: Bearer CANARY-arg-4", "-d", '{"secret":"CANARY-arg-5"}'],
        },
      },
    };
    writeFileSync(path, JSON.stringify(file));
    const loaded = await loadConfig({ path, env: { HIDDEN: "CANARY-arg-8" } });
    for (const shown of [shownConfig(file), shownConfig(loaded.config)].map((value) => JSON.stringify(value))) {
      expect(shown).not.toContain("CANARY");
      expect(shown).toContain('"--port","8080"');
    }
    for (const secret of ["CANARY-arg-1", "CANARY-arg-2", "CANARY-arg-4", "CANARY-arg-5"])
      expect(Secret.mask(`it says ${secret}`)).toBe("it says [secret]");
  });

  it("shows what is no secret", () => {
    const words = [
      "-v",
      "--token-limit",
      "500",
      "tokens: 5",
      "Bearer authentication",
      "--auth=${TOKEN}",
      "a=b",
      "--key",
      "x",
    ];
    expect(shownConfig(words)).toEqual(words);
    const plain = { agents: { defaults: { contextTokens: 1 } }, auth: { profiles: { "a:b": { mode: "token" } } } };
    expect(shownConfig(plain)).toEqual(plain);
  });

  it("is never written back with a placeholder in place of a secret", async () => {
    const text = JSON.stringify(EVERYWHERE);
    writeFileSync(path, text);
    const options = { path, env: { BOT: "1:2" } };
    for (const value of ["[secret]", "https://[secret]@llm.example/v1", [{ apiKey: "[secret]" }]])
      await expect(writeConfigValue(options, ["models", "providers", "a", "baseUrl"], value)).rejects.toMatchObject({
        code: "USAGE",
      });
    expect(readFileSync(path, "utf8")).toBe(text);
  });
});

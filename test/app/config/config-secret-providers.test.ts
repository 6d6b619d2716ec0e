import {
  chmodSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfigText } from "../../kit/config-text.ts";
import { withFix } from "../../../src/types/errors.ts";

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "secret-providers-")));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text: string, mode = 0o600): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

/** The token that a config with this reference has; the error's text with its fix when there is none. */
async function tokenOf(ref: unknown, secrets: object, env: Record<string, string> = {}): Promise<string | undefined> {
  const text = JSON.stringify({ secrets, gateway: { auth: { token: ref } } });
  try {
    const { config } = await loadConfigText(text, { path: join(dir, "openclaw.json"), env });
    return config.gateway.auth.token?.reveal();
  } catch (error) {
    return withFix(error);
  }
}

const fileRef = (id: string, provider = "vault") => ({ source: "file", provider, id });

describe("a file of secrets", () => {
  it("gives the text at a JSON pointer, with its escapes", async () => {
    const path = put("secrets.json", JSON.stringify({ a: { "b/c": "one-secret-text", "~x": "other-secret" } }));
    const secrets = { providers: { vault: { source: "file", path } } };
    expect(await tokenOf(fileRef("/a/b~1c"), secrets)).toBe("one-secret-text");
    expect(await tokenOf(fileRef("/a/~0x"), secrets)).toBe("other-secret");
  });

  it("gives its only value in the mode singleValue, without the line end", async () => {
    const path = put("token", "single-secret\n");
    const secrets = { providers: { vault: { source: "file", path, mode: "singleValue" } } };
    expect(await tokenOf(fileRef("value"), secrets)).toBe("single-secret");
    expect(await tokenOf(fileRef("/other"), secrets)).toContain('its id is "value"');
  });

  it("is the default one of its source where the reference names none", async () => {
    put("secrets.json", JSON.stringify({ token: "of-the-default" }));
    const command = put("program", "#!/bin/sh\necho of-the-program", 0o700);
    const providers = {
      vault: { source: "file", path: "~/secrets.json" },
      program: { source: "exec", command, jsonOnly: false },
      list: { source: "env", allowlist: [] },
    };
    const secrets = { providers, defaults: { file: "vault", exec: "program", env: "list" } };
    expect(await tokenOf({ source: "file", id: "/token" }, secrets, { HOME: dir })).toBe("of-the-default");
    expect(await tokenOf({ source: "exec", id: "token" }, secrets)).toBe("of-the-program");
    expect(await tokenOf({ source: "env", id: "TOKEN" }, secrets, { TOKEN: "of-the-list" })).toContain("allowlist");
  });

  it.each([
    ["that is missing", "none.json", "there is no such file"],
    ["that others may read", "open.json", "chmod 600"],
    ["that is a link", "link.json", "is a link"],
    ["with a second name", "hard.json", "second name"],
    ["that is no JSON", "text.json", "no JSON object"],
    ["that is too large", "big.json", "larger than 20 bytes"],
    ["without the value", "empty.json", "has no text at /token"],
  ])("%s is refused with the reason, and never shown", async (_what, name, reason) => {
    put("open.json", '{"token":"a-secret"}', 0o644);
    symlinkSync(put("real.json", '{"token":"a-secret"}'), join(dir, "link.json"));
    linkSync(put("first.json", '{"token":"a-secret"}'), join(dir, "hard.json"));
    put("text.json", "a-secret");
    put("big.json", '{"token":"a-secret, and a long one"}');
    put("empty.json", "{}");
    const maxBytes = name === "big.json" ? { maxBytes: 20 } : {};
    const secrets = { providers: { vault: { source: "file", path: join(dir, name), ...maxBytes } } };
    const told = await tokenOf(fileRef("/token"), secrets);
    expect(told).toContain(reason);
    expect(told).not.toContain("a-secret");
    expect(told, "a file is mended in the file").not.toMatch(/variable/i);
  });
});

describe("a program with secrets", () => {
  const program = (body: string, mode = 0o700) => put("program", `#!${process.execPath}\n${body}`, mode);
  /** Answers with what it was asked, and notes each time that it runs. */
  const ECHO = `
    const fs = require("node:fs"); let text = ""; process.stdin.on("data", (part) => (text += part));
    process.stdin.on("end", () => {
      fs.appendFileSync(process.argv[2], text + "\\n" + JSON.stringify(process.env) + "\\n");
      const { ids } = JSON.parse(text);
      const values = Object.fromEntries(ids.filter((id) => !id.startsWith("no/")).map((id) => [id, "secret-of-" + id]));
      console.log(JSON.stringify({ protocolVersion: 1, values, errors: { "no/such": { code: "NOT_FOUND", message: "a-secret" } } }));
    });`;
  const execRef = (id: string) => ({ source: "exec", provider: "vault", id });

  it("runs once for all references, with the protocol's request and only the variables that it is given", async () => {
    const log = join(dir, "log");
    const vault = {
      source: "exec",
      command: program(ECHO),
      args: [log],
      passEnv: ["ADDRESS", "UNSET"],
      env: { MODE: "x" },
    };
    const text = JSON.stringify({
      secrets: { providers: { vault } },
      gateway: { auth: { token: execRef("gateway/token") } },
      models: { providers: { a: { baseUrl: "http://127.0.0.1:1", apiKey: execRef("a#key"), models: [] } } },
    });
    const { config } = await loadConfigText(text, {
      path: join(dir, "openclaw.json"),
      env: { ADDRESS: "here", OTHER: "not passed" },
    });
    expect(config.gateway.auth.token?.reveal()).toBe("secret-of-gateway/token");
    const [request = "", env = "", ...more] = readFileSync(log, "utf8").trim().split("\n");
    expect(JSON.parse(request)).toEqual({ protocolVersion: 1, provider: "vault", ids: ["gateway/token", "a#key"] });
    expect(JSON.parse(env)).toMatchObject({ ADDRESS: "here", MODE: "x" });
    expect(env).not.toContain("not passed");
    expect(more).toEqual([]);
  });

  it("may give one secret as plain text where the config allows it", async () => {
    const command = program('process.stdin.resume(); console.log("plain-secret");');
    const vault = { source: "exec", command };
    expect(await tokenOf(execRef("x"), { providers: { vault: { ...vault, jsonOnly: false } } })).toBe("plain-secret");
    expect(await tokenOf(execRef("x"), { providers: { vault } })).toContain("no JSON object");
  });

  it.each([
    ["that says it has none", ECHO, { ref: execRef("no/such"), reason: "has no no/such: NOT_FOUND" }],
    ["that is asked for a way out", ECHO, { ref: execRef("a/../b"), reason: "no id that a program is asked for" }],
    [
      "that fails",
      'process.stdin.resume(); console.log("a-secret"); process.exit(3)',
      { ref: execRef("x"), reason: "exit code 3" },
    ],
    [
      "that never ends",
      "setInterval(() => {}, 1000)",
      { ref: execRef("x"), timeoutMs: 200, reason: "did not end within 200 ms" },
    ],
    [
      "that says nothing",
      "setInterval(() => {}, 1000)",
      { ref: execRef("x"), noOutputTimeoutMs: 200, reason: "said nothing for 200 ms" },
    ],
    [
      "that says too much",
      'console.log("a-secret".repeat(100))',
      { ref: execRef("x"), maxOutputBytes: 50, reason: "more than 50 bytes" },
    ],
    ["of another protocol", 'console.log("{}")', { ref: execRef("x"), reason: "protocolVersion 1" }],
    [
      "outside the trusted folders",
      ECHO,
      { ref: execRef("x"), trustedDirs: ["/usr/bin"], reason: "outside trustedDirs" },
    ],
    ["with a relative path", ECHO, { ref: execRef("x"), command: "program", reason: "no absolute path" }],
  ])("%s gives a reason, and nothing of its output", async (_what, body, { ref, reason, ...more }) => {
    const vault = { source: "exec", command: program(body), args: [join(dir, "log")], ...more };
    const told = await tokenOf(ref, { providers: { vault } });
    expect(told).toContain(reason);
    expect(told).not.toContain("a-secret");
  });

  it("is not run where it is a link, or others may change it", async () => {
    const command = program(ECHO, 0o722);
    expect(await tokenOf(execRef("x"), { providers: { vault: { source: "exec", command } } })).toContain("chmod go-w");
    symlinkSync(command, join(dir, "link"));
    const link = { source: "exec", command: join(dir, "link") };
    expect(await tokenOf(execRef("x"), { providers: { vault: link } })).toContain("is a link");
  });
});

describe("variables", () => {
  it("are given by a provider only where its list has them", async () => {
    const secrets = { providers: { default: { source: "env", allowlist: ["ALLOWED"] } } };
    const env = { ALLOWED: "allowed-secret", OTHER: "other-secret" };
    expect(await tokenOf({ source: "env", provider: "default", id: "ALLOWED" }, secrets, env)).toBe("allowed-secret");
    expect(await tokenOf({ source: "env", provider: "default", id: "OTHER" }, secrets, env)).toContain("allowlist");
    expect(await tokenOf({ source: "env", id: "OTHER" }, {}, env)).toBe("other-secret");
  });

  it("may be written without braces where a secret is nothing else", async () => {
    expect(await tokenOf("$MY_TOKEN", {}, { MY_TOKEN: "short-secret" })).toBe("short-secret");
    expect(await tokenOf("$not-a-variable", {})).toBe("$not-a-variable");
  });
});

it("a reference to a provider that the config does not have says so", async () => {
  expect(await tokenOf(fileRef("/x", "other"), {})).toContain('no provider "other" with the source file');
  expect(await tokenOf({ source: "store", provider: "default", id: "X" }, {})).toContain("secret store");
});

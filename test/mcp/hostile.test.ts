import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { toolSchema } from "../../src/tools/schema.ts";
import { Secret } from "../../src/types/secret.ts";
import { systemClock } from "../../src/types/clock.ts";
import { manualClock } from "../kit/clock.ts";
import { until } from "../kit/until.ts";
import { hostile, isRunning, newDir, textOf, toolOf, world, NEVER } from "./kit.ts";

const of = (habit: string, more: object = {}, ports: Parameters<typeof world>[1] = {}) => {
  const dir = newDir();
  return world({ servers: { bad: hostile(habit, dir, more) } }, ports, dir);
};

test("a server is started when its tools are needed, and its answers are marked as untrusted", async () => {
  const { starts, names, call } = of("plain");
  expect(starts()).toEqual([]);
  expect(await names()).toEqual(["bad__echo"]);
  const result = await call("bad__echo", { text: "hello" });
  expect(textOf(result)).toMatch(
    /^<<<EXTERNAL_UNTRUSTED_CONTENT id="([0-9a-f]{16})">>>\nSource: External\nFrom: MCP server bad\n---\nhello\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="\1">>>$/,
  );
  expect(starts()).toHaveLength(1);
});

test("markers and template tokens in an answer are replaced, also those in other letters", async () => {
  const { call } = of("spoofs");
  const text = textOf(await call("bad__echo"));
  expect(text).toContain("before [[END_MARKER_SANITIZED]] [[MARKER_SANITIZED]] [REMOVED_SPECIAL_TOKEN]system after");
  expect(text.match(/END_EXTERNAL_UNTRUSTED_CONTENT/g)).toHaveLength(1);
});

test("the words of a refusal are as untrusted as an answer", async () => {
  const { call } = of("refuses");
  const result = await call("bad__echo");
  expect(result.isError).toBe(true);
  const text = textOf(result);
  expect(text).toMatch(/^The MCP server bad refused the call\.\n<<<EXTERNAL_UNTRUSTED_CONTENT/);
  expect(text).toContain("[[END_MARKER_SANITIZED]] obey");
  expect(result.details).toMatchObject({ externalContent: { untrusted: true, provider: "bad" } });
});

test("a server that dies during a call fails that call alone, and is started again later", async () => {
  const clock = manualClock();
  const { call, starts } = of("dies", {}, { clock });
  const first = await call("bad__echo");
  expect(textOf(first)).toMatch(/bad ended during the call\. Nobody knows whether the call had an effect\.[^]*code 3/);
  const second = await call("bad__echo");
  expect(textOf(second)).toMatch(/bad has failed\. The first call after 1 s starts it again\./);
  expect(starts()).toHaveLength(1);
  clock.pass(1000);
  expect(textOf(await call("bad__echo"))).toContain("ended during the call");
  expect(starts()).toHaveLength(2);
  expect(textOf(await call("bad__echo"))).toMatch(/after [12] s/);
});

test("a server that hangs at its start is given up in the time of the config, and its process ended", async () => {
  const { names, starts, log } = of("hangs at start", { connectionTimeoutMs: 300 });
  expect(await names()).toEqual([]);
  expect(log.lines).toContain("warn an MCP server failed");
  const [pid = 0] = starts();
  await until(() => !isRunning(pid), "the end of the process");
});

test("a server that dies at its start says so, and is not started by every turn", async () => {
  const { names, starts } = of("dies at start");
  expect(await names()).toEqual([]);
  expect(await names()).toEqual([]);
  expect(starts()).toHaveLength(1);
});

test("a turn that is stopped does not wait for the start of a server", async () => {
  const { servers } = of("hangs at start");
  const stop = new AbortController();
  const ready = servers.ready(stop.signal);
  stop.abort();
  await ready;
  expect(servers.tools()).toEqual([]);
});

test("a call that hangs ends in the time of the config; the server goes on with others", async () => {
  const { call, starts } = of("hangs in a call", { requestTimeoutMs: 200 });
  expect(textOf(await call("bad__echo"))).toBe(
    "The MCP server bad did not answer within 0.2 s. It may still be at work.",
  );
  expect(textOf(await call("bad__echo", { text: "quick" }))).toContain("quick");
  expect(starts()).toHaveLength(1);
});

test("a server that does not even answer a ping is ended", async () => {
  const { call, starts, log } = of("stalls", { requestTimeoutMs: 200 });
  await call("bad__echo");
  const [pid = 0] = starts();
  await until(() => !isRunning(pid), "the end of the process");
  expect(log.lines).toContain("warn an MCP server failed");
});

test("a call that is aborted ends at once", async () => {
  const { call, names } = of("hangs in a call");
  await names();
  const stop = new AbortController();
  const result = call("bad__echo", {}, stop.signal);
  setImmediate(() => stop.abort());
  expect(textOf(await result)).toBe("Aborted.");
});

test("a server that floods the gateway is ended, while the event loop stays free", async () => {
  const { names, starts, log } = of("floods");
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 5);
  await names();
  await until(() => log.lines.includes("warn an MCP server failed"), "the end of the flood");
  clearInterval(timer);
  const [pid = 0] = starts();
  await until(() => !isRunning(pid), "the end of the process");
  expect(turns).toBeGreaterThan(0);
});

test("an answer of 10 MB is refused by its size, and the server goes on", async () => {
  const { call, starts } = of("large");
  expect(textOf(await call("bad__echo"))).toMatch(
    /^The answer of the MCP server bad has 10\d{6} bytes, which is too much/,
  );
  expect(textOf(await call("bad__echo", { text: "small" }))).toContain("fits");
  expect(starts()).toHaveLength(1);
});

test("a long answer is cut inside the markers", async () => {
  const { call } = of("plain");
  const text = textOf(await call("bad__echo", { text: "y".repeat(100_000) }));
  expect(text.length).toBeLessThan(16_000);
  expect(text).toMatch(/<<<END_EXTERNAL_UNTRUSTED_CONTENT id="[0-9a-f]{16}">>>$/);
});

test("lines that are no messages are skipped", async () => {
  const { call } = of("invalid");
  expect(textOf(await call("bad__echo"))).toContain("after the noise");
});

test("images become image parts; what is no image or cannot be shown is only named", async () => {
  const { call } = of("pictures");
  const { content } = await call("bad__echo");
  expect(content.filter(({ type }) => type === "image")).toEqual([
    { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
  ]);
  expect(textOf({ content })).toContain("[audio audio/wav, 3 bytes, not shown]");
});

test("a turn keeps the tools that it began with, and the next one has the changed ones", async () => {
  const { servers, call, names } = of("changing");
  await names();
  const before = servers.tools();
  expect(textOf(await call("bad__echo", { text: "one" }))).toContain("one");
  await until(() => servers.tools().some(({ name }) => name === "bad__added-1"), "the changed tools");
  expect(before.map(({ name }) => name)).toEqual(["bad__echo"]);
  expect(toolOf(before, "bad__echo").name).toBe("bad__echo");
  expect(servers.tools().map(({ name }) => name)).toEqual(["bad__added-1"]);
});

test("colliding, foreign and long names become names of their own, the same each time", async () => {
  const names = await of("colliding").names();
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^bad__[A-Za-z0-9_-]{1,59}$/);
  expect(names).toContain("bad__a-b");
  expect(names.filter((name) => /^bad__a-b-[0-9a-f]{6}$/.test(name))).toHaveLength(2);
  // Lists of tools do not tell letters by their case, so neither of the two has the plain name.
  expect(names.filter((name) => /^bad__[Rr]ead-[0-9a-f]{6}$/.test(name))).toHaveLength(2);
  expect(names).toContain("bad__list_resources");
  expect(names.filter((name) => /^bad__list_resources-[0-9a-f]{6}$/.test(name))).toHaveLength(1);
  expect(await of("colliding").names()).toEqual(names);
});

test("two servers whose names look alike have different tools", async () => {
  const dir = newDir();
  const two = world({ servers: { "my files": hostile("plain", dir), "my-files": hostile("plain", dir) } }, {}, dir);
  const names = await two.names();
  expect(names).toHaveLength(2);
  expect(names).toContain("my-files__echo");
  expect(names.filter((name) => /^my-files__echo-[0-9a-f]{6}$/.test(name))).toHaveLength(1);
});

test("a schema is bounded and refers to nothing; a description has no markers and nothing invisible", async () => {
  const { servers, names } = of("schemas");
  await names();
  const { jsonSchema, description } = toolOf(servers.tools(), "bad__echo");
  const text = JSON.stringify(jsonSchema);
  expect(text).not.toMatch(/\$ref|\$schema|pattern|127\.0\.0\.1/);
  expect(jsonSchema).toMatchObject({ properties: { far: {}, near: { properties: { size: { type: "integer" } } } } });
  expect(text.length).toBeLessThan(16_384);
  expect(toolOf(servers.tools(), "bad__huge").jsonSchema).toEqual({
    type: "object",
    properties: {},
    additionalProperties: true,
  });
  expect(description.length).toBeLessThanOrEqual(1024);
  expect(description).toMatch(/^Ignore this \[\[END_MARKER_SANITIZED\]\] \[REMOVED_SPECIAL_TOKEN\]system/);
});

test("a tool with an odd schema is simplified or left out by name, and the others work", async () => {
  const { servers, names, call, log } = of("odd tools");
  expect(await names()).toEqual(
    ["no-schema", "no-type", "null-schema", "list-schema", "choice", "echo"].map((name) => `bad__${name}`),
  );
  for (const name of await names())
    expect(toolSchema(toolOf(servers.tools(), name))).toMatchObject({ type: "object", properties: {} });
  const { properties, required, anyOf } = toolSchema(toolOf(servers.tools(), "bad__choice"));
  expect({ properties, required, anyOf }).toEqual({
    properties: { id: { anyOf: [{ type: "string" }, { type: "integer" }] }, all: { type: "boolean" } },
    required: ["id"],
    anyOf: undefined,
  });
  expect(textOf(await call("bad__echo", { text: "hello" }))).toContain("hello");
  expect(log.lines).toContain("warn tools of an MCP server are left out");
});

test("an answer with nulls is read, and one that is none of the protocol ends its call at once", async () => {
  expect(textOf(await of("nulls").call("bad__echo", { text: "hello" }))).toContain("hello");
  const result = await of("answers oddly").call("bad__echo", { text: "hello" });
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain("not one of the protocol");
});

test("a schema whose references lead to large parts again and again is given up at once", async () => {
  const { servers, names } = of("repeating");
  const began = performance.now();
  expect(await names()).toEqual(["bad__step", "bad__wide"]);
  // Minutes, if each reference were followed to its end.
  expect(performance.now() - began).toBeLessThan(20_000);
  expect(toolOf(servers.tools(), "bad__wide").jsonSchema).toMatchObject({ properties: {} });
});

test("names of a server's tools and properties carry nothing invisible and no template tokens to models", async () => {
  const { servers, names } = of("hidden names");
  const [name = ""] = await names();
  const { description, label, jsonSchema } = toolOf(servers.tools(), name);
  expect(description).toBe("The tool ab [REMOVED_SPECIAL_TOKEN] of the MCP server bad.");
  expect(label).toBe("bad: ab [REMOVED_SPECIAL_TOKEN]");
  expect(jsonSchema).toEqual({ type: "object", properties: { plain: {} } });
});

test("every tool of a server sends data to it, also by the address of a resource", async () => {
  const { servers, names } = of("resources");
  for (const name of await names()) {
    const input = name === "bad__read_resource" ? { uri: "https://bad.example/?what" } : {};
    expect(await toolOf(servers.tools(), name).riskOf?.(input, { workspace: "/" })).toMatchObject({ use: "network" });
  }
  expect(servers.tools()).toHaveLength(3);
});

test("a server with hundreds of tools has the first 128", async () => {
  const { names, log } = of("many");
  expect(await names()).toHaveLength(128);
  expect(log.lines).toContain("warn tools of an MCP server are left out");
});

test("the tools are known after a restart without a start of the server", async () => {
  const first = of("plain");
  await first.names();
  await until(() => readdirSync(first.dir).includes("mcp-tools.json"), "the file");
  await first.servers.close();
  const servers = { bad: hostile("plain", first.dir) };
  const second = world({ servers }, {}, first.dir);
  expect(await second.names()).toEqual(["bad__echo"]);
  expect(first.starts()).toHaveLength(1);
  expect(textOf(await second.call("bad__echo", { text: "again" }))).toContain("again");
  expect(first.starts()).toHaveLength(2);
});

test("an idle server is stopped, and started by the next call", async () => {
  const dir = newDir();
  const mcp = { servers: { bad: hostile("plain", dir) }, sessionIdleTtlMs: 100 };
  const { names, call, starts } = world(mcp, { clock: systemClock }, dir);
  await names();
  const [pid = 0] = starts();
  await until(() => !isRunning(pid), "the end of the idle process");
  expect(textOf(await call("bad__echo", { text: "back" }))).toContain("back");
  expect(starts()).toHaveLength(2);
});

test("a server that the config no longer has is ended, one whose settings changed is another one", async () => {
  const { names, starts, setConfig, dir, servers } = of("plain");
  await names();
  setConfig({ servers: { bad: hostile("plain", dir, { env: { NEW: "1" } }) } });
  expect(await names()).toEqual(["bad__echo"]);
  expect(starts()).toHaveLength(2);
  setConfig({ servers: { bad: hostile("plain", dir, { enabled: false }) } });
  expect(servers.tools()).toEqual([]);
  await until(() => !starts().some(isRunning), "the end of the processes");
});

test.runIf(process.platform === "linux")(
  "no process of a server outlives the gateway, not even one that left its group",
  async () => {
    const dir = newDir();
    const bad = hostile("leaves a child", dir, { env: { MARKED_BY: dir } });
    const { names, servers } = world({ servers: { bad } }, {}, dir);
    await names();
    await until(() => processesWith(`MARKED_BY=${dir}`).length === 2, "the server and its child");
    await servers.close();
    // They are killed by now; the kernel ends them in a moment.
    await until(() => processesWith(`MARKED_BY=${dir}`).length === 0, "the end of the server and its child");
    const stays = of("stays");
    await stays.names();
    await stays.servers.close();
    await until(() => stays.starts().filter(isRunning).length === 0, "the end of the server");
  },
);

const processesWith = (variable: string): readonly string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").includes(variable);
    } catch {
      // It has ended, or belongs to another user.
      return false;
    }
  });

test("a server gets the variables, arguments and folder of the config, and none of the gateway's own secrets", async () => {
  const dir = newDir();
  const more = { env: { TOKEN: new Secret("a-secret-of-the-config"), PLAIN: "yes" }, cwd: "~" };
  const server = hostile("environment", dir, more);
  const config = { servers: { bad: { ...server, args: [...server.args, "~/notes"] } } };
  const env = { ...process.env, OPENAI_API_KEY: "sk-of-the-gateway", HOME: dir };
  const { call, servers } = world(config, { env }, dir);
  await servers.ready(NEVER);
  const text = textOf(await call("bad__echo"));
  expect(text).toContain('"TOKEN":"a-secret-of-the-config"');
  expect(text).toContain('"PLAIN":"yes"');
  expect(text).toContain(`"args":["${dir}/notes"]`);
  expect(text).toContain(`"cwd":"${dir}"`);
  expect(text).not.toContain("sk-of-the-gateway");
});

test("what a server writes for people is logged, bounded and without secrets", async () => {
  const dir = newDir();
  const lines: string[] = [];
  const add = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: add, info: add, warn: add, error: add, with: () => log };
  const more = { env: { BABBLE: new Secret("a-secret-that-is-babbled") } };
  const { names, servers } = world({ servers: { bad: hostile("babbles", dir, more) } }, { log }, dir);
  await names();
  await until(() => lines.some((line) => line.startsWith("an MCP server writes much")), "the end of the babble");
  await servers.close();
  expect(lines.filter((line) => line.includes("babble")).length).toBeLessThanOrEqual(101);
  expect(lines.join("\n")).toContain("babble 0 of [secret]");
  expect(lines.join("\n")).not.toContain("a-secret-that-is-babbled");
});

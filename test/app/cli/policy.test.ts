import { expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";
import { bwrap, PLAIN } from "../../tools/sandbox/real-backend.ts";

const CONFIG = `{
  commands: { ownerAllowFrom: ["telegram:7"] },
  agents: { list: [{ id: "main" }, { id: "clerk", tools: { profile: "minimal" } }] },
  tools: {
    deny: ["group:web"],
    byProvider: { openai: { deny: ["write"] } },
    toolsBySender: { "8": { deny: ["group:runtime"] } },
  },
  channels: { telegram: { groups: { "-100": {
    tools: { allow: ["group:fs"] },
  } } } },
}
`;
const explain = (...args: string[]) => run(["policy", "explain", ...args], { OPENCLAW_STATE_DIR: stateDir(CONFIG) });

test("policy explain names the step, the key and the line that take a tool away", async () => {
  const { code, out } = await explain("exec", "--sender", "telegram:8");
  expect(code).toBe(0);
  expect(out).toContain('The agent "main" may not use exec for telegram:8 in telegram:8.');
  expect(out).toMatch(/sender +denies \("group:runtime"\) +tools\.toolsBySender\["8"\]\.deny +openclaw\.json:7/);
});

test("policy explain asks for the chat of a session, for the model and for the agent", async () => {
  const inGroup = await explain("message", "--session", "telegram:default:group:-100", "--sender", "7");
  expect(inGroup.out).toMatch(
    /may not use message for telegram:7 in telegram:-100[^]*chat +does not list it +\S+groups\S+ +openclaw\.json:\d/,
  );
  const onModel = await explain("write", "--model", "openai/gpt-5", "--json");
  expect(JSON.parse(onModel.out)).toMatchObject({ agent: "main", verdicts: [{ tool: "write", isAllowed: false }] });
  const clerk = await explain("read", "--agent", "clerk");
  expect(clerk.out).toMatch(/may not use read for operators[^]*agents\.list\[1\]\.tools\.profile/);
});

test("policy lists all tools without a name, and says what it left out", async () => {
  const { out } = await run(["policy"], { OPENCLAW_STATE_DIR: stateDir(CONFIG) });
  expect(out).toMatch(/^TOOL +ALLOWED +BECAUSE\nread +yes\n/);
  expect(out).toContain("add --model provider/model");
});

test("policy explain says that a tool does not exist, with the one that may be meant", async () => {
  const near = await explain("exek");
  expect(near).toMatchObject({ code: 1, err: expect.stringContaining('There is no tool "exek".') });
  expect(near.err).toContain("Did you mean exec?");
  expect(await explain("quite-another", "--json")).toMatchObject({ code: 1, err: expect.stringContaining("no tool") });
  // Other names of a tool are names of it too.
  expect((await explain("bash")).out).toContain("use exec");
});

test("policy explain judges a command as the page does", async () => {
  const reads = await explain("--command", "echo hello");
  expect(reads).toMatchObject({ code: 0, out: expect.stringContaining("this command would run: echo hello") });
  const refused = await explain("exec", "--command", "touch notes.txt", "--sender", "telegram:8");
  expect(refused.out).toMatch(/for telegram:8 in telegram:8, this command would be refused: touch notes\.txt/);
  expect(refused.out).toMatch(/Key +tools\.toolsBySender\["8"\]\.deny\nWhere +openclaw\.json:7/);
  const json = await explain("--command", "touch notes.txt", "--json");
  expect(JSON.parse(json.out)).toMatchObject({ command: { outcome: "asks" }, verdicts: [{ tool: "exec" }] });
  expect(await explain("read", "--command", "ls")).toMatchObject({ code: 2, err: expect.stringContaining("exec") });
});

test("policy explain asks about the chat of another agent as about that chat of the agent itself", async () => {
  const { out } = await explain(
    "read",
    "--agent",
    "clerk",
    "--session",
    "agent:main:telegram:default:group:-100",
    "--json",
  );
  expect(JSON.parse(out)).toMatchObject({ agent: "clerk", session: expect.stringContaining("agent:clerk:") });
  const job = await explain("read", "--agent", "clerk", "--session", "agent:main:cron:tidy");
  expect(job).toMatchObject({ code: 2, err: expect.stringContaining('a conversation of the agent "main"') });
});

test("policy explain refuses what it does not know", async () => {
  expect(await explain("read", "--agent", "nobody")).toMatchObject({
    code: 1,
    err: expect.stringContaining("main, clerk"),
  });
  expect(await explain("read", "--sender", "42")).toMatchObject({
    code: 2,
    err: expect.stringContaining("telegram:42"),
  });
  expect(await explain("read", "--model", "gpt")).toMatchObject({
    code: 2,
    err: expect.stringContaining("provider/model"),
  });
});

test("policy explain says which rules by a name it left out, since only an id was given", async () => {
  const config = `{
    tools: { toolsBySender: { "@ada": { deny: ["exec"] }, "name:Ada": {}, "e164:+43": {}, "id:9": {} } },
    channels: { telegram: { direct: { "8": { toolsBySender: { "username:ada": {} } } } } },
  }`;
  const asked = (...args: string[]) =>
    run(["policy", "explain", "exec", ...args], { OPENCLAW_STATE_DIR: stateDir(config) });
  const { out } = await asked("--sender", "telegram:8");
  expect(out).toContain("may use exec");
  expect(out).toContain(
    'left out: tools.toolsBySender["@ada"], tools.toolsBySender["name:Ada"], tools.toolsBySender["e164:+43"], ' +
      'channels.telegram.direct.8.toolsBySender["username:ada"]; add --username',
  );
  const named = await asked("--sender", "telegram:8", "--username", "Ada", "--name", "Ada L");
  expect(named.out).toContain("may not use exec");
  expect(named.out).not.toContain('toolsBySender["name:Ada"]');
});

test("policy explain knows whether the session is confined to a sandbox", async () => {
  const config = `{ agents: { defaults: { sandbox: { mode: "non-main" } } }, tools: { sandbox: { tools: { deny: ["write"] } } } }`;
  const asked = (...args: string[]) =>
    run(["policy", "explain", "write", ...args], { OPENCLAW_STATE_DIR: stateDir(config) });
  const inGroup = await asked("--session", "telegram:default:group:-100");
  expect(inGroup.out).toMatch(/may not use write[^]*sandbox +denies[^]*are confined to a sandbox/);
  expect((await asked()).out).toContain("may use write for operators");
});

/** What becomes of a command of a guest, where programs are found in these folders. */
const ofGuest = (path: string) =>
  run(["policy", "explain", "--command", "touch notes.txt", "--sender", "telegram:8"], {
    OPENCLAW_STATE_DIR: stateDir(`{ agents: { defaults: { sandbox: { mode: "auto", backend: "bwrap" } } } }`),
    PATH: path,
  });

test("policy explain has a guest's command asked about where no sandbox works", async () => {
  expect((await ofGuest("/nonexistent")).out).toContain("this command would be asked about: touch notes.txt");
});

test.skipIf(bwrap.why !== undefined)("policy explain has a guest's command run in a sandbox that works", async () => {
  const { out } = await ofGuest(PLAIN.PATH);
  expect(out).toMatch(/this command would run: touch notes\.txt\nBecause +It runs in a sandbox/);
});

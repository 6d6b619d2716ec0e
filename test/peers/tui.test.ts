import { existsSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeModel, type FakeModel, type ModelCall, type ModelReply } from "../fakes/model.ts";
import { makeHome, type Home } from "../kit/gateway/process.ts";
import { TOKEN } from "../kit/gateway/process.ts";
import { noTui, Tui } from "./terminal.ts";

if (noTui !== undefined) console.log(`OpenClaw's client for the terminal is left out: ${noTui}`);

let model: FakeModel;
let home: Home;
let url: string;
let tui: Tui;
const opened: Tui[] = [];
/** Holds back the rest of an answer. */
let held = Promise.withResolvers<void>();

const MODELS = ["fake-1", "fake-2"].map((id) => ({
  id,
  name: id,
  reasoning: true,
  contextWindow: 100_000,
  maxTokens: 4096,
}));

beforeAll(async () => {
  if (noTui !== undefined) return;
  model = await startFakeModel();
  model.answer(replyTo);
  const port = await freePort();
  url = `ws://127.0.0.1:${port}`;
  home = await makeHome({
    gateway: { port, auth: { token: TOKEN } },
    models: { providers: { fake: { baseUrl: model.url, apiKey: "x", api: "openai-completions", models: MODELS } } },
    agents: { defaults: { model: { primary: "fake/fake-1" } }, list: [{ id: "main" }, { id: "review" }] },
    tools: { exec: { security: "allowlist", ask: "on-miss" } },
    messages: { queue: { debounceMs: 0 } },
  });
  await home.start();
  tui = await open();
}, 180_000);
afterAll(async () => {
  for (const one of opened) await one.close();
  await home?.remove();
  await model?.close();
});

async function open(): Promise<Tui> {
  const one = await Tui.open(url, TOKEN);
  opened.push(one);
  return one;
}

/** `CALL:<tool> <arguments>` calls a tool once, and an answer to `HOLD` stops in its middle until the test lets it go on. */
function replyTo({ said, isAfterTool, model: asked }: ModelCall): ModelReply {
  const last = said.trim().split("\n").at(-1) ?? "";
  const [, tool, args] = /CALL:(\w+) (\{.*\})/.exec(last) ?? [];
  if (tool !== undefined && !isAfterTool) return { tool, args: JSON.parse(args ?? "{}") as Record<string, unknown> };
  if (last.includes("HOLD")) return { text: "The kettle is on, and now it boils.", until: held.promise };
  return { text: `Answer of ${asked} to: ${last.slice(-60)}` };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What the client says when a request failed. */
const FAILED = /failed: /;

const count = (text: string, part: string) => text.split(part).length - 1;

// The steps follow each other in one client, as a person takes them.
describe.skipIf(noTui !== undefined)("OpenClaw's client for the terminal", { timeout: 180_000 }, () => {
  test("connects to the operator's chat", async () => {
    expect(await tui.shows("agent main | session main | fake-1")).not.toMatch(FAILED);
  });

  test("sends a message, and shows the answer as it comes", async () => {
    await tui.say("one HOLD");
    expect(await tui.shows(/The kettle is on/)).not.toContain("it boils");
    held.resolve();
    await tui.shows("and now it boils.");
    await tui.shows(/connected \| idle/);
  });

  test("shows the answer of a command, and is ready for the next message", async () => {
    await tui.say("/status");
    expect(await tui.shows(/Last run: fake\/fake-1/)).toContain("Session: agent:main:main");
    await tui.say("two");
    expect(await tui.shows("Answer of fake-1 to: two")).not.toMatch(FAILED);
  });

  test("is ready again after every command that is answered at once", async () => {
    for (const [command, answer] of [
      ["/whoami", "You are operator: an owner."],
      ["/queue nonsense", "nonsense"],
      ["/no-such-command", "no-such-command"],
      ["/whoami", "You are operator: an owner."],
    ] as const) {
      await tui.say(command);
      await tui.shows(answer);
      expect(await tui.shows(/connected \| idle/)).not.toMatch(FAILED);
    }
  });

  test("sets the model, the thinking, and what is shown", async () => {
    await tui.say("/model fake/fake-2");
    await tui.shows("model set to fake/fake-2");
    await tui.say("/think high");
    await tui.shows(/fake-2 high/);
    await tui.say("/usage tokens");
    await tui.shows("usage footer: tokens");
    await tui.say("/reasoning on");
    await tui.shows("reasoning set to on");
    await tui.say("/verbose on");
    await tui.shows(/verbose on/);
    await tui.say("three");
    await tui.shows("Answer of fake-2 to: three");
    expect(model.calls.at(-1)).toMatchObject({ model: "fake-2", effort: "high" });
  });

  test("shows the tools of a run", async () => {
    await tui.say('CALL:read {"path":"AGENTS.md"}');
    await tui.shows("📖 Read");
    expect(await tui.shows(/connected \| idle/)).not.toMatch(FAILED);
    await tui.say('CALL:read {"path":"no-such-file.md"}');
    await tui.shows(/Answer of fake-2 to: CALL:read .*no-such-file/);
    await tui.shows(/connected \| idle/);
  });

  test("offers the models in a list", async () => {
    await tui.say("/models");
    await tui.shows(/→ fake\/fake-1/);
    tui.press("Escape");
    expect(await tui.shows((screen) => !screen.includes("→ fake/fake-1"))).not.toMatch(FAILED);
  });

  test("shows a command that waits for an approval, and takes the answer", async () => {
    const made = join(home.dir, "made");
    await tui.say(`CALL:exec {"command":"touch ${made}-$PPID; touch ${made}"}`);
    await tui.shows("The agent wants to run a command");
    await tui.shows(/→ Deny/);
    tui.press("Up");
    await tui.shows(/→ Allow once/);
    tui.press("Enter");
    await tui.shows("allowed once");
    await tui.shows(/connected \| idle/);
    expect(existsSync(made)).toBe(true);
    await tui.say(`CALL:exec {"command":"touch ${made}-no-$PPID; touch ${made}-no"}`);
    await tui.shows(/→ Deny/);
    tui.press("Enter");
    await tui.shows(/approval: denied/);
    await tui.shows(/connected \| idle/);
    expect(existsSync(`${made}-no`)).toBe(false);
  });

  test("stops a run", async () => {
    held = Promise.withResolvers<void>();
    await tui.say("four HOLD");
    await tui.shows(/streaming/);
    tui.press("Escape");
    await tui.shows(/connected \| aborted/);
    held.resolve();
    await tui.say("five");
    expect(await tui.shows("Answer of fake-2 to: five")).not.toMatch(FAILED);
  });

  test("asks aside, and the conversation does not keep it", async () => {
    await tui.say("/btw which tea");
    await tui.shows(/BTW: which tea/);
    await tui.shows(/The question aside: which tea|to: .*which tea/);
    expect(model.calls.at(-1)?.tools ?? []).toEqual([]);
    tui.press("Enter");
    await tui.shows((screen) => !screen.includes("BTW:"));
    await tui.say("six");
    await tui.shows("Answer of fake-2 to: six");
    expect(JSON.stringify(model.calls.at(-1)?.messages)).not.toContain("which tea");
  });

  test("shows what another client of the session says, once", async () => {
    const other = await open();
    await other.shows("Answer of fake-2 to: six");
    await other.say("seven");
    await other.shows("Answer of fake-2 to: seven");
    await tui.shows("Answer of fake-2 to: seven");
    const screen = await tui.shows(/\nseven\n/);
    expect(count(screen, "\nseven\n")).toBe(1);
    await tui.say("eight");
    await other.shows(/\neight\nAnswer of fake-2 to: eight/);
    await other.leave();
  });

  test("connects again after the gateway's restart, and shows every message once", async () => {
    await home.latest?.kill("SIGTERM");
    await tui.shows(/gateway disconnected/);
    await home.start();
    await tui.shows(/gateway reconnected \|/);
    const screen = await tui.shows("Answer of fake-2 to: eight");
    expect(count(screen, "Answer of fake-2 to: eight")).toBe(1);
    expect(count(screen, "Answer of fake-2 to: six")).toBe(1);
    await tui.say("nine");
    await tui.shows("Answer of fake-2 to: nine");
  });

  test("a new client shows the history", async () => {
    const late = await open();
    const screen = await late.shows("Answer of fake-2 to: nine");
    expect(count(screen, "Answer of fake-2 to: nine")).toBe(1);
    expect(screen).toContain("fake-2 high");
    await late.leave();
  });

  test("a new client shows how the tools of earlier runs ended", async () => {
    const late = await open();
    await late.say("/session main");
    const screen = await late.shows("Answer of fake-2 to: nine");
    expect(screen).toContain("Exec (failed)");
    await late.leave();
  });

  test("begins a new session, and finds the old one in the list", async () => {
    await tui.say("/new");
    await tui.shows(/new session: agent:main:tui-/);
    await tui.say("ten");
    await tui.shows("Answer of fake-1 to: ten");
    await tui.say("/sessions");
    const list = await tui.shows("Filter:");
    expect(list).toMatch(/→ ten \(tui-/);
    expect(list).toMatch(/one HOLD \(main\)/);
    tui.press("Down", "Enter");
    await tui.shows((screen) => !screen.includes("Filter:"));
    expect(await tui.shows("Answer of fake-2 to: nine")).not.toMatch(FAILED);
    expect(await tui.shows("agent main | session main")).not.toContain("Answer of fake-1 to: ten");
  });

  test("changes to another agent", async () => {
    await tui.say("/agents");
    await tui.shows(/→ main/);
    tui.press("Escape");
    await tui.shows((screen) => !screen.includes("→ main"));
    await tui.say("/agent review");
    await tui.shows("agent review | session main");
    await tui.say("eleven");
    expect(await tui.shows("Answer of fake-1 to: eleven")).not.toMatch(FAILED);
  });

  test("lists the commands, and leaves", async () => {
    await tui.say("/help");
    expect(await tui.shows("/btw <side question>")).not.toMatch(FAILED);
    await tui.leave();
  });
});

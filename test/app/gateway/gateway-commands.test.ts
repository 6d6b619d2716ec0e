import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { connectGateway, type GatewayClient } from "../../../src/app/cli/client.ts";
import { Secret } from "../../../src/types/secret.ts";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import type { Speaker } from "../../fakes/telegram.ts";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../kit/gateway/in-process.ts";
import { expectShape } from "../../server/shapes.ts";

let fixture: GatewayFixture;
let client: GatewayClient;
let model: FakeModel;
beforeAll(async () => {
  model = await startFakeModel();
  const groups = { "*": { requireMention: true } };
  fixture = await startGatewayFixture({ dmPolicy: "open", allowFrom: ["*"], groupPolicy: "open", groups }, model.url);
  const url = fixture.http.replace("http", "ws");
  client = await connectGateway({ url, token: new Secret(TOKEN), isElsewhere: false });
});
afterAll(async () => {
  client.close();
  await fixture.close();
  await model.close();
});

/** Resolves when every message has an outcome. */
const settled = () =>
  expect
    .poll(
      async () => (await client.call("inbox.list", { open: true }, z.looseObject({ rows: z.array(z.unknown()) }))).rows,
    )
    .toEqual([]);

/** The gateway's answer in the chat to a message that is said there. */
async function answerTo(text: string, from: Speaker, fits: RegExp): Promise<string> {
  await settled();
  const before = fixture.telegram.sent.length;
  fixture.telegram.say(text, from);
  return (
    await fixture.telegram.waitFor((call) => fixture.telegram.sent.indexOf(call) >= before && fits.test(call.text))
  ).text;
}

const listed = async (params: object = {}) => {
  const answer = await client.call(
    "commands.list",
    params,
    z.looseObject({ commands: z.array(z.looseObject({ name: z.string() })) }),
  );
  expectShape("CommandsListResult", answer);
  return new Map(answer.commands.map((command) => [command.name, command]));
};

test("clients get each command with its names and the words that may follow it", async () => {
  const commands = await listed();
  expect(commands.get("stop")).toEqual({
    name: "stop",
    textAliases: ["/stop", "/abort", "/cancel"],
    description: "Stop what the agent is doing.",
    source: "native",
    scope: "both",
    acceptsArgs: false,
  });
  expect(commands.get("send")).toMatchObject({
    acceptsArgs: true,
    args: [{ choices: ["on", "off", "inherit"].map((value) => ({ value, label: value })) }],
  });
  expect(commands.get("reasoning")).toMatchObject({
    args: [{ choices: ["off", "on", "stream", "default"].map((value) => ({ value, label: value })) }],
  });
  expect(commands.get("compact")).toMatchObject({ acceptsArgs: true });
  expect(commands.get("skill")).toMatchObject({
    acceptsArgs: true,
    args: [
      {
        choices: expect.arrayContaining(["list", "notes", "summarize"].map((value) => ({ value, label: value }))),
      },
    ],
  });
});

test("clients that do not ask for the words do not get them", async () => {
  const commands = await listed({ includeArgs: false });
  expect(commands.get("send")).toMatchObject({ acceptsArgs: true });
  expect(commands.get("send")).not.toHaveProperty("args");
});

test("clients learn which commands may also be words of a message", async () => {
  const commands = await listed();
  const inline = [...commands.values()].flatMap(({ name, ["category"]: category }) =>
    category === "options" ? [name] : [],
  );
  expect(inline.toSorted()).toEqual([
    "elevated",
    "exec",
    "model",
    "queue",
    "reasoning",
    "think",
    "tts",
    "usage",
    "verbose",
  ]);
});

test("/why tells what happened to the last message, an earlier one, and one that is named; others' messages are not found", async () => {
  const ann = { from: { id: 501 } };
  model.answer(({ said }, number) =>
    said.includes("fails") ? { status: 400, message: "words of the provider" } : { text: `answer ${number}` },
  );
  const first = fixture.telegram.say("the first", ann);
  await fixture.telegram.waitFor(({ chatId }) => chatId === "501");
  const plain = (text: string) => text.replaceAll(/<[^>]*>/g, "");
  const last = plain(await answerTo("/why", ann, /received/));
  expect(last).toMatch(new RegExp(`received message ${first} of .*501`));
  expect(last).toMatch(/reply row \d+, part 1, was sent/);
  await answerTo("it fails", ann, /./);
  const failed = plain(await answerTo("/why", ann, /received/));
  expect(failed).toContain("failed");
  expect(failed).not.toContain("words of the provider");
  expect(plain(await answerTo("/why 1", ann, /received/))).toContain(`message ${first} of`);
  expect(plain(await answerTo(`/why ${first + 1000}`, ann, /no message/))).toContain(
    "This conversation has no message with that id.",
  );
  expect(await answerTo(`/why #${first}`, { from: { id: 502 } }, /no message/)).toContain("no message with that id");
  expect(await answerTo("/why", { from: { id: 502 } }, /no such/)).toContain("There is no such message here.");
});

test("/why shows an owner the words of the provider too", async () => {
  model.answer(() => ({ status: 400, message: "words of the provider" }));
  const said = async (message: string) => {
    const { runId } = await client.call(
      "agent",
      { message, idempotencyKey: message },
      z.looseObject({ runId: z.string() }),
    );
    return client.call(
      "agent.wait",
      { runId, timeoutMs: 20_000 },
      z.looseObject({ text: z.string().optional() }),
      30_000,
    );
  };
  await said("it fails");
  await settled();
  expect((await said("/why")).text).toContain("words of the provider");
});

test("/context shows the sizes of the files of the workspace, with what is cut of them, skills and tools", async () => {
  writeFileSync(join(fixture.dir, "workspace", "AGENTS.md"), "word ".repeat(6000));
  model.answer(() => ({ text: "fine" }));
  const bob = { from: { id: 503 } };
  await answerTo("hello", bob, /fine/);
  const list = await answerTo("/context", bob, /Window:/);
  expect(list).toMatch(/Files: \d+, [\d,]+ characters/);
  const detail = await answerTo("/context detail", bob, /exec/);
  expect(detail).toMatch(/• exec: \d+ tokens/);
  expect(detail).toMatch(/• file \d: .* cut from 30,000 characters/);
  expect(detail).not.toContain(fixture.dir);
});

test("clients are told who may use what in a session, with the key and its line", async () => {
  const shape = z.looseObject({
    sandbox: z.object({ files: z.boolean(), commands: z.boolean() }),
    tools: z.array(z.looseObject({ tool: z.string(), allowed: z.boolean(), trace: z.array(z.looseObject({})) })),
  });
  const ask = (params: object) => client.call("policy.explain", params, shape);
  const own = await ask({});
  expect(own).toMatchObject({ agentId: "main", sandbox: { files: false } });
  expect(own.tools.find(({ tool }) => tool === "exec")).toMatchObject({ allowed: true });
  const params = { sessionKey: "telegram:default:group:-1", sender: "telegram:7", tool: "cron" };
  const { tools } = await ask(params);
  expect(tools).toEqual([
    {
      tool: "cron",
      allowed: false,
      trace: [
        expect.objectContaining({ stage: "optional" }),
        expect.objectContaining({ stage: "owner only", key: "commands.ownerAllowFrom", answer: "denied" }),
      ].slice(-1),
    },
  ]);
  await expect(ask({ agentId: "nobody" })).rejects.toThrow("nobody");
});

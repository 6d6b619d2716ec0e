import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { connectGateway, type GatewayClient } from "../../../src/app/cli/client.ts";
import { Secret } from "../../../src/types/secret.ts";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../kit/gateway/in-process.ts";
import { expectShape } from "../../server/shapes.ts";

let fixture: GatewayFixture;
let client: GatewayClient;
beforeAll(async () => {
  fixture = await startGatewayFixture();
  const url = fixture.http.replace("http", "ws");
  client = await connectGateway({ url, token: new Secret(TOKEN), isElsewhere: false });
});
afterAll(async () => {
  client.close();
  await fixture.close();
});

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
  expect(commands.get("compact")).toMatchObject({ acceptsArgs: true });
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
  expect(inline.toSorted()).toEqual(["model", "queue", "reasoning", "think", "usage", "verbose"]);
});

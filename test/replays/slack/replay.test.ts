import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { slackConfig } from "../../../extensions/slack/config.ts";
import type { Delivery } from "../../../extensions/slack/events.ts";
import { readDelivery } from "../../../extensions/slack/inbound/inbound.ts";
import { NO_LOOKUPS } from "../../../extensions/slack/test/no-lookups.ts";
import type { ReadContext } from "../../../extensions/slack/inbound/read-context.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";

interface Replay {
  /** The page that shows the shape. */
  readonly source: string;
  readonly deliveries: readonly Delivery[];
  readonly expected: readonly unknown[];
}

const names: Readonly<Record<string, string>> = { U061F7AUR: "Ada", C0LAN2Q65: "crew" };
const nameOf = async (id: string): Promise<string | undefined> => names[id];
const context: ReadContext = {
  account: DEFAULT_ACCOUNT,
  self: { userId: "UBOT", botId: "BBOT", teamId: "T0001", name: "bot", team: "Example", scopes: [] },
  config: slackConfig.parse({ slashCommand: { enabled: true } }),
  people: {
    user: nameOf,
    channel: nameOf,
    sender: async (id) => ({ id, ...(names[id] !== undefined && { name: names[id] }) }),
  },
  ...NO_LOOKUPS,
  commands: [{ name: "status", description: "" }],
  now: () => 0,
};
const files = fs.readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));

test.each(files)("%s becomes the messages that it should", async (name) => {
  const replay = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, name), "utf8")) as Replay;
  const read = await Promise.all(replay.deliveries.map((delivery) => readDelivery(delivery, context)));
  expect(read.filter((message) => message !== undefined)).toEqual(replay.expected);
});

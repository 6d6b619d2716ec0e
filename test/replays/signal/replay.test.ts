import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readEnvelope } from "../../../extensions/signal/inbound/inbound.ts";
import { readReceived } from "../../../extensions/signal/inbound/schema.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";

interface Replay {
  readonly events: readonly unknown[];
  readonly expected: readonly unknown[];
}
const view = {
  account: DEFAULT_ACCOUNT,
  config: { selfChatMode: false, ignoreAttachments: false },
  self: { number: "+15550009999", uuid: "99999999-9999-4999-8999-999999999999" },
  now: 0,
  nameOf: () => undefined,
  filesOf: () => [],
};
const files = fs.readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));

test.each(files)("%s becomes the messages that it should", (name) => {
  const replay = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, name), "utf8")) as Replay;
  const messages = replay.events.flatMap((event) => {
    const { envelope } = readReceived(JSON.stringify(event));
    return (envelope && readEnvelope(envelope, view)) ?? [];
  });
  expect(messages).toEqual(replay.expected);
});

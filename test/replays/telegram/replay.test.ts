import fs from "node:fs";
import path from "node:path";
import type { Update } from "grammy/types";
import { expect, test } from "vitest";
import { readUpdate } from "../../../extensions/telegram/receive/inbound.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";

interface Replay {
  readonly updates: readonly Update[];
  readonly expected: readonly unknown[];
}
const view = { account: DEFAULT_ACCOUNT, self: { id: 4200, username: "test_bot", name: "Test Bot" }, now: 0 };
const files = fs.readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));

test.each(files)("%s becomes the messages that it should", (name) => {
  const replay = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, name), "utf8")) as Replay;
  const messages = replay.updates.flatMap((update) => readUpdate(update, view));
  expect(messages).toEqual(replay.expected);
});

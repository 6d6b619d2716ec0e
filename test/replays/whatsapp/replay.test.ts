import fs from "node:fs";
import path from "node:path";
import { BufferJSON } from "@whiskeysockets/baileys";
import type { WAMessage } from "@whiskeysockets/baileys";
import { expect, test } from "vitest";
import { readMessage } from "../../../extensions/whatsapp/inbound/inbound.ts";
import type { MessageView } from "../../../extensions/whatsapp/view.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";

interface Replay {
  readonly ownChat?: boolean;
  readonly phones?: Readonly<Record<string, string>>;
  readonly messages: readonly WAMessage[];
  readonly expected: readonly unknown[];
}
const files = fs.readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));

test.each(files)("%s becomes the messages that it should", (name) => {
  const text = fs.readFileSync(path.join(import.meta.dirname, name), "utf8");
  const replay = JSON.parse(text, BufferJSON.reviver) as Replay;
  const view: MessageView = {
    account: DEFAULT_ACCOUNT,
    self: { jid: "4915550001:1@s.whatsapp.net", lid: "900900:1@lid", name: "Claw" },
    now: 0,
    ownChat: replay.ownChat ?? false,
    phones: new Map(Object.entries(replay.phones ?? {})),
    names: new Map([["+4917067890", "Bob"]]),
    title: "Crew",
  };
  const messages = replay.messages.map((message) => readMessage(message, view)).filter((it) => it !== undefined);
  expect(JSON.parse(JSON.stringify(messages))).toEqual(replay.expected);
});

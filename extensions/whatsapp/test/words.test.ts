import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { endingOf } from "../link/endings.ts";
import { addressOf, isOwnId, messageId, ownId, readMessageId } from "../jid.ts";
import { whatsappAccounts, whatsappConfig } from "../index.ts";

describe("ids", () => {
  test("of our own are stable, look like WhatsApp Web's, and are known again", () => {
    fc.assert(
      fc.property(fc.string(), (seed) => {
        const id = ownId(seed);
        expect(id).toMatch(/^3EB0[0-9A-F]{18}$/);
        expect(ownId(seed)).toBe(id);
        expect(isOwnId(id)).toBe(true);
      }),
    );
  });

  test("of others are not taken for ours", () => {
    expect(["3EB0C767D26A1D1F1A0B22", "3A5F1C2D3E4F5A6B7C8D", ""].map(isOwnId)).toEqual([false, false, false]);
  });

  test("carry their author there and back", () => {
    expect(readMessageId(messageId("AB12", "4917012345:3@s.whatsapp.net"))).toEqual({
      id: "AB12",
      author: "4917012345@s.whatsapp.net",
    });
    expect(readMessageId(messageId("AB12"))).toEqual({ id: "AB12" });
  });

  test("of chats lead to addresses", () => {
    expect(addressOf("+49 170 12345")).toBe("4917012345@s.whatsapp.net");
    expect(addressOf("120363000000000001@g.us")).toBe("120363000000000001@g.us");
    expect(addressOf("111111@lid")).toBe("111111@lid");
  });
});

describe("endings", () => {
  test.each([401, 402, 403, 411, 419])("%i is the end, with what to do", (code) => {
    expect(endingOf(code, 0)).toMatchObject({ kind: "dead", fix: expect.stringMatching(/\.$/) });
  });

  test.each([405, 408, 428, 440, 499, 500, 503, undefined])("%s is tried again", (code) => {
    expect(endingOf(code, 0)).toMatchObject({ kind: "pause" });
  });

  test("515 is tried at once, but not for ever", () => {
    expect([0, 1, 2, 3, 9].map((failures) => endingOf(515, failures).kind)).toEqual([
      "again",
      "again",
      "again",
      "pause",
      "pause",
    ]);
  });
});

test("accounts take over the channel's keys", () => {
  const section = { selfChatMode: true, accounts: { home: {}, work: { sendReadReceipts: false } } };
  expect(
    whatsappAccounts(section).map(({ account, config }) => [account, config.selfChatMode, config.sendReadReceipts]),
  ).toEqual([
    ["home", true, true],
    ["work", true, false],
  ]);
  expect(() => whatsappConfig.parse({ waWebSocketUrl: "https://x.example" })).toThrow();
});

import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { accountFolder, defaultAccountOf, lowerLimits } from "../../src/app/accounts/accounts.ts";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { accountConfig } from "../../src/channels/config.ts";

let place = "";
afterEach(async () => {
  if (place !== "") await rm(place, { recursive: true });
  place = "";
});

it("an account's keys are in a private folder that no account name can escape", async () => {
  place = await mkdtemp(join(tmpdir(), "keys-"));
  expect(await accountFolder(place, "whatsapp", "default")).toBe(join(place, "whatsapp", "default"));
  const odd = await accountFolder(place, "whatsapp", "../../up");
  expect(odd).toBe(join(place, "whatsapp", "%2E%2E%2F%2E%2E%2Fup"));
  expect((await stat(odd)).mode & 0o777).toBe(0o700);
});

it("the account that is meant is the one named so, else `default`, else the first", () => {
  const config = configSchema.parse({
    channels: {
      one: {},
      two: { accounts: { work: {}, home: {} } },
      three: { accounts: { work: {}, default: {} } },
      four: { accounts: { work: {}, home: {} }, defaultAccount: "home" },
    },
  });
  const names = ["one", "two", "three", "four", "none"].map((channel) => defaultAccountOf(config, channel));
  expect(names).toEqual(["default", "work", "default", "home", "default"]);
});

it("limits of the config only ever lower the platform's", () => {
  const limits = { text: 2000, lines: 17, format: "discord", media: 1 } as const;
  const lower = (account: object) => lowerLimits(limits, accountConfig.parse(account));
  expect(lower({})).toEqual(limits);
  expect(lower({ textChunkLimit: 9000 }).text).toBe(2000);
  expect(lower({ textChunkLimit: 500, maxLinesPerMessage: 40, markdown: { tables: "code" } })).toEqual({
    ...limits,
    text: 500,
    lines: 40,
    tables: "code",
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { accountsIn } from "../../src/app/accounts/channel-accounts.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { bundledContributions, contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { checkAccount } from "../../src/channels/checks.ts";

const contributions = bundledContributions();

/** A login of each channel, another one, and a key that names another server where the channel has one. */
const LOGINS: Readonly<Record<string, { one: object; other: object; elsewhere?: object }>> = {
  telegram: {
    one: { botToken: "1:aaaaaaaa" },
    other: { botToken: "2:bbbbbbbb" },
    elsewhere: { apiRoot: "http://127.0.0.1:1" },
  },
  discord: {
    one: { token: "token-of-one" },
    other: { token: "token-of-two" },
    elsewhere: { apiUrl: "http://127.0.0.1:1" },
  },
  slack: {
    one: { botToken: "xoxb-one-aaaa" },
    other: { botToken: "xoxb-two-bbbb" },
    elsewhere: { apiUrl: "http://127.0.0.1:1" },
  },
  signal: { one: { account: "+15550000001" }, other: { account: "+15550000002" } },
};
/** Their accounts are linked, not configured: each has a folder of its own with the keys of its device. */
const LINKED = ["whatsapp"];

/** What validation says of the accounts, and which of them are started. */
async function judged(channel: string, section: object) {
  const dir = mkdtempSync(join(tmpdir(), "same-login-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, "openclaw.json");
  writeFileSync(path, JSON.stringify({ channels: { [channel]: section } }));
  const { config, warnings } = await loadConfig({ path, env: {}, ...(await contributedSchemas(contributions)) });
  const accounts = await accountsIn({ config, contributions });
  const stopped = accounts.filter((account) => account.enabled && account.stopped);
  const checks = await Promise.all(stopped.map((account) => checkAccount(account, new AbortController().signal)));
  return {
    warned: warnings.filter(({ message }) => message.includes("logs in as")).map(({ key }) => key),
    stopped: stopped.map(({ account }) => account as string),
    doctor: checks.map(({ status, message }) => `${status}: ${message}`),
  };
}

/** The keys of logins that validation says no account uses. */
async function unusedIn(channel: string, section: object) {
  const dir = mkdtempSync(join(tmpdir(), "same-login-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, "openclaw.json");
  writeFileSync(path, JSON.stringify({ channels: { [channel]: section } }));
  const { warnings } = await loadConfig({ path, env: {}, ...(await contributedSchemas(contributions)) });
  return warnings.filter(({ message }) => message.includes("no account uses it")).map(({ key }) => key);
}

const fine = { warned: [], stopped: [], doctor: [] };

it("every bundled channel says what its login is, or has no login in the config", () => {
  const ids = contributions.channels.map(({ id }) => id);
  expect([...Object.keys(LOGINS), ...LINKED].toSorted()).toEqual(ids.toSorted());
});

describe.each(Object.entries(LOGINS))("accounts of %s", (channel, { one, other, elsewhere }) => {
  it("with one login are one account: the default one is started, the others are named by validation and doctor", async () => {
    const twice = { accounts: { two: one, default: one } };
    const found = await judged(channel, twice);
    expect(found).toMatchObject({ warned: [`channels.${channel}.accounts.two`], stopped: ["two"] });
    expect(found.doctor).toEqual([expect.stringMatching(/^fail: is not started: Account default has the same login/)]);
  });

  it("that all have their own leave a login of the channel without a bot, which validation names", async () => {
    const { warned, stopped } = await judged(channel, { ...one, accounts: { second: other } });
    expect({ warned, stopped }).toEqual({ warned: [], stopped: [] });
    expect(await unusedIn(channel, { ...one, accounts: { second: other } })).toHaveLength(1);
    expect(await unusedIn(channel, { ...one, accounts: { second: other, default: {} } })).toEqual([]);
    expect(await unusedIn(channel, { ...one, accounts: {} })).toEqual([]);
    expect(await unusedIn(channel, one)).toEqual([]);
  });

  it("that inherit one login are one account", async () => {
    expect(await judged(channel, { ...one, accounts: { a: {}, b: {}, c: other } })).toMatchObject({
      warned: [`channels.${channel}.accounts.b`],
      stopped: ["b"],
    });
  });

  it("with logins of their own, on servers of their own, or switched off, are all left alone", async () => {
    expect(await judged(channel, { accounts: { a: one, b: other } })).toEqual(fine);
    expect(await judged(channel, { accounts: { a: one, b: { ...one, enabled: false } } })).toEqual(fine);
    expect(await judged(channel, { enabled: false, accounts: { a: one, b: one } })).toEqual(fine);
    expect(await judged(channel, { accounts: { a: {}, b: {} } })).toEqual(fine);
    expect(await judged(channel, one)).toEqual(fine);
    if (elsewhere) expect(await judged(channel, { accounts: { a: one, b: { ...one, ...elsewhere } } })).toEqual(fine);
  });
});

it("a server that is named and is the default is no server of its own", async () => {
  const { one } = LOGINS["telegram"]!;
  const named = { ...one, apiRoot: "https://api.telegram.org/" };
  expect(await judged("telegram", { accounts: { a: one, b: named } })).toMatchObject({ stopped: ["b"] });
});

import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { Logins } from "../../../src/app/gateway/logins/logins.ts";
import type { ConfiguredAccount } from "../../../src/channels/ports.ts";
import type { ChannelAdapter, LoginHost } from "../../../src/types/chat/channel.ts";
import { OpenClawError } from "../../../src/types/errors.ts";
import { accountId, DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import { TestClock, TOY } from "../../kit/toy-channel.ts";

type End = { readonly id: string; readonly name: string };
let desks: { readonly desk: LoginHost; readonly end: PromiseWithResolvers<End> }[];
let events: string[];
let clock: TestClock;
let logins: Logins;

const adapter: ChannelAdapter = {
  id: TOY,
  label: "Toy",
  limits: { text: 10, format: "plain", media: 1 },
  config: z.unknown(),
  connect: () => Promise.reject(new Error("not here")),
  login: (_config, desk) => {
    const end = Promise.withResolvers<End>();
    desks.push({ desk, end });
    events.push("login");
    desk.signal.addEventListener("abort", () => end.reject(new Error("aborted")));
    return end.promise;
  },
};
const account: ConfiguredAccount = { adapter, account: DEFAULT_ACCOUNT, config: {}, enabled: true };

beforeEach(() => {
  desks = [];
  events = [];
  clock = new TestClock();
  logins = new Logins({
    clock,
    log: { info: () => undefined, warn: () => undefined },
    folder: async () => "/keys",
    library: async (wish) => {
      wish.fetching?.(`fetching ${wish.name}`);
      return `file:///${wish.channel}/${wish.name}`;
    },
    pause: async () => {
      events.push("down");
      return async () => void events.push("up");
    },
  });
});

test("each step is reported once, in order and at once; the account is stopped meanwhile", async () => {
  const { loginId, state, next } = logins.start(account, "+4930123456");
  expect([state, next]).toEqual(["waiting", 0]);
  await clock.pass(1);
  const [first] = desks;
  expect([first?.desk.phone, await first?.desk.folder()]).toEqual(["+4930123456", "/keys"]);
  const waiting = logins.wait(loginId, 0, 25_000);
  first?.desk.show({ kind: "qr", text: "one" });
  expect(await waiting).toMatchObject({ state: "waiting", steps: [{ text: "one" }], next: 1 });
  first?.desk.show({ kind: "qr", text: "two" });
  first?.desk.show({ kind: "text", text: "scanned" });
  expect(await logins.wait(loginId, 1, 25_000)).toMatchObject({
    steps: [{ text: "two" }, { text: "scanned" }],
    next: 3,
  });
  const last = logins.wait(loginId, 3, 25_000);
  first?.end.resolve({ id: "7", name: "Me" });
  expect(await last).toMatchObject({ state: "linked", steps: [], self: { name: "Me" } });
  expect(events).toEqual(["down", "login", "up"]);
  expect(await logins.wait(loginId, 0, 25_000)).toMatchObject({ state: "linked", next: 3 });
});

test("the download of a library is reported as a step", async () => {
  const { loginId } = logins.start(account, undefined);
  await clock.pass(1);
  expect(await desks[0]?.desk.library("toy-sdk")).toBe("file:///toy/toy-sdk");
  expect(await logins.wait(loginId, 0, 0)).toMatchObject({ steps: [{ kind: "text", text: "fetching toy-sdk …" }] });
});

test("waiting ends without news after its time", async () => {
  const { loginId } = logins.start(account, undefined);
  const waiting = logins.wait(loginId, 0, 500);
  await clock.pass(500);
  expect(await waiting).toMatchObject({ state: "waiting", steps: [] });
});

test("a login ends by cancel, by the next one of the account, and by itself after ten minutes; then the account comes up", async () => {
  const first = logins.start(account, undefined);
  await clock.pass(1);
  const second = logins.start(account, undefined);
  await clock.pass(1);
  expect(await logins.wait(first.loginId, 0, 0)).toMatchObject({ state: "failed", error: "It was given up." });
  logins.cancel(second.loginId);
  await clock.pass(1);
  expect(await logins.wait(second.loginId, 0, 0)).toMatchObject({ state: "failed" });
  const third = logins.start(account, undefined);
  await clock.pass(600_001);
  expect(await logins.wait(third.loginId, 0, 0)).toMatchObject({ state: "failed" });
  expect(events.filter((event) => event === "up")).toHaveLength(3);
});

test("an account with its own section gets its own keys", async () => {
  const { loginId } = logins.start({ ...account, account: accountId("work"), isNamed: true }, undefined);
  await clock.pass(1);
  desks[0]?.desk.show({ kind: "text", text: "Set channels.toy.account." });
  desks[0]?.end.reject(new OpenClawError("CHANNEL_CONFIG", { message: "No.", fix: "Check channels.toy.botToken." }));
  await clock.pass(1);
  expect(await logins.wait(loginId, 0, 0)).toMatchObject({
    steps: [{ text: "Set channels.toy.accounts.work.account." }],
    fix: "Check channels.toy.accounts.work.botToken.",
  });
});

test("what the platform says is the end; what cannot be linked is refused", async () => {
  const { loginId } = logins.start(account, undefined);
  await clock.pass(1);
  desks[0]?.end.reject(new OpenClawError("CHANNEL_AUTH", { message: "Refused.", fix: "Try it later." }));
  await clock.pass(1);
  expect(await logins.wait(loginId, 0, 0)).toMatchObject({
    state: "failed",
    error: "Refused.",
    fix: "Try it later.",
    code: "CHANNEL_AUTH",
  });
  const { login: _none, ...plain } = adapter;
  expect(() => logins.start({ ...account, adapter: plain }, undefined)).toThrow("Toy needs no login");
  await expect(logins.wait("nobody", 0, 0)).rejects.toThrow("no such login");
});

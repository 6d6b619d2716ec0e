import { inflateSync } from "node:zlib";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { Logins } from "../../../../src/app/gateway/logins/logins.ts";
import { webLoginMethods } from "../../../../src/app/gateway/logins/web-login-methods.ts";
import type { ConfiguredAccount } from "../../../../src/channels/ports.ts";
import type { ChannelAdapter, LoginHost } from "../../../../src/types/chat/channel.ts";
import { DEFAULT_ACCOUNT } from "../../../../src/types/ids.ts";
import { MethodError } from "../../../../src/types/method.ts";
import { qrRows } from "../../../../src/utils/text/qr.ts";
import { TestClock, TOY } from "../../../kit/toy-channel.ts";

type End = { readonly id: string; readonly name: string };
let hosts: { readonly host: LoginHost; readonly end: PromiseWithResolvers<End> }[];
let clock: TestClock;
let accounts: ConfiguredAccount[];
let connected: boolean;
let loggedOut: number;
let methods: ReturnType<typeof webLoginMethods>;

const adapter: ChannelAdapter = {
  id: TOY,
  label: "Toy",
  limits: { text: 10, format: "plain", media: 1 },
  config: z.unknown(),
  connect: () => Promise.reject(new Error("not here")),
  login: (_config, host) => {
    const end = Promise.withResolvers<End>();
    hosts.push({ host, end });
    host.signal.addEventListener("abort", () => end.reject(new Error("aborted")));
    return end.promise;
  },
};
const { login: _login, ...withoutLogin } = adapter;
const account = (of: ChannelAdapter): ConfiguredAccount => ({
  adapter: of,
  account: DEFAULT_ACCOUNT,
  config: {},
  enabled: true,
});

beforeEach(() => {
  hosts = [];
  clock = new TestClock();
  accounts = [account(adapter)];
  connected = false;
  loggedOut = 0;
  const logins = new Logins({
    clock,
    log: { info: () => undefined, warn: () => undefined },
    folder: async () => "/keys",
    library: async () => "file:///library",
    pause: async () => async () => undefined,
  });
  methods = webLoginMethods({
    logins,
    clock,
    accounts: async () => accounts,
    isConnected: () => connected,
    logout: async () => {
      loggedOut += 1;
    },
  });
});

const answer = z.object({
  message: z.string().min(1),
  connected: z.boolean(),
  qrDataUrl: z
    .string()
    .max(16_384)
    .regex(/^data:image\/png;base64,/)
    .optional(),
  sessionKey: z.string().optional(),
});
const CALLER = {
  connId: "c",
  scopes: new Set(["operator.admin"]),
  client: { id: "test", version: "1", platform: "linux", mode: "test" },
};
async function ask(name: string, params: object = {}) {
  const method = methods.find((one) => one.name === name);
  return answer.parse(await method?.run(params, CALLER));
}

const linking = async () => {
  await clock.pass(0);
  return hosts.at(-1) ?? expect.fail("no login has begun");
};

/** The cells of a code's picture, as `qrRows` has them. */
function rowsIn(dataUrl = ""): readonly string[] {
  const png = Buffer.from(dataUrl.slice(dataUrl.indexOf(",") + 1), "base64");
  const width = png.readUInt32BE(16);
  const at = png.indexOf("IDAT");
  const pixels = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
  const cell = (x: number, y: number) => (pixels[y * (width + 1) + 1 + x] === 0 ? "1" : "0");
  const places = Array.from({ length: width / 6 - 8 }, (_, one) => (one + 4) * 6 + 3);
  return places.map((y) => places.map((x) => cell(x, y)).join(""));
}

test("a code is shown as a picture, the next one replaces it, and the phone's answer ends it", async () => {
  const started = ask("web.login.start", { channel: TOY, timeoutMs: 30_000 });
  const { host, end } = await linking();
  host.show({ kind: "text", text: "Fetching the library …" });
  host.show({ kind: "qr", text: "one" });
  const first = await started;
  expect(rowsIn(first.qrDataUrl)).toEqual(qrRows("one"));
  expect(first).toMatchObject({ connected: false, message: "Scan this code with Toy on the phone." });
  const { sessionKey, qrDataUrl: currentQrDataUrl } = first;
  const waited = ask("web.login.wait", { channel: TOY, sessionKey, currentQrDataUrl, timeoutMs: 60_000 });
  host.show({ kind: "text", text: "Not linked yet." });
  host.show({ kind: "qr", text: "two" });
  const second = await waited;
  expect(rowsIn(second.qrDataUrl)).toEqual(qrRows("two"));
  const ended = ask("web.login.wait", { currentQrDataUrl: second.qrDataUrl });
  end.resolve({ id: "+49301234567", name: "Ann" });
  expect(await ended).toEqual({ connected: true, message: "Linked as Ann." });
});

test("a wait ends with its time, and a failed login says why", async () => {
  const started = ask("web.login.start", { timeoutMs: 1000 });
  const { end } = await linking();
  await clock.pass(1000);
  const { sessionKey } = await started;
  expect(sessionKey).toEqual(expect.any(String));
  const waited = ask("web.login.wait", { sessionKey, timeoutMs: 5000 });
  await clock.pass(10);
  end.reject(new Error("the phone said no"));
  expect(await waited).toEqual({ connected: false, message: "the phone said no" });
});

test("an account that is linked stays so, unless it is to be linked anew", async () => {
  connected = true;
  expect(await ask("web.login.start", {})).toEqual({ connected: true, message: "Toy is linked already." });
  expect(hosts).toEqual([]);
  const again = ask("web.login.start", { force: true, timeoutMs: 1 });
  await linking();
  await clock.pass(1);
  expect(await again).toMatchObject({ connected: false });
  expect(loggedOut).toBe(1);
});

test.each([
  ["no channel that is linked by a code", () => (accounts = []), {}, /web login provider is not available/],
  [
    "a channel without a login",
    () => (accounts = [account(withoutLogin)]),
    { channel: TOY },
    /web login is not supported by provider/,
  ],
  ["an unknown account", () => undefined, { accountId: "other" }, /web login provider is not available/],
])("%s is refused", async (_name, given, params, why) => {
  given();
  for (const method of ["web.login.start", "web.login.wait"]) {
    const error: unknown = await ask(method, params).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MethodError);
    expect(error).toMatchObject({ code: "INVALID_REQUEST", message: expect.stringMatching(why) });
  }
});

test("a wait without a login is refused", async () => {
  await expect(ask("web.login.wait")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
});

import { sign } from "node:crypto";
import { GatewayClient } from "@openclaw/gateway-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RawClient, startTestServer, TOKEN, type Overrides, type TestServer } from "../kit/server/server.ts";
import { Device } from "../kit/server/device.ts";
import { expectShape } from "./shapes.ts";

let gateway: TestServer;
let kept: string | undefined;
const store = { read: async () => kept, write: async (text: string) => void (kept = text) };

const start = (more: Overrides = {}) => startTestServer({ ...more, ports: { devices: store, ...more.ports } });

beforeEach(async () => {
  kept = undefined;
  gateway = await start();
});
afterEach(() => gateway.server.close(100));

/** A client with the gateway's token and all rights. */
async function operator(): Promise<RawClient> {
  const client = new RawClient(gateway.url);
  await client.connect();
  return client;
}

async function pairedOnes(client: RawClient): Promise<Record<string, unknown>[]> {
  const { payload } = await client.request("device.pair.list");
  return (payload as { paired: Record<string, unknown>[] }).paired;
}

const WIDE = ["operator.read", "operator.write"];

describe("a device", () => {
  test("that connects with the gateway's token gets one of its own, and connects with that alone", async () => {
    const device = new Device(() => gateway.url);
    const first = await device.connect({ token: TOKEN }, WIDE);
    expect(first.answer).toMatchObject({ ok: true, payload: { auth: { role: "operator", scopes: WIDE } } });
    expectShape("HelloOk", first.answer["payload"]);
    expect(first.token).toMatch(/^[\w-]{43}$/);
    const again = await device.connect({ token: TOKEN }, WIDE);
    expect(again.token).toBe(first.token);
    const alone = await device.connect({ token: first.token, deviceToken: first.token }, ["operator.read"]);
    expect(alone.answer).toMatchObject({ ok: true, payload: { auth: { scopes: ["operator.read"] } } });
  });

  test("is known after a restart", async () => {
    const device = new Device(() => gateway.url);
    const { token } = await device.connect({ token: TOKEN });
    await gateway.server.close(100);
    gateway = await start();
    expect((await device.connect({ deviceToken: token })).answer).toMatchObject({ ok: true });
    const [paired] = await pairedOnes(await operator());
    expect(paired).toMatchObject({ deviceId: device.id, roles: ["operator"], connected: true });
    expect(JSON.stringify(paired)).not.toContain(token);
  });

  test("gets no token that cannot be kept", async () => {
    const full = async () => Promise.reject(new Error("ENOSPC"));
    await gateway.server.close(100);
    gateway = await start({ ports: { devices: { ...store, write: full } } });
    const { answer, client } = await new Device(() => gateway.url).connect({ token: TOKEN });
    expect(answer).toMatchObject({ ok: false, error: { code: "UNAVAILABLE" } });
    expect(await client.closed).toMatchObject({ code: 1011 });
    expect(await (await operator()).request("health")).toMatchObject({ ok: true });
  });

  test("needs the gateway's token, too, where roles of people are set up", async () => {
    const device = new Device(() => gateway.url);
    const { token } = await device.connect({ token: TOKEN });
    await gateway.server.close(100);
    gateway = await start({ access: { takesDeviceTokens: false } });
    for (let tries = 0; tries < 5; tries += 1) {
      const { answer } = await device.connect({ token, deviceToken: token });
      expect(answer).toMatchObject({ ok: false, error: { details: { code: "AUTH_DEVICE_TOKEN_NOT_ALLOWED" } } });
    }
    expect((await device.connect({ token: TOKEN, deviceToken: token })).answer).toMatchObject({ ok: true });
  });

  test("of others cannot use its token", async () => {
    const { token } = await new Device(() => gateway.url).connect({ token: TOKEN });
    const { answer, client } = await new Device(() => gateway.url).connect({ token, deviceToken: token });
    expect(answer).toMatchObject({ error: { details: { code: "AUTH_DEVICE_TOKEN_MISMATCH" } } });
    expect((await client.closed).reason).toContain("device token mismatch");
    const bare = new RawClient(gateway.url);
    expect(await bare.connect({ auth: { token } })).toMatchObject({
      error: { details: { code: "AUTH_TOKEN_MISMATCH" } },
    });
  });

  test.each([
    ["another key", { publicKey: new Device(() => "").publicKey }, "DEVICE_AUTH_DEVICE_ID_MISMATCH"],
    ["no key", { publicKey: "AAAA" }, "DEVICE_AUTH_PUBLIC_KEY_INVALID"],
    ["another signature", { signature: Buffer.alloc(64).toString("base64url") }, "DEVICE_AUTH_SIGNATURE_INVALID"],
    ["an old signature", { signedAt: 1 }, "DEVICE_AUTH_SIGNATURE_EXPIRED"],
    ["no nonce", { nonce: "" }, "DEVICE_AUTH_NONCE_REQUIRED"],
    ["the nonce of another connection", { nonce: "another" }, "DEVICE_AUTH_NONCE_MISMATCH"],
  ])("with %s is refused, with the gateway's token too", async (_name, change, code) => {
    const { answer, client } = await new Device(() => gateway.url).connect({ token: TOKEN }, WIDE, change);
    expect(answer).toMatchObject({ ok: false, error: { details: { code } } });
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(await pairedOnes(await operator())).toEqual([]);
  });

  test("of the reference client keeps its token, and needs no other", async () => {
    const device = new Device(() => gateway.url);
    const tokens: string[] = [];
    const connect = (credentials: { token?: string; deviceToken?: string }) =>
      new Promise<void>((resolve, reject) => {
        const hostDeps = {
          signDevicePayload: (_key: string, text: string) =>
            sign(null, Buffer.from(text), device.privateKey).toString("base64url"),
          publicKeyRawBase64UrlFromPem: () => device.publicKey,
          storeDeviceAuthToken: ({ token }: { token: string }) => tokens.push(token),
        };
        const client: GatewayClient = new GatewayClient({
          url: gateway.url,
          ...credentials,
          scopes: WIDE,
          deviceIdentity: { deviceId: device.id, publicKeyPem: "-", privateKeyPem: "-" },
          hostDeps,
          onHelloOk: () => resolve(client.stop()),
          onConnectError: (error: Error) => reject(error),
        } as never);
        client.start();
      });
    await connect({ token: TOKEN });
    await connect({ deviceToken: tokens[0] ?? "" });
    expect(new Set(tokens).size).toBe(1);
  });
});

describe("the operator", () => {
  test("revokes a token: its connections close, and it lets nobody in", async () => {
    const device = new Device(() => gateway.url);
    const { client, token } = await device.connect({ token: TOKEN }, WIDE);
    const by = await operator();
    const revoked = await by.request("device.token.revoke", { deviceId: device.id, role: "operator" });
    expect(revoked).toMatchObject({ ok: true, payload: { deviceId: device.id, revokedAtMs: expect.any(Number) } });
    expect(await client.closed).toMatchObject({ code: 4001, reason: "device token revoked" });
    const { answer } = await device.connect({ deviceToken: token }, WIDE);
    expect(answer).toMatchObject({ error: { details: { code: "AUTH_DEVICE_TOKEN_MISMATCH" } } });
    expect(await pairedOnes(by)).toMatchObject([{ connected: false, tokens: [{ revokedAtMs: expect.any(Number) }] }]);
    const paired = await device.connect({ token: TOKEN });
    expect(paired.token).not.toBe(token);
    expect(await pairedOnes(by)).toMatchObject([{ scopes: ["operator.read"] }]);
  });

  test("rotates a token of another device without seeing it", async () => {
    const device = new Device(() => gateway.url);
    const { client, token } = await device.connect({ token: TOKEN }, WIDE);
    const by = await operator();
    const { payload } = await by.request("device.token.rotate", { deviceId: device.id, role: "operator" });
    const rotatedAtMs: unknown = expect.any(Number);
    const tokenDelivery = "withheld-cross-device";
    expect(payload).toEqual({ deviceId: device.id, role: "operator", scopes: WIDE, rotatedAtMs, tokenDelivery });
    expect(await client.closed).toMatchObject({ code: 4001, reason: "device token rotated" });
    expect((await device.connect({ deviceToken: token })).answer).toMatchObject({ ok: false });
  });

  test("renames and removes one", async () => {
    const device = new Device(() => gateway.url);
    const { client } = await device.connect({ token: TOKEN });
    const by = await operator();
    await by.request("device.pair.rename", { deviceId: device.id, label: " The phone " });
    expect(await pairedOnes(by)).toMatchObject([{ label: "The phone" }]);
    expect(await by.request("device.pair.remove", { deviceId: device.id })).toMatchObject({ ok: true });
    expect(await client.closed).toMatchObject({ code: 4001, reason: "device removed" });
    expect(await pairedOnes(by)).toEqual([]);
  });

  test.each([
    ["device.pair.approve", { requestId: "none" }],
    ["device.pair.reject", { requestId: "none" }],
    ["device.pair.remove", { deviceId: "none" }],
    ["device.pair.rename", { deviceId: "none", label: "a" }],
    ["device.token.rotate", { deviceId: "none", role: "operator" }],
    ["device.token.revoke", { deviceId: "none", role: "operator" }],
  ])("gets a refusal of %s for what is not there", async (method, params) => {
    expect(await (await operator()).request(method, params)).toMatchObject({
      ok: false,
      error: { code: "INVALID_REQUEST" },
    });
  });
});

describe("a device that wants more", () => {
  async function ask() {
    const device = new Device(() => gateway.url);
    const { token } = await device.connect({ token: TOKEN }, ["operator.read"]);
    const by = await operator();
    const { answer } = await device.connect({ deviceToken: token }, WIDE);
    const { payload } = await by.event("device.pair.requested");
    expectShape("DevicePairRequestedEvent", payload);
    const { requestId } = payload as { requestId: string };
    const details = { code: "PAIRING_REQUIRED", reason: "scope-upgrade", requestId };
    expect(answer).toMatchObject({ error: { code: "NOT_PAIRED", details } });
    return { device, token, by, requestId };
  }

  test("waits for a person, and gets it", async () => {
    const { device, token, by, requestId } = await ask();
    const list = await by.request("device.pair.list");
    expect(list).toMatchObject({ payload: { pending: [{ requestId, scopes: WIDE }] } });
    await by.request("device.pair.approve", { requestId });
    const { payload } = await by.event("device.pair.resolved");
    expectShape("DevicePairResolvedEvent", payload);
    expect((await device.connect({ deviceToken: token }, WIDE)).answer).toMatchObject({ ok: true });
  });

  test("keeps what it has when that is rejected", async () => {
    const { device, token, by, requestId } = await ask();
    await by.request("device.pair.reject", { requestId });
    expect(await by.request("device.pair.list")).toMatchObject({ payload: { pending: [] } });
    expect((await device.connect({ deviceToken: token })).answer).toMatchObject({ ok: true });
    expect((await device.connect({ deviceToken: token }, WIDE)).answer).toMatchObject({ ok: false });
  });

  test("cannot take it by itself, or from another device", async () => {
    const pairing = ["operator.pairing"];
    const device = new Device(() => gateway.url);
    const { client, token } = await device.connect({ token: TOKEN }, pairing);
    const other = new Device(() => gateway.url);
    await other.connect({ token: TOKEN }, WIDE);
    const { answer } = await device.connect({ deviceToken: token }, ["operator.admin"]);
    const { error } = answer as { error: { details: { requestId: string } } };
    const { requestId } = error.details;
    expect(await client.request("device.pair.approve", { requestId })).toMatchObject({ ok: false });
    const scopes = ["operator.admin"];
    const params = { deviceId: device.id, role: "operator", scopes };
    expect(await client.request("device.token.rotate", params)).toMatchObject({ ok: false });
    const others = { deviceId: other.id, role: "operator" };
    expect(await client.request("device.token.revoke", others)).toMatchObject({ ok: false });
    expect(await pairedOnes(client)).toMatchObject([{ deviceId: device.id }]);
  });
});

test("a device rotates its own token, and stays connected", async () => {
  const device = new Device(() => gateway.url);
  const { client, token } = await device.connect({ token: TOKEN }, ["operator.pairing", "operator.read"]);
  const params = { deviceId: device.id, role: "operator", scopes: ["operator.read"] };
  const { payload } = await client.request("device.token.rotate", params);
  const { token: next } = payload as { token: string };
  expect(next).not.toBe(token);
  expect(await client.request("health")).toMatchObject({ ok: true });
  expect((await device.connect({ deviceToken: next })).answer).toMatchObject({ ok: true });
  const { answer } = await device.connect({ deviceToken: next }, ["operator.pairing"]);
  expect(answer).toMatchObject({ error: { details: { code: "PAIRING_REQUIRED" } } });
});

test("a device that removes itself gets its answer before its connection closes", async () => {
  const device = new Device(() => gateway.url);
  const { client } = await device.connect({ token: TOKEN }, ["operator.pairing"]);
  expect(await client.request("device.pair.remove", { deviceId: device.id })).toMatchObject({ ok: true });
  expect(await client.closed).toMatchObject({ code: 4001 });
});

describe("a set-up code", () => {
  async function code(params: object) {
    const by = await operator();
    const { payload } = await by.request("device.pair.setupCode", params);
    expectShape("DevicePairSetupCodeResult", payload);
    const { setupCode, setupId } = payload as { setupCode: string; setupId: string };
    const told: unknown = JSON.parse(Buffer.from(setupCode, "base64url").toString());
    return { by, setupId, ...(told as { url: string; bootstrapToken: string }) };
  }

  test("pairs one device, once, without the gateway's token", async () => {
    const { by, setupId, url, bootstrapToken } = await code({ publicUrl: "https://gateway.example.org/" });
    expect(url).toBe("wss://gateway.example.org");
    const device = new Device(() => gateway.url);
    const { answer, token } = await device.connect({ bootstrapToken }, ["operator.admin", ...WIDE]);
    expect(answer).toMatchObject({ ok: true, payload: { auth: { scopes: WIDE } } });
    expectShape("DevicePairSetupCompletedEvent", (await by.event("device.pair.setup.completed"))["payload"]);
    const status = await by.request("device.pair.setupStatus", { setupId });
    expectShape("DevicePairSetupStatusResult", status["payload"]);
    expect(status).toMatchObject({ payload: { completion: { deviceId: device.id, access: "limited" } } });
    expect((await device.connect({ deviceToken: token })).answer).toMatchObject({ ok: true });
    const { answer: second } = await new Device(() => gateway.url).connect({ bootstrapToken });
    expect(second).toMatchObject({ error: { details: { code: "AUTH_BOOTSTRAP_TOKEN_INVALID" } } });
  });

  test("has the address of the proxy with TLS that the config names for the page", async () => {
    const code = async (allowedOrigins: readonly string[]) => {
      const { server, url } = await startTestServer({ access: { allowedOrigins } });
      const device = new Device(() => url);
      const { client } = await device.connect({ token: TOKEN }, ["operator.admin", ...WIDE]);
      const answer = await client.request("device.pair.setupCode", {});
      await server.close(0);
      return answer;
    };
    expect(await code(["http://127.0.0.1:18789", "https://claw.example.org:8443"])).toMatchObject({
      payload: { gatewayUrl: "wss://claw.example.org:8443", urlSource: "gateway.controlUi.allowedOrigins" },
    });
    for (const none of [["https://localhost"], ["https://127.0.0.1", "http://claw.example.org"]])
      expect(await code(none)).toMatchObject({ error: { message: expect.stringContaining("allowedOrigins") } });
  });

  test("is refused where no other machine reaches the gateway, and for a kind of device that is not served", async () => {
    const by = await operator();
    const params = [{ publicUrl: "not a url" }, { publicUrl: "https://a.example", bootstrapProfile: "node" }];
    for (const one of params) {
      expect(await by.request("device.pair.setupCode", one)).toMatchObject({ error: { code: "INVALID_REQUEST" } });
    }
  });
});

import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import type { LoginHost, LoginStep } from "../../../src/types/chat/channel.ts";
import { Host } from "../../../test/contracts/channel.ts";
import { whatsapp, whatsappConfig } from "../index.ts";
import { DEVICE, startFakeWhatsapp } from "./fake/fake-whatsapp.ts";
import type { FakeWhatsApp } from "./fake/fake-whatsapp.ts";

let fake: FakeWhatsApp;
let folder: string;
beforeEach(async () => {
  fake = await startFakeWhatsapp();
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "whatsapp-login-"));
});
afterEach(async () => {
  vi.useRealTimers();
  await fake.close();
  await fs.rm(folder, { recursive: true, force: true });
});

const config = () => whatsappConfig.parse({ waWebSocketUrl: fake.url });
const stopper = () => new AbortController();

function openLogin(show: (step: LoginStep) => void, more: Partial<LoginHost> = {}): LoginHost {
  const log = { info: () => undefined, warn: () => undefined };
  return {
    account: DEFAULT_ACCOUNT,
    signal: stopper().signal,
    log,
    folder: async () => folder,
    library: async (name) => import.meta.resolve(name),
    show,
    ...more,
  };
}

test("a scanned code links the account, over the new connection that WhatsApp asks for", async () => {
  const steps: LoginStep[] = [];
  const login = openLogin((step) => {
    steps.push(step);
    if (step.kind === "qr") fake.pairing.scan(step.text, DEVICE);
  });
  expect(await whatsapp.login?.(config(), login)).toEqual({ id: "+4915550001", name: expect.any(String) });
  expect(steps.map(({ kind }) => kind)).toEqual(["qr", "text"]);
  expect(fake.logins).toBe(1);

  const host = new Host();
  host.folder = async () => folder;
  const link = await whatsapp.connect(config(), host);
  expect(host.reports).toMatchObject([{ kind: "alive", self: { id: "+4915550001" } }]);
  await link.close();
});

test("a number asks for a code to type instead", async () => {
  const stop = stopper();
  const steps: LoginStep[] = [];
  const login = openLogin(
    (step) => {
      steps.push(step);
      stop.abort();
    },
    { phone: "+49 155 50001", signal: stop.signal },
  );
  await expect(whatsapp.login?.(config(), login)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
  expect(steps).toEqual([{ kind: "code", code: expect.stringMatching(/^[0-9A-Z]{8}$/) }]);
});

test("a cancelled login ends at once", async () => {
  const stop = stopper();
  const login = openLogin(() => stop.abort(), { signal: stop.signal });
  await expect(whatsapp.login?.(config(), login)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
});

test("a device that was logged out is linked again", async () => {
  await fake.link(folder);
  fake.loggedOut = true;
  const login = openLogin((step) => {
    fake.loggedOut = false;
    if (step.kind === "qr") fake.pairing.scan(step.text, DEVICE);
  });
  expect(await whatsapp.login?.(config(), login)).toMatchObject({ id: "+4915550001" });
});

/** What a login ends with, and what it showed before; the waits between its tries are over at once. */
async function failedLogin() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const steps: LoginStep[] = [];
  const waits: number[] = [];
  const login = openLogin((step) => {
    steps.push(step);
    if (step.kind === "text") queueMicrotask(() => waits.push(nextTimer()));
  });
  const error: unknown = await Promise.resolve(whatsapp.login?.(config(), login)).catch((reason: unknown) => reason);
  return { error, steps, waits };
}

/** Longer than a wait between two tries, shorter than the library's own timers. */
const LONGEST_WAIT_MS = 8000;

function nextTimer(): number {
  const before = vi.getTimerCount();
  vi.advanceTimersByTime(LONGEST_WAIT_MS);
  return before - vi.getTimerCount();
}

describe("a failed login has a reason", () => {
  const network = expect.stringMatching(/network of this machine.*waWebSocketUrl/);

  test("nobody listens (408): it tries a few times, with waits, and blames no phone", async () => {
    await fake.close();
    const { error, steps, waits } = await failedLogin();
    expect(error).toMatchObject({ code: "CHANNEL_AUTH", message: expect.stringContaining("was lost"), fix: network });
    expect(steps).toHaveLength(4);
    expect(steps[0]).toMatchObject({ kind: "text", text: expect.stringContaining("Trying again") });
    expect(waits).toEqual([1, 1, 1, 1]);
  });

  test("the version is refused (405): at once, with the setting", async () => {
    fake.refusal = 405;
    const { error, steps } = await failedLogin();
    expect(error).toMatchObject({
      message: "WhatsApp was not linked: WhatsApp refuses this version.",
      fix: expect.stringContaining("waVersion"),
    });
    expect(steps).toEqual([]);
  });

  test("the server is not available (503)", async () => {
    fake.refusal = 503;
    const { error, waits } = await failedLogin();
    expect(error).toMatchObject({ message: expect.stringContaining("server is not available"), fix: network });
    expect(waits).toEqual([1, 1, 1, 1]);
  });

  test("nobody took the codes that were shown (408)", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const codes: string[] = [];
    const login = openLogin((step) => {
      if (step.kind !== "qr") return;
      codes.push(step.text);
      // How long the library shows its first code.
      queueMicrotask(() => vi.advanceTimersByTime(60_000));
    });
    await expect(whatsapp.login?.(config(), login)).rejects.toMatchObject({
      message: "WhatsApp was not linked: the phone accepted no code in time.",
      fix: expect.stringContaining("Linked devices"),
    });
    expect(codes).toHaveLength(2);
  });

  test("the phone took the code, and WhatsApp then went away", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const login = openLogin((step) => {
      if (step.kind === "qr") fake.pairing.scan(step.text, DEVICE);
      if (step.kind !== "text") return;
      fake.refusal = 503;
      queueMicrotask(() => vi.advanceTimersByTime(LONGEST_WAIT_MS));
    });
    await expect(whatsapp.login?.(config(), login)).rejects.toMatchObject({
      message: expect.stringContaining("server is not available"),
      fix: network,
    });
  });

  test("a person cancels it", async () => {
    const stop = stopper();
    const login = openLogin(() => stop.abort(), { signal: stop.signal });
    await expect(whatsapp.login?.(config(), login)).rejects.toMatchObject({
      message: expect.stringContaining("cancelled"),
    });
  });
});

test("messages during a login are left for the gateway", async () => {
  await fake.link(folder);
  fake.say({ conversation: "too early" });
  await fake.settled();
  expect(
    await whatsapp.login?.(
      config(),
      openLogin(() => undefined),
    ),
  ).toMatchObject({ name: DEVICE.name });
  expect(fake.queue).toHaveLength(1);
  const host = new Host();
  host.folder = async () => folder;
  const link = await whatsapp.connect(config(), host);
  expect((await host.heard("too early")).sender.name).toBe("Ada");
  await link.close();
});

test("a logout ends the link on WhatsApp and deletes the keys", async () => {
  await fake.link(folder);
  await whatsapp.logout?.(
    config(),
    openLogin(() => undefined),
  );
  await expect.poll(() => fake.unlinked).toEqual([DEVICE.jid]);
  const host = new Host();
  host.folder = async () => folder;
  await expect(whatsapp.connect(config(), host)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
});

test("a logout without a network deletes the keys too", async () => {
  await fake.link(folder);
  await fake.close();
  const steps: LoginStep[] = [];
  await whatsapp.logout?.(
    config(),
    openLogin((step) => steps.push(step)),
  );
  expect(steps).toMatchObject([{ kind: "text" }]);
  const host = new Host();
  host.folder = async () => folder;
  await expect(whatsapp.connect(config(), host)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
});

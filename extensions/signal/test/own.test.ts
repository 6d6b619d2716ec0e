import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { Host, start, stopAll } from "../../../test/contracts/channel.ts";
import type { LoginStep } from "../../../src/types/chat/channel.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { signal } from "../index.ts";
import { SELF, startFakeSignal } from "./fake-signal.ts";
import { DIRECT, signalPlatform } from "./platform.ts";
import { isAlive, writeFakeProgram } from "./signal-server.ts";

let folder = "";
let cliPath = "";

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "signal-cli-"));
  cliPath = await writeFakeProgram(folder);
});
afterEach(stopAll);
afterAll(() => rm(folder, { recursive: true }));

async function begin(more: Record<string, unknown> = {}, host = new Host()) {
  const platform = await signalPlatform();
  return start({ ...platform, config: { account: SELF.number, cliPath, ...more } }, host);
}
const pidsIn = (host: Host): readonly number[] =>
  host.received.map(({ text }) => Number(/^hello from (\d+)/.exec(text)?.[1]));

function openLoginHost() {
  const steps: LoginStep[] = [];
  const { account, log, folder, library } = new Host();
  const show = (step: LoginStep): void => void steps.push(step);
  return { steps, host: { account, log, folder, library, show, signal: new AbortController().signal } };
}

describe("a signal-cli of our own", () => {
  test("is started with its options, delivers messages, and is ended", async () => {
    const { host, link } = await begin({ ignoreAttachments: true, receiveMode: "on-start" });
    const { text } = await host.heard("hello from");
    expect(text).toMatch(
      /-a \+15550009999 daemon --http 127\.0\.0\.1:\d+ --no-receive-stdout --receive-mode on-start --ignore-attachments --ignore-stories$/,
    );
    const [pid = 0] = pidsIn(host);
    expect(isAlive(pid)).toBe(true);
    await link.close();
    expect(isAlive(pid)).toBe(false);
    expect(host.lines.join("\n")).toContain("Started HTTP server on");
  });

  test("is restarted when it ended; a message of that time is retried", async () => {
    const { host, link } = await begin();
    await host.heard("hello from");
    const [pid = 0] = pidsIn(host);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => host.lines.join("\n")).toContain('signal-cli ended {"code":null,"signal":"SIGKILL"}');
    const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
    expect((await link.send(DIRECT, part, { idempotencyKey: "k" })).kind).toBe("retry");
    await host.until(() => host.received.length === 2);
    // The gateway starts it itself, so there is no fix for a person.
    expect(JSON.stringify(host.reports)).not.toContain("Start it there");
    expect(new Set(pidsIn(host)).size).toBe(2);
    expect((await link.send(DIRECT, part, { idempotencyKey: "k" })).kind).toBe("sent");
  });

  test("takes a large file from the account's folder, which is empty afterwards", async () => {
    const host = new Host();
    host.media.set("m", new Uint8Array(14_000_001));
    const { link } = await begin({}, host);
    const media = { kind: "document", name: "big.bin", source: { at: "store", id: mediaId("m") } } as const;
    expect(await link.send(DIRECT, { kind: "media", media }, { idempotencyKey: "k" })).toMatchObject({ kind: "sent" });
    expect(await readdir(await host.folder())).toEqual([]);
  });

  test.each([
    { what: "an unknown account", account: "+15550000000", code: "CHANNEL_AUTH" },
    { what: "no account", account: undefined, code: "CHANNEL_CONFIG" },
  ])("$what is reported at once", async ({ account, code }) => {
    const parsed = signal.config.parse({ account, cliPath });
    await expect(signal.connect(parsed, new Host())).rejects.toMatchObject({ code });
  });

  test("is linked with a code that the phone scans", async () => {
    const { steps, host } = openLoginHost();
    const parsed = signal.config.parse({ cliPath });
    expect(await signal.login?.(parsed, host)).toEqual({ id: SELF.number, name: SELF.number });
    expect(steps).toContainEqual({ kind: "qr", text: "sgnl://linkdevice?uuid=X&pub_key=X" });
  });

  test("that was not linked says why", async () => {
    const { host } = openLoginHost();
    process.env["LINK"] = "refused";
    const refused = signal.login?.(signal.config.parse({ cliPath }), host);
    await expect(refused).rejects.toMatchObject({ code: "CHANNEL_AUTH", message: expect.stringContaining("closed!") });
    delete process.env["LINK"];
    const missing = signal.login?.(signal.config.parse({ cliPath: "/nowhere/signal-cli" }), host);
    await expect(missing).rejects.toMatchObject({ code: "CHANNEL_CONFIG" });
    const given = signal.login?.(signal.config.parse({ cliPath }), { ...host, signal: AbortSignal.abort() });
    await expect(given).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
  });

  test("on another machine is linked the same way, if it accepts accounts", async () => {
    const { steps, host } = openLoginHost();
    const { fake } = await signalPlatform();
    expect(await signal.login?.(signal.config.parse({ httpUrl: fake.url }), host)).toMatchObject({ id: SELF.number });
    expect(steps).toContainEqual({ kind: "qr", text: "sgnl://linkdevice?uuid=X&pub_key=X" });
    await fake.close();
    const single = await startFakeSignal();
    const alone = signal.config.parse({ httpUrl: single.url });
    await expect(signal.login?.(alone, host)).rejects.toMatchObject({
      code: "CHANNEL_CONFIG",
      fix: expect.stringContaining("links no other"),
    });
    await single.close();
    // Now nothing listens there.
    const failed: unknown = await signal.login?.(alone, host).catch((error: unknown) => error);
    const { fix } = failed as { readonly fix: string };
    expect(fix).toMatch(/signal-cli daemon --http.*channels\.signal\.httpUrl/);
    await expect(signal.probe?.(alone, AbortSignal.timeout(5000))).rejects.toMatchObject({ name: "NotNow", fix });
  });

  test("a link that signal-cli refuses is reported with its text, and no other fix", async () => {
    const { fake } = await signalPlatform();
    fake.fail("finishLink", "network");
    const { host } = openLoginHost();
    await expect(signal.login?.(signal.config.parse({ httpUrl: fake.url }), host)).rejects.toMatchObject({
      message: expect.stringContaining("Failed to connect"),
      fix: expect.stringMatching(/^Try again/),
    });
    await fake.close();
  });

  test("doctor reports its version", async () => {
    const parsed = signal.config.parse({ account: SELF.number, cliPath });
    const ask = async () => signal.probe?.(parsed, AbortSignal.timeout(5000));
    expect(await ask()).toBe(`${SELF.number}, signal-cli 0.14.1`);
    vi.stubEnv("SIGNAL_VERSION", "old");
    expect(await ask()).toContain("signal-cli 0.13.18, which is too old");
    vi.unstubAllEnvs();
    vi.stubEnv("SIGNAL_LOCK", "held");
    expect(await ask()).toBe(`${SELF.number}, signal-cli 0.14.1`);
    vi.unstubAllEnvs();
    vi.stubEnv("SIGNAL_DEVICES", "network");
    await expect(ask()).rejects.toMatchObject({
      name: "NotNow",
      message: expect.stringContaining("Connection refused"),
    });
    vi.unstubAllEnvs();
  });

  test("doctor reports an account that is not registered, and a missing one", async () => {
    const ask = async (account?: string) =>
      signal.probe?.(signal.config.parse({ account, cliPath }), AbortSignal.timeout(5000));
    await expect(ask("+15550000000")).rejects.toMatchObject({
      code: "CHANNEL_AUTH",
      message: expect.stringContaining("+15550000000"),
      fix: expect.stringContaining("signal-cli link"),
    });
    await expect(ask()).rejects.toMatchObject({ code: "CHANNEL_CONFIG" });
  });
});

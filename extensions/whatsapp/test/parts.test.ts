import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import * as baileys from "@whiskeysockets/baileys";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { MediaItem } from "../../../src/types/chat/message.ts";
import { Host } from "../../../test/contracts/channel.ts";
import { openAuth } from "../link/auth.ts";
import { whatsappConfig } from "../index.ts";
import { download } from "../inbound/media.ts";
import { startFakeWhatsapp } from "./fake/fake-whatsapp.ts";
import type { FakeWhatsApp } from "./fake/fake-whatsapp.ts";

describe("files", () => {
  let fake: FakeWhatsApp;
  beforeAll(async () => {
    fake = await startFakeWhatsapp();
  });
  afterAll(() => fake.close());

  const item = (ref: object, more: Partial<MediaItem> = {}): MediaItem => ({
    kind: "voice",
    source: { at: "platform", ref: JSON.stringify(ref) },
    ...more,
  });
  const fetchIt = async (file: MediaItem, limit = 1) =>
    download(new Host(), whatsappConfig.parse({ mediaUrl: fake.mediaUrl, mediaMaxMb: limit }), file);
  const refOf = (bytes: Uint8Array) => {
    const { directPath, mediaKey } = fake.sealFile(bytes, "Audio");
    return { path: directPath, key: mediaKey.toString("base64"), info: "Audio" };
  };

  test("are decrypted with the key of their kind", async () => {
    const bytes = Buffer.from("a voice of some length, longer than a block");
    expect(Buffer.from((await fetchIt(item(refOf(bytes)))).bytes)).toEqual(bytes);
    await expect(fetchIt(item({ ...refOf(bytes), info: "Image" }))).rejects.toMatchObject({
      code: "MEDIA_UNAVAILABLE",
    });
  });

  test("that are too large, gone or not described are refused", async () => {
    const large = refOf(Buffer.alloc(1_048_576 + 20));
    await expect(fetchIt(item(large))).rejects.toThrow(/more than/);
    await expect(fetchIt(item(large, { bytes: 2_000_000 }))).rejects.toMatchObject({ code: "MEDIA_TOO_LARGE" });
    await expect(fetchIt(item({ ...large, path: "/gone" }))).rejects.toThrow(/404/);
    await expect(fetchIt(item({ path: "x" }))).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
  });

  test("come from the configured address alone, whatever a message says", async () => {
    const elsewhere = { ...refOf(Buffer.from("x")), path: "//169.254.169.254/latest" };
    await expect(fetchIt(item(elsewhere))).rejects.toThrow(`${fake.mediaUrl} answer`);
  });
});

describe("keys", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await fs.mkdtemp(path.join(os.tmpdir(), "whatsapp-auth-"));
  });
  afterEach(() => fs.rm(folder, { recursive: true, force: true }));

  test("come back as they were, bytes as bytes", async () => {
    const auth = await openAuth(folder, baileys);
    const pair = baileys.Curve.generateKeyPair();
    await auth.keys.set({
      "pre-key": { "1": pair, "2": pair },
      session: { "111.0": Buffer.from([1, 2, 3]) },
      "app-state-sync-key": { AA: baileys.proto.Message.AppStateSyncKeyData.fromObject({ keyData: Buffer.from("k") }) },
    });
    await auth.keys.set({ "pre-key": { "2": null } });
    auth.save();
    const { noiseKey } = auth.creds;
    auth.close();
    const again = await openAuth(folder, baileys);
    expect(again.creds.noiseKey).toEqual(noiseKey);
    expect(await again.keys.get("pre-key", ["1", "2"])).toEqual({ "1": pair });
    expect(await again.keys.get("session", ["111.0"])).toEqual({ "111.0": Buffer.from([1, 2, 3]) });
    const { AA } = await again.keys.get("app-state-sync-key", ["AA"]);
    expect(Buffer.from(AA?.keyData ?? []).toString()).toBe("k");
    again.close();
  });

  test("in files of the library, as other gateways keep them, are taken over once, and put aside", async () => {
    const files = await baileys.useMultiFileAuthState(folder);
    const pair = baileys.Curve.generateKeyPair();
    const syncKey = baileys.proto.Message.AppStateSyncKeyData.fromObject({ keyData: Buffer.from("k") });
    const given = {
      "pre-key": { "1": pair },
      session: { "111.0": Buffer.from([1, 2, 3]), "222_1.3": Buffer.from([4]) },
      "sender-key": { "120-34@g.us::111::0": Buffer.from([5]) },
      "sender-key-memory": { "120-34@g.us": { "111@s.whatsapp.net": true } },
      "app-state-sync-key": { "AA/a": syncKey },
      "lid-mapping": { "111": "222", "222_reverse": "111" },
      "device-list": { "111": ["0", "3"] },
    };
    await files.state.keys.set(given);
    await files.saveCreds();
    await fs.writeFile(path.join(folder, "session-999.0.json"), "{half");
    const auth = await openAuth(folder, baileys);
    expect(auth.creds).toEqual(files.state.creds);
    for (const [type, byId] of Object.entries(given))
      expect(await auth.keys.get(type as keyof typeof given, Object.keys(byId))).toEqual(byId);
    expect(await auth.keys.get("session", ["999.0"])).toEqual({});
    auth.forget();
    const { noiseKey } = auth.creds;
    auth.save();
    auth.close();
    const again = await openAuth(folder, baileys);
    expect(again.creds.noiseKey).toEqual(noiseKey);
    expect(await again.keys.get("pre-key", ["1"])).toEqual({});
    again.close();
    expect((await fs.readdir(folder)).filter((name) => name.startsWith("creds"))).toEqual(["creds.json.taken"]);
  });

  test("whose credentials are cut off are read from the copy beside them", async () => {
    const files = await baileys.useMultiFileAuthState(folder);
    await files.saveCreds();
    await fs.rename(path.join(folder, "creds.json"), path.join(folder, "creds.json.bak"));
    await fs.writeFile(path.join(folder, "creds.json"), '{"noiseKey');
    const auth = await openAuth(folder, baileys);
    expect(auth.creds).toEqual(files.state.creds);
    auth.close();
  });

  test("that others could read are restricted, with one warning", async () => {
    (await openAuth(folder, baileys)).close();
    const file = path.join(folder, "auth.sqlite");
    await fs.chmod(file, 0o644);
    const told: string[] = [];
    const log = { warn: (message: string) => void told.push(message) };
    for (let opens = 0; opens < 2; opens += 1) (await openAuth(folder, baileys, log)).close();
    expect((await fs.stat(file)).mode & 0o777).toBe(0o600);
    expect(told).toEqual([expect.stringContaining("readable by other users")]);
  });

  test("that cannot be understood count as none, but who we are does not", async () => {
    const auth = await openAuth(folder, baileys);
    await auth.keys.set({ session: { a: Buffer.from([1]), b: Buffer.from([2]) } });
    auth.save();
    const db = new DatabaseSync(path.join(folder, "auth.sqlite"));
    db.exec("UPDATE keys SET value = '{half' WHERE type = 'session' AND id = 'a'");
    expect(await auth.keys.get("session", ["a", "b"])).toEqual({ b: Buffer.from([2]) });
    await auth.keys.set({ session: { a: Buffer.from([3]) } });
    expect(await auth.keys.get("session", ["a"])).toEqual({ a: Buffer.from([3]) });
    auth.close();
    db.exec("UPDATE keys SET value = '{half' WHERE type = 'creds'");
    db.close();
    await expect(openAuth(folder, baileys)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
  });

  test.each([
    ["pre-key", '{"public":1}'],
    ["lid-mapping", "7"],
    ["device-list", "[1]"],
    ["session", "true"],
    ["app-state-sync-version", "null"],
  ] as const)("of the type %s that are JSON but no key count as missing, and are reported: %s", async (type, value) => {
    const told: unknown[] = [];
    const auth = await openAuth(folder, baileys, { warn: (_message, fields) => void told.push(fields) });
    const db = new DatabaseSync(path.join(folder, "auth.sqlite"));
    db.prepare("INSERT INTO keys (type, id, value) VALUES (?, 'a', ?)").run(type, value);
    db.close();
    expect(await auth.keys.get(type, ["a"])).toEqual({});
    expect(told).toEqual([{ type }]);
    auth.close();
  });

  test("of who we are that are JSON and no credentials are for a person to repair", async () => {
    const auth = await openAuth(folder, baileys);
    auth.save();
    auth.close();
    const db = new DatabaseSync(path.join(folder, "auth.sqlite"));
    db.exec(`UPDATE keys SET value = '{"registrationId":1}' WHERE type = 'creds'`);
    db.close();
    await expect(openAuth(folder, baileys)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
  });

  test("of one change are all there or none is", async () => {
    const auth = await openAuth(folder, baileys);
    const unwritable = Object.assign(Uint8Array.of(2), {
      toJSON() {
        throw new Error("cannot be written");
      },
    });
    const broken = { session: { a: Buffer.from([1]), b: unwritable } };
    expect(() => auth.keys.set(broken)).toThrow("cannot be written");
    expect(await auth.keys.get("session", ["a"])).toEqual({});
    auth.close();
  });

  test("of an account that is forgotten are gone from the file", async () => {
    const auth = await openAuth(folder, baileys);
    await auth.keys.set({ session: { a: Buffer.from("a long secret that would be found") } });
    auth.keep("3EB0", Buffer.from("words"));
    auth.forget();
    expect(await auth.keys.get("session", ["a"])).toEqual({});
    expect(auth.kept("3EB0")).toBeUndefined();
    auth.close();
    const secret = Buffer.from("a long secret that would be found").toString("base64");
    for (const name of await fs.readdir(folder)) {
      expect((await fs.readFile(path.join(folder, name), "latin1")).includes(secret)).toBe(false);
    }
  });
});

test("libsignal's sessions do not reach the console, other lines do", async () => {
  // The console is hushed once per process: another file of this worker may have done so.
  vi.resetModules();
  const { silenceSignalLogs } = await import("../link/log-filter.ts");
  const { info, warn, error } = console;
  const lines: unknown[][] = [];
  try {
    Object.assign(console, { info: (...line: unknown[]) => void lines.push(line) });
    silenceSignalLogs();
    console.info("Closing session:", { privKey: "secret" });
    console.info("an ordinary line");
  } finally {
    Object.assign(console, { info, warn, error });
  }
  expect(lines).toEqual([["an ordinary line"]]);
});

test("where the library is not installed it is the one that the host has", async () => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "whatsapp-library-"));
  const index = path.join(import.meta.dirname, "../index.ts");
  const script = `
    import { registerHooks } from "node:module";
    const name = "@whiskeysockets/baileys";
    registerHooks({ resolve(asked, context, next) {
      if (asked !== name) return next(asked, context);
      throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: "ERR_MODULE_NOT_FOUND" });
    } });
    const { whatsapp, whatsappConfig } = await import(${JSON.stringify(index)});
    const config = whatsappConfig.parse({});
    const asked = [];
    const fetched = "data:text/javascript,export const initAuthCreds = () => { throw new Error('of the host') }";
    const folder = ${JSON.stringify(folder)};
    const host = { library: async (wanted) => (asked.push(wanted), fetched), folder: async () => folder };
    const refused = { library: async () => { throw Object.assign(new Error("offline"), { code: "CHANNEL_LIBRARY" }); } };
    for (const one of [host, refused]) {
      await whatsapp.connect(config, one).catch(({ message, code }) => console.log(asked.join(), code, message));
    }
  `;
  const args = ["--conditions=source", "--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  await fs.rm(folder, { recursive: true });
  const name = "@whiskeysockets/baileys";
  expect(stdout.trim().split("\n")).toEqual([`${name} undefined of the host`, `${name} CHANNEL_LIBRARY offline`]);
});

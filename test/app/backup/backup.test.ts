import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { Header } from "tar";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { verifyBackup } from "../../../src/app/backup/archive.ts";
import { type BackupOptions, planBackup, writeBackup } from "../../../src/app/backup/create.ts";
import { checkRecipients, type Keys, newKeyPair } from "../../../src/app/backup/encryption.ts";
import { nextBackupAt } from "../../../src/app/backup/schedule.ts";
import { restoreBackup } from "../../../src/app/backup/restore.ts";
import { backupConfig, type BackupConfig } from "../../../src/store/config.ts";
import { readInstance } from "../../../src/store/lock/instance.ts";

const NOW = new Date("2026-11-30T12:00:00.000Z");
let dir: string;
let state: string;

const put = (path: string, text: string): void => {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
};
const sources = (more: { includes?: string[]; workspaces?: string[] } = {}) => ({
  paths: { stateDir: state, configPath: join(state, "openclaw.json") },
  includes: more.includes ?? [],
  workspaces: more.workspaces ?? [join(state, "workspace")],
});
const options = (more: Partial<BackupOptions> = {}): BackupOptions => ({
  output: join(dir, "b.tar.gz"),
  includeWorkspace: true,
  onlyConfig: false,
  version: "0.1.0",
  now: NOW,
  ...more,
});
async function written(more: Partial<BackupOptions> = {}, given = sources()): Promise<string> {
  const plan = await planBackup(given, options(more));
  await writeBackup(plan);
  return plan.file;
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "backup-"));
  state = join(dir, "state dir");
  put(join(state, "openclaw.json"), "{}");
  put(join(state, "workspace", "MEMORY.md"), "notes");
  put(join(state, "sessions", "s.jsonl"), '{"type":"session"}\n');
  put(join(state, "logs", "openclaw.log"), "x");
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

describe("a backup", () => {
  it("has what counts, databases of one moment, and neither logs nor locks", async () => {
    const db = new DatabaseSync(join(state, "memory.sqlite"));
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text); INSERT INTO notes VALUES ('in the log of writes')");
    put(join(state, "state", "gateway.lock"), "{}");
    linkSync(join(state, "sessions", "s.jsonl"), join(state, "sessions", "same.jsonl"));
    symlinkSync("MEMORY.md", join(state, "workspace", "inside"));
    symlinkSync("/etc/passwd", join(state, "workspace", "outside"));
    const plan = await planBackup(sources(), options());
    expect(plan.manifest.skipped).toEqual([
      { sourcePath: join(state, "workspace", "outside"), reason: "a link to /etc/passwd" },
    ]);
    const file = await written();
    db.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await verifyBackup(file)).toMatchObject({ databases: [expect.stringMatching(/memory\.sqlite$/)] });

    const target = join(dir, "new", "place");
    await restoreBackup(file, target, { now: NOW.getTime(), keys: {} });
    expect(readdirSync(target).toSorted()).toEqual([
      "memory.sqlite",
      "openclaw.json",
      "sessions",
      "state",
      "workspace",
    ]);
    expect(readdirSync(join(target, "workspace")).toSorted()).toEqual(["MEMORY.md", "inside"]);
    expect(readFileSync(join(target, "workspace", "inside"), "utf8")).toBe("notes");
    expect(readFileSync(join(target, "sessions", "same.jsonl"), "utf8")).toContain("session");
    const copy = new DatabaseSync(join(target, "memory.sqlite"));
    expect(copy.prepare("SELECT text FROM notes").all()).toEqual([{ text: "in the log of writes" }]);
    copy.close();
    expect(await readInstance(target)).toMatchObject({ origin: "backup", isAdopted: false });
  });

  it("has files outside of the state directory, which are told apart when it is restored", async () => {
    const config = join(dir, "etc", "my.json5");
    const [shared, workspace] = [join(dir, "etc", "shared.json5"), join(dir, "work")];
    for (const path of [config, shared, join(workspace, "AGENTS.md")]) put(path, `text of ${path}`);
    const given = { paths: { stateDir: state, configPath: config }, includes: [shared], workspaces: [workspace] };
    const target = join(dir, "restored");
    const { outside } = await restoreBackup(await written({}, given), target, { now: NOW.getTime(), keys: {} });
    expect(outside.map(({ sourcePath }) => sourcePath)).toEqual([config, shared, workspace]);
    expect(outside[0]?.path).toBe(join(target, "openclaw.json"));
    expect(readFileSync(join(target, "openclaw.json"), "utf8")).toBe(`text of ${config}`);
    expect(readFileSync(join(outside[2]?.path ?? "", "AGENTS.md"), "utf8")).toContain("AGENTS.md");
  });

  it("may leave workspaces out, or have the config alone", async () => {
    const names = async (more: Partial<BackupOptions>) =>
      (await planBackup(sources(), options(more))).files.map((file) => file.slice(state.length));
    expect(await names({ includeWorkspace: false })).not.toContain("/workspace/MEMORY.md");
    expect(await names({ onlyConfig: true })).toEqual(["/openclaw.json"]);
  });

  it("says why its place cannot be looked at", async () => {
    const loop = join(dir, "loop.tar.gz");
    symlinkSync(loop, loop);
    for (const output of [loop, join(loop, "b.tar.gz"), join(loop, "folder")])
      await expect(written({ output }), output).rejects.toMatchObject({
        code: "DISK_WRITE",
        message: expect.stringContaining("ELOOP"),
      });
    // A link to nothing is written over no file, and a folder that is not there is made.
    expect(await written({ output: join(dir, "a", "b", "c.tar.gz") })).toBe(join(dir, "a", "b", "c.tar.gz"));
  });

  it("is named by the local time, and never written over another file, or into what it saves", async () => {
    const file = await written({ output: `${dir}/` });
    expect(file).toMatch(/\/2026-11-30T\d\d-00-00\.000[+-]\d\d-\d\d-openclaw-backup\.tar\.gz$/);
    await expect(written({ output: file })).rejects.toMatchObject({
      code: "BACKUP_REFUSED",
      message: expect.stringContaining("is there already"),
    });
    symlinkSync(join(state, "workspace"), join(dir, "link"));
    for (const output of [state, join(state, "b.tar.gz"), join(dir, "link")])
      await expect(written({ output })).rejects.toMatchObject({
        code: "BACKUP_REFUSED",
        message: expect.stringContaining("backed up itself"),
      });
    expect(readdirSync(dir).filter((name) => name.endsWith(".unfinished"))).toEqual([]);
  });
});

describe("odd places", () => {
  it("a state directory and a config that are reached through links are saved as they are", async () => {
    const link = join(dir, "link");
    symlinkSync(state, link);
    put(join(dir, "etc", "real.json"), "the config");
    rmSync(join(state, "openclaw.json"));
    symlinkSync(join(dir, "etc", "real.json"), join(state, "openclaw.json"));
    const given = { paths: { stateDir: link, configPath: join(link, "openclaw.json") }, includes: [], workspaces: [] };
    const target = join(dir, "restored");
    await restoreBackup(await written({}, given), target, { now: 1, keys: {} });
    expect(readFileSync(join(target, "openclaw.json"), "utf8")).toBe("the config");
    expect(readFileSync(join(target, "workspace", "MEMORY.md"), "utf8")).toBe("notes");
  });

  it("links inside are kept however they are written, and those through other links are named", async () => {
    const workspace = join(state, "workspace");
    mkdirSync(join(workspace, "deep", "er"), { recursive: true });
    symlinkSync(join(workspace, "MEMORY.md"), join(workspace, "deep", "absolute"));
    symlinkSync("deep/er", join(workspace, "folder"));
    symlinkSync("folder/../../MEMORY.md", join(workspace, "through"));
    const plan = await planBackup(sources(), options());
    expect(plan.manifest.skipped.map(({ sourcePath }) => sourcePath)).toEqual([join(workspace, "through")]);
    const target = join(dir, "restored");
    await restoreBackup(await written(), target, { now: 1, keys: {} });
    expect(readlinkSync(join(target, "workspace", "deep", "absolute"))).toBe("../MEMORY.md");
    expect(readFileSync(join(target, "workspace", "deep", "absolute"), "utf8")).toBe("notes");
  });

  it("files of a workspace are all saved, and so is one that only begins like a database, or has nothing but zeros", async () => {
    const names = ["Cargo.lock", "logs/a.txt", "tmp/b", "my-journal/c", "d.tmp", "e.pid"];
    for (const name of names) put(join(state, "workspace", name), name);
    put(join(state, "media", "trick"), "SQLite format 3\0 and nothing else");
    writeFileSync(join(state, "media", "zeros"), Buffer.alloc(20 * 1024 * 1024));
    const file = await written();
    expect(await verifyBackup(file)).toMatchObject({ databases: [] });
    const target = join(dir, "restored");
    await restoreBackup(file, target, { now: 1, keys: {} });
    for (const name of names) expect(readFileSync(join(target, "workspace", name), "utf8")).toBe(name);
  });

  it("the unfinished file is where nobody else writes, and of two backups to one file one is told", async () => {
    put(join(dir, "victim"), "untouched");
    symlinkSync(join(dir, "victim"), join(dir, "b.tar.gz.unfinished"));
    const both = await Promise.allSettled([written(), written()]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await verifyBackup(join(dir, "b.tar.gz"))).toBeDefined();
    expect(readFileSync(join(dir, "victim"), "utf8")).toBe("untouched");
    expect(readdirSync(dir).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("a name without the ending of an archive is a folder", async () => {
    expect(await written({ output: join(dir, "backups", "daily") })).toMatch(
      /backups\/daily\/.*-openclaw-backup\.tar\.gz$/,
    );
    await expect(written({ output: " " })).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("a restore", () => {
  it("keeps what comes into its target meanwhile, and is not a link's", async () => {
    const file = await written();
    const target = join(dir, "restored");
    const both = await Promise.allSettled([
      restoreBackup(file, target, { now: 1, keys: {} }),
      restoreBackup(file, target, { now: 1, keys: {} }),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(readdirSync(dir).filter((name) => name.startsWith("."))).toEqual([]);
    mkdirSync(join(dir, "elsewhere"));
    symlinkSync(join(dir, "elsewhere"), join(dir, "to-elsewhere"));
    symlinkSync(join(dir, "nowhere"), join(dir, "to-nowhere"));
    put(join(dir, "a-file"), "mine");
    for (const [name, is] of [
      ["to-elsewhere", "link"],
      ["to-nowhere", "link"],
      ["a-file", "file"],
    ] as const)
      await expect(restoreBackup(file, join(dir, name), { now: 1, keys: {} }), name).rejects.toMatchObject({
        code: "BACKUP_REFUSED",
        message: expect.stringContaining(`is a ${is}:`),
      });
    expect(readdirSync(join(dir, "elsewhere"))).toEqual([]);
    expect([existsSync(join(dir, "nowhere")), readFileSync(join(dir, "a-file"), "utf8")]).toEqual([false, "mine"]);
  });

  it("is never into a directory with something in it", async () => {
    const file = await written();
    await expect(restoreBackup(file, state, { now: 1, keys: {} })).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
    expect(readFileSync(join(state, "openclaw.json"), "utf8")).toBe("{}");
    mkdirSync(join(dir, "empty"));
    expect(await restoreBackup(file, join(dir, "empty"), { now: 1, keys: {} })).toMatchObject({
      target: join(dir, "empty"),
    });
  });

  it("puts the logins of WhatsApp aside, whose old ratchet would damage the original's", async () => {
    put(join(state, "credentials", "whatsapp", "default", "creds.json"), "{}");
    const target = join(dir, "restored");
    const { setAside } = await restoreBackup(await written(), target, { now: NOW.getTime(), keys: {} });
    expect(setAside).toEqual(["credentials/whatsapp.restored-2026-11-30T12-00-00.000Z"]);
    expect(existsSync(join(target, "credentials", "whatsapp"))).toBe(false);
    expect(existsSync(join(target, setAside[0] ?? "", "default", "creds.json"))).toBe(true);
  });
});

const ROOT = "x-openclaw-backup";
const BASE = `${ROOT}/payload/posix/state`;
const manifest = (more: object = {}) =>
  JSON.stringify({
    schemaVersion: 1,
    createdAt: "2026-11-30T12:00:00.000Z",
    archiveRoot: ROOT,
    runtimeVersion: "1",
    paths: { stateDir: "/state", configPath: "/state/openclaw.json" },
    assets: [{ kind: "state", sourcePath: "/state", archivePath: BASE }],
    ...more,
  });
interface Item {
  readonly path: string;
  readonly text?: string;
  readonly type?: "File" | "Directory" | "SymbolicLink" | "Link" | "FIFO";
  readonly linkpath?: string;
  readonly mode?: number;
}
const SOUND: readonly Item[] = [
  { path: `${BASE}/`, type: "Directory" },
  { path: `${BASE}/openclaw.json`, text: "{}" },
];

/** An archive as another program may write it. */
async function archive(items: readonly Item[], manifests: readonly string[] = [manifest()]): Promise<string> {
  const file = join(dir, "hostile.tar.gz");
  const all: readonly Item[] = [...items, ...manifests.map((text) => ({ path: `${ROOT}/manifest.json`, text }))];
  const blocks = all.flatMap(({ path, text = "", type = "File", linkpath, mode = 0o600 }) => {
    const size = Buffer.byteLength(text);
    const head = Buffer.alloc(BLOCK);
    const link = linkpath === undefined ? {} : { linkpath };
    new Header({ path, mode, size, type, mtime: NOW, uid: 0, gid: 0, ...link }).encode(head, 0);
    const body = Buffer.alloc(Math.ceil(size / BLOCK) * BLOCK);
    body.write(text);
    return [head, body];
  });
  writeFileSync(file, gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])));
  return file;
}
const BLOCK = 512;

describe("a backup that somebody else made", () => {
  it("gives its files no more rights than they need, and may name its part with a slash at the end", async () => {
    const assets = [{ kind: "state", sourcePath: "/state", archivePath: `${BASE}/` }];
    const file = await archive([...SOUND, { path: `${BASE}/tool`, text: "x", mode: 0o6755 }], [manifest({ assets })]);
    await restoreBackup(file, join(dir, "restored"), { now: 1, keys: {} });
    expect(statSync(join(dir, "restored", "tool")).mode & 0o7777).toBe(0o755);
  });

  it("is taken when it is sound", async () => {
    expect(await verifyBackup(await archive(SOUND))).toMatchObject({ entries: 3, databases: [] });
  });

  it.each<[problem: string, items: readonly Item[], manifests?: readonly string[]]>([
    ["leads out of the archive", [...SOUND, { path: `${BASE}/../../../../../../evil`, text: "x" }]],
    ["belongs to no part", [...SOUND, { path: `${ROOT}/payload/posix/other/evil`, text: "x" }]],
    ["belongs to no part", [...SOUND, { path: "elsewhere/evil", text: "x" }]],
    ["leads to /etc/passwd", [...SOUND, { path: `${BASE}/l`, type: "SymbolicLink", linkpath: "/etc/passwd" }]],
    [
      "leads to ../../../../../x",
      [...SOUND, { path: `${BASE}/l`, type: "SymbolicLink", linkpath: "../../../../../x" }],
    ],
    ["is a Link", [...SOUND, { path: `${BASE}/l`, type: "Link", linkpath: `${BASE}/openclaw.json` }]],
    [
      "leads to a/b/up/../gw",
      [
        ...SOUND,
        { path: `${BASE}/a/b/up`, type: "SymbolicLink", linkpath: "../.." },
        { path: `${BASE}/l`, type: "SymbolicLink", linkpath: "a/b/up/../gw" },
      ],
    ],
    [
      "lies behind a link",
      [...SOUND, { path: `${BASE}/l`, type: "SymbolicLink", linkpath: "." }, { path: `${BASE}/l/file`, text: "x" }],
    ],
    ["state is a link", [...SOUND, { path: `${BASE}/state`, type: "SymbolicLink", linkpath: "elsewhere" }]],
    ["credentials/x is a link", [...SOUND, { path: `${BASE}/credentials/x`, type: "SymbolicLink", linkpath: "../y" }]],
    ["is there twice", [...SOUND, { path: `${BASE}/openclaw.json`, text: "{ }" }]],
    [
      "manifest.json cannot be read",
      SOUND,
      [manifest({ assets: Array.from({ length: 201 }, () => ({ kind: "x", sourcePath: "/x", archivePath: BASE })) })],
    ],
    ["is a FIFO", [...SOUND, { path: `${BASE}/f`, type: "FIFO" }]],
    ["has 0 manifests", SOUND, []],
    ["has 2 manifests", SOUND, [manifest(), manifest()]],
    ["manifest.json cannot be read", SOUND, ["{"]],
    ["manifest.json cannot be read", SOUND, [manifest({ schemaVersion: 2 })]],
    [
      "is missing",
      SOUND,
      [manifest({ assets: [{ kind: "state", sourcePath: "/s", archivePath: `${ROOT}/payload/other` }] })],
    ],
    [
      "outside of the payload",
      SOUND,
      [manifest({ assets: [{ kind: "state", sourcePath: "/s", archivePath: `${ROOT}/payload/../..` }] })],
    ],
    [
      "not a database|malformed",
      [...SOUND, { path: `${BASE}/j.sqlite`, text: `SQLite format 3\0${"x".repeat(2000)}` }],
    ],
  ])("%s: is refused, and nothing is written", async (problem, items, manifests) => {
    const file = await archive(items, manifests);
    const target = join(dir, "restored");
    await expect(restoreBackup(file, target, { now: 1, keys: {} })).rejects.toMatchObject({
      code: "BACKUP_UNSOUND",
      message: expect.stringMatching(problem),
    });
    expect(readdirSync(dir).toSorted()).toEqual(["hostile.tar.gz", "state dir"]);
  });

  it("is refused where a part of it is lost", async () => {
    const whole = readFileSync(await archive(SOUND));
    for (const share of [0, 0.3, 0.6, 0.95]) {
      const file = join(dir, "cut.tar.gz");
      writeFileSync(file, whole.subarray(0, Math.floor(whole.length * share)));
      await expect(verifyBackup(file)).rejects.toMatchObject({ code: "BACKUP_UNSOUND" });
    }
    writeFileSync(join(dir, "cut.tar.gz"), "this is no archive at all");
    await expect(verifyBackup(join(dir, "cut.tar.gz"))).rejects.toMatchObject({ code: "BACKUP_UNSOUND" });
  });
});

describe("an encrypted backup", () => {
  const opened = (file: string, keys: Keys) => restoreBackup(file, join(dir, "opened"), { now: 1, keys });

  it("for a key is read with it, and with no other", async () => {
    const { secret, recipient } = await newKeyPair();
    const other = await newKeyPair();
    put(join(dir, "key.txt"), `# public key: ${recipient}\n\n${secret}\n`);
    put(join(dir, "other.txt"), other.secret);
    const plain = readFileSync(await written({ output: join(dir, "plain.tar.gz") }));
    const file = await written({ output: dir, encrypt: { recipients: [recipient] } });
    expect(file).toMatch(/-openclaw-backup\.tar\.gz\.age$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "latin1")).toMatch(/^age-encryption\.org\/v1\n/);
    expect(statSync(file).size).toBeGreaterThan(plain.length);
    for (const keys of [{}, { identities: join(dir, "other.txt") }, { passphrase: "a long passphrase" }])
      await expect(opened(file, keys)).rejects.toMatchObject({ code: "BACKUP_LOCKED" });
    expect(existsSync(join(dir, "opened"))).toBe(false);
    await opened(file, { identities: join(dir, "key.txt") });
    expect(readFileSync(join(dir, "opened", "workspace", "MEMORY.md"), "utf8")).toBe("notes");
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`openclaw-decrypted-${process.pid}-`))).toEqual([]);
  });

  it("for a key that is none is refused before anything is read, and leaves nothing", async () => {
    const { recipient } = await newKeyPair();
    const last = recipient.endsWith("q") ? "p" : "q";
    for (const wrong of ["age1xyz", `${recipient.slice(0, -1)}${last}`, "ssh-ed25519 AAAA"]) {
      await expect(checkRecipients([recipient, wrong])).rejects.toMatchObject({ code: "USAGE" });
      await expect(written({ output: dir, encrypt: { recipients: [wrong] } })).rejects.toMatchObject({ code: "USAGE" });
    }
    expect(readdirSync(dir).filter((name) => name.includes("openclaw-backup"))).toEqual([]);
  });

  it("that is not there, or is a directory, is told as that", async () => {
    await expect(opened(join(dir, "none.age"), {})).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(opened(dir, {})).rejects.toMatchObject({
      code: "BACKUP_UNSOUND",
      message: expect.stringContaining("is a directory"),
    });
  });

  it("that was cut off or changed is refused", async () => {
    const file = await written({ output: dir, encrypt: { passphrase: "a long passphrase" } });
    const whole = readFileSync(file);
    const changed = Buffer.from(whole);
    changed[whole.length - 40]! ^= 1;
    for (const bytes of [whole.subarray(0, -20), changed, whole.subarray(0, 30)]) {
      writeFileSync(file, bytes);
      await expect(opened(file, { passphrase: "a long passphrase" })).rejects.toMatchObject({
        code: "BACKUP_UNSOUND",
        message: expect.stringContaining("cut or damaged"),
      });
    }
    writeFileSync(file, whole);
    await opened(file, { passphrase: "a long passphrase" });
  });
});

describe("scheduled backups", () => {
  const config = (more: Partial<BackupConfig> = {}) => ({ ...backupConfig.parse({ every: "24h" }), ...more });

  it("are due at once, after the interval, and sooner after a failure", () => {
    const hour = 3_600_000;
    const record = { triedAt: 5 * hour };
    expect(nextBackupAt(config({ every: 0 }), undefined)).toBeUndefined();
    expect(nextBackupAt(config(), undefined)).toBe(0);
    expect(nextBackupAt(config(), record)).toBe(29 * hour);
    expect(nextBackupAt(config(), { ...record, error: "full" })).toBe(6 * hour);
  });

  it.each(["", "5m", "31d", "often", "-1h"])("cannot be made every %j", (every) => {
    expect(backupConfig.safeParse({ every }).success).toBe(false);
  });
});

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fetchFile, type FetchPorts } from "../../src/dispatch/media/fetch-file.ts";
import { Stopped } from "../../src/harness/run/until-stopped.ts";
import { diskFull } from "../../src/store/disk.ts";
import { openMediaStore } from "../../src/store/media.ts";
import type { FetchedFile } from "../../src/types/chat/channel.ts";
import { OpenClawError, type ErrorCode } from "../../src/types/errors.ts";
import { mediaId } from "../../src/types/ids.ts";
import type { MediaItem } from "../../src/types/chat/message.ts";
import { NotNow } from "../../src/types/not-now.ts";
import { PNG } from "../kit/pictures.ts";
import { type ManualClock, manualClock } from "../kit/clock.ts";
import { recordLog, type RecordedLog } from "../kit/log.ts";
import { peer } from "../kit/inbound.ts";
import { ChatPlatform } from "../fakes/chat-platform.ts";
import { untilIdle } from "../kit/idle.ts";

const PHOTO: MediaItem = { kind: "image", source: { at: "platform", ref: "p" } };
const FILE: FetchedFile = { bytes: PNG, mime: "image/png" };

let dir: string;
let clock: ManualClock;
let log: RecordedLog;
let stop: AbortController;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "fetch-"));
  clock = manualClock();
  log = recordLog();
  stop = new AbortController();
});
afterEach(() => rm(dir, { recursive: true }));

/** A platform that gives what `next` gives, one for each time that it is asked. */
function giving(...next: (FetchedFile | Error)[]): ChatPlatform & { asked: () => number } {
  let asked = 0;
  const download = async (): Promise<FetchedFile> => {
    const answer = next[Math.min(asked, next.length - 1)];
    asked += 1;
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error("nothing to give");
    return answer;
  };
  return Object.assign(new ChatPlatform(), { download, asked: () => asked });
}

type Given = Partial<FetchPorts["chats"] & FetchPorts["storage"] & Pick<FetchPorts, "settings">>;

const portsWith = ({ media = openMediaStore(dir), settings, ...chats }: Given): FetchPorts => ({
  storage: { media },
  chats: { link: () => undefined, isConnecting: () => false, ...chats },
  clock,
  log,
  stopping: stop.signal,
  ...(settings && { settings }),
});

/** Lets the time pass as it is waited for. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const done = work.finally(() => (isOver = true));
  done.catch(() => undefined);
  while (!isOver) {
    await untilIdle();
    const [first] = clock.waits;
    if (first !== undefined) clock.pass(first);
  }
  return done;
}

const get = (more: Given, item = PHOTO) => inTime(fetchFile(item, peer("1"), portsWith(more)));
const refusal = (code: ErrorCode) => new OpenClawError(code, { message: "It is gone.", fix: "Send it again." });

test("waits for an account that is being connected", async () => {
  const begun = clock.now();
  const platform = giving(FILE);
  const link = () => (clock.now() - begun > 3000 ? platform : undefined);
  const end = await get({ link, isConnecting: () => true });
  expect(end).toMatchObject({ kind: "stored", tries: 1, file: { mime: "image/png" } });
  expect(end.ms).toBeGreaterThanOrEqual(3000);
  expect(end.ms).toBeLessThan(3500);
});

test("waits no longer than a minute, and not at all for one that is off", async () => {
  const lost = { kind: "lost", why: "telegram/default is not connected", tries: 0 };
  const late = await get({ isConnecting: () => true });
  expect(late).toMatchObject(lost);
  expect(late.ms).toBeGreaterThan(60_000 - 1000);
  expect(late.ms).toBeLessThanOrEqual(60_000);
  expect(await get({ isConnecting: () => false })).toMatchObject({ ...lost, ms: 0 });
  expect(await get({})).toMatchObject({ ...lost, ms: 0 });
});

test.each([
  ["an error of no kind", new Error("socket hang up")],
  ["what passes", new NotNow("Telegram answers 502")],
])("asks again after %s", async (_what, error) => {
  const platform = giving(error, error, FILE);
  const end = await get({ link: () => platform });
  expect(end).toMatchObject({ kind: "stored", tries: 3 });
  expect(log.lines.filter((line) => line.includes("media not fetched yet"))).toHaveLength(2);
});

test("sends nothing to a platform for as long as it asks", async () => {
  const platform = giving(new NotNow("too many requests", { afterMs: 17_000 }), FILE);
  const end = await get({ link: () => platform });
  expect(end).toMatchObject({ kind: "stored", tries: 2, ms: 17_000 });
});

test("continues without at once where it would have to wait for too long, or nothing helps", async () => {
  const busy = giving(new NotNow("too many requests", { afterMs: 90_000 }));
  expect(await get({ link: () => busy })).toMatchObject({ kind: "lost", why: "too many requests", tries: 1, ms: 0 });
  for (const code of ["MEDIA_UNAVAILABLE", "MEDIA_TOO_LARGE"] as const) {
    const gone = giving(refusal(code));
    expect(await get({ link: () => gone })).toMatchObject({ kind: "lost", why: "It is gone", tries: 1, ms: 0 });
  }
  const mute = new ChatPlatform();
  expect(await get({ link: () => mute })).toMatchObject({ kind: "lost", why: "its channel gives no files" });
  const nowhere: MediaItem = { kind: "image", source: { at: "store", id: mediaId(`${"a".repeat(26)}.png`) } };
  expect(await get({}, nowhere)).toMatchObject({ kind: "lost", tries: 1, ms: 0 });
});

test("never tries for longer than a minute, whatever passes", async () => {
  const pauses = fc.array(fc.option(fc.integer({ min: 0, max: 70_000 }), { nil: undefined }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(pauses, fc.boolean(), async (waits, comes) => {
      const errors = waits.map((afterMs) => new NotNow("not now", { afterMs }));
      const platform = giving(...errors, ...(comes ? [FILE] : [new NotNow("not now")]));
      const end = await get({ link: () => platform });
      expect(end.ms).toBeLessThanOrEqual(60_000);
      expect(end.tries).toBe(platform.asked());
      if (end.kind === "stored") expect(end.ms).toBeGreaterThanOrEqual(sumOf(waits));
      else expect(comes && end.tries > waits.length).toBe(false);
    }),
    { numRuns: 25 },
  );
});

const sumOf = (waits: readonly (number | undefined)[]) => waits.reduce<number>((sum, ms = 0) => sum + ms, 0);

test("stops asking when nobody waits any more", async () => {
  const platform = giving(new NotNow("not now"));
  const end = fetchFile(PHOTO, peer("1"), portsWith({ link: () => platform }));
  await untilIdle();
  stop.abort();
  await expect(end).rejects.toThrow(Stopped);
  expect(clock.waits).toEqual([]);
  expect(platform.asked()).toBe(1);
});

test("a full disk is the turn's to wait for", async () => {
  const platform = giving(FILE);
  const put = async () => Promise.reject(diskFull(dir, undefined));
  const full = portsWith({ link: () => platform, media: { ...openMediaStore(dir), put } });
  await expect(fetchFile(PHOTO, peer("1"), full)).rejects.toMatchObject({ code: "DISK_FULL" });
});

test.each([
  [{ deny: [] }, true],
  [{ allow: ["image/*"], deny: [] }, true],
  [{ allow: ["IMAGE/PNG", "audio/*"], deny: [] }, true],
  [{ allow: ["*/*"], deny: ["image/png"] }, false],
  [{ allow: ["application/pdf"], deny: [] }, false],
  [{ deny: ["image/*"] }, false],
])(
  "files of types that are not taken are not kept, whatever their sender calls them: %j",
  async (mediaTypes, isTaken) => {
    const link = giving({ bytes: PNG, mime: "application/pdf", name: "report.pdf" });
    const settings = () => ({ chat: () => ({ replyToMode: "off" as const, mediaTypes }) });
    const end = await fetchFile(PHOTO, peer("1"), portsWith({ link: () => link, settings }));
    if (isTaken) return expect(end).toMatchObject({ kind: "stored", file: { mime: "image/png" } });
    expect(end).toMatchObject({ kind: "lost", why: "files of the type image/png are not taken here", tries: 1 });
    expect(await readdir(dir)).toEqual([]);
  },
);

test("what only claims to be an image is not taken where only images are", async () => {
  const link = giving({ bytes: Buffer.from("<html>404</html>"), mime: "image/png" });
  const settings = () => ({
    chat: () => ({ replyToMode: "off" as const, mediaTypes: { allow: ["image/*"], deny: [] } }),
  });
  const end = await fetchFile(PHOTO, peer("1"), portsWith({ link: () => link, settings }));
  expect(end).toMatchObject({ kind: "lost", why: "files of the type application/octet-stream are not taken here" });
  expect(await readdir(dir)).toEqual([]);
});

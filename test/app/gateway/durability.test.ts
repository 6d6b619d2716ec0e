import { type FileHandle, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { journalPath, makeStateDirs, resolvePaths } from "../../../src/app/config/paths.ts";
import { openCore } from "../../../src/app/compose/core.ts";
import { bundledContributions, contributedSchemas } from "../../../src/app/contributions/extensions.ts";
import { startGateway } from "../../../src/app/gateway/gateway.ts";
import { Live } from "../../../src/app/live.ts";
import { openLog } from "../../../src/app/log/log.ts";
import { openOutbox } from "../../../src/app/compose/open-outbox.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { nextMessage, peer } from "../../kit/inbound.ts";
import { manualClock } from "../../kit/clock.ts";
import { LIMITS, ChatPlatform } from "../../fakes/chat-platform.ts";
import { recordLog } from "../../kit/log.ts";
import { untilIdle } from "../../kit/idle.ts";
import { openStateDir } from "../../kit/store/state-dir.ts";
import { until } from "../../kit/until.ts";

const HOUR_MS = 3_600_000;
const log = openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" });
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "durability-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function liveOf(config: Record<string, unknown>) {
  const env = { HOME: dir, OPENCLAW_STATE_DIR: dir };
  const paths = resolvePaths(env);
  await makeStateDirs(paths);
  await writeFile(paths.configPath, JSON.stringify(config));
  const schemas = await contributedSchemas(bundledContributions());
  const load = () => loadConfig({ path: paths.configPath, env, ...schemas });
  return { live: new Live(paths, dir, await load()), load };
}

describe("journal.fsync", () => {
  /** How many syncs a value of the journal has waited for. */
  async function syncsOf(config: Record<string, unknown>): Promise<number> {
    const { live } = await liveOf(config);
    const core = await openCore(live, log, {
      links: { link: () => undefined, limits: () => undefined },
      gate: async () => ({ kind: "drop", why: "test" }),
      statusLines: () => [],
    });
    onTestFinished(() => core.close());
    const handle = await open(live.paths.configPath);
    const synced = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "datasync");
    onTestFinished(() => synced.mockRestore());
    await handle.close();
    await core.journal.values.set("a", "b");
    return synced.mock.calls.length;
  }

  it("is full unless the config says otherwise", async () => {
    expect(await syncsOf({})).toBe(1);
  });

  it("is normal where the config says so", async () => {
    expect(await syncsOf({ journal: { fsync: "normal" } })).toBe(0);
  });
});

describe("messages.recovery", () => {
  it("says at the start of a gateway which messages are too old, and how many are answered", async () => {
    const { live, load } = await liveOf({
      gateway: { port: 0, auth: { token: "token-of-this-test" } },
      messages: { recovery: { maxAgeHours: 1, maxRows: 3 } },
    });
    let age = HOUR_MS / 2;
    const clock = { now: () => Date.now() - age, after: () => () => undefined };
    const before = await openJournal({ path: journalPath(live.paths), bootId: "before", clock });
    const accept = async (text: string) => {
      // Only messages of people who may write are counted.
      const said = { ...nextMessage(text, text, { options: { operator: true } }), receivedAt: clock.now() };
      const [accepted] = await before.inbox.accept([said]);
      return accepted!.row.id;
    };
    const rows: number[] = [];
    for (const text of ["one too many", "second", "last"]) rows.push(await accept(text));
    age = 2 * HOUR_MS;
    rows.push(await accept("old"));
    await before.close();
    const gateway = await startGateway(live, { log, load });
    await gateway.close(0);
    const after = await openJournal({ path: journalPath(live.paths), bootId: "after" });
    const ends = await Promise.all(rows.map((id) => after.messages.inboxRow(id)));
    await after.close();
    const isStale = ends.map((row) => row?.outcome?.kind === "dropped" && row.outcome.why.startsWith("stale: "));
    expect(isStale).toEqual([true, false, false, true]);
  });
});

describe("the outbox", () => {
  async function stage(messages: Record<string, unknown>, telegram: Record<string, unknown> = {}) {
    const clock = manualClock();
    const place = await openStateDir(clock);
    onTestFinished(() => place.remove());
    const { outbox: journal, messages: look } = await place.journal();
    const platform = new ChatPlatform();
    let isUp = true;
    const links = { link: () => (isUp ? platform : undefined), limits: () => LIMITS };
    const { live } = await liveOf({ messages, channels: { telegram: { enabled: false, ...telegram } } });
    const outbox = openOutbox(live, { journal, links, log: recordLog(), clock });
    const say = (key: string) =>
      outbox.deliver({ replyKey: key, to: peer("1"), blocks: [{ kind: "text", markdown: key }] });
    const down = () => void (isUp = false);
    return { clock, platform, say, down, row: (id: number) => look.outboxRow(id) };
  }

  it("gives up what is older than messages.recovery says", async () => {
    const { clock, say, down, row } = await stage({ recovery: { maxAgeHours: 1 } });
    down();
    await say("hello");
    await until(() => clock.waits.length > 0);
    clock.pass(HOUR_MS + 1);
    await until(async () => (await row(1))?.state === "failed");
    expect((await row(1))?.error).toContain("older than 1 hours");
  });

  it.each([
    ["messages.pacing", {}, 2000],
    ["the pacing of its account before it", { pacing: { perChatPerSecond: 0.25 } }, 4000],
  ])("keeps the pace of %s", async (_what, telegram, ms) => {
    const { clock, platform, say } = await stage({ pacing: { perChatPerSecond: 0.5 } }, telegram);
    await say("first");
    await until(() => platform.texts.length === 1);
    await say("second");
    await until(() => clock.waits.includes(ms));
    await untilIdle();
    expect(platform.texts).toEqual(["first"]);
  });

  it.each([
    [true, "(possible repeat) hello"],
    [false, "hello"],
  ])("labels repeats where messages.labelRepeats is %s", async (labelRepeats, again) => {
    const { clock, platform, say } = await stage({ labelRepeats });
    platform.script.push({ result: { kind: "unknown", reason: "lost" } });
    await say("hello");
    await until(() => clock.waits.length > 0);
    clock.pass(1000);
    await until(() => platform.texts.length === 1);
    expect(platform.texts).toEqual([again]);
  });
});

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type DrawJob, DrawJobs } from "../../../src/tools/media/draw-jobs.ts";
import { drawnText } from "../../../src/tools/media/image-generate.ts";
import { type ManualClock, manualClock } from "../../kit/clock.ts";
import { type MediaKit, openMediaKit } from "./media-kit.ts";
import { PATIENCE } from "../../kit/until.ts";
import { agentId, runId, sessionKey } from "../../../src/types/ids.ts";

const LONG_MS = 40_000;

let kit: MediaKit;
let clock: ManualClock;
let ended: DrawJob[];
let jobs: DrawJobs;
/** End the drawings that go on, in their order. */
let finish: ((drawn: { error?: Error }) => void)[];
let signals: AbortSignal[];
beforeEach(() => {
  kit = openMediaKit();
  clock = manualClock();
  ended = [];
  jobs = new DrawJobs({ clock, ended: (job) => ended.push(job) });
  finish = [];
  signals = [];
});
afterEach(() => kit.close());

const slowly = (_question: unknown, signal: AbortSignal) => {
  const drawn = Promise.withResolvers<object>();
  signals.push(signal);
  signal.addEventListener("abort", () => drawn.reject(new Error("stopped")));
  finish.push(({ error }) => (error ? drawn.reject(error) : drawn.resolve({})));
  return drawn.promise;
};
const call = (input: object, more: object = {}) =>
  kit.call("image_generate", input, { jobs, drawing: slowly, ...more });
/** A call whose images take longer than it waits. */
async function begun(prompt = "a cat") {
  const count = finish.length;
  const calling = call({ prompt });
  await vi.waitUntil(() => finish.length > count, PATIENCE);
  clock.pass(LONG_MS);
  return (await calling).said;
}

it("gives the images of a quick service at once, and tells of no job", async () => {
  const calling = call({ prompt: "a cat" });
  await vi.waitUntil(() => finish.length > 0, PATIENCE);
  finish[0]?.({});
  expect((await calling).said).toContain("[[media:");
  expect(ended).toEqual([]);
  expect((await call({ action: "status" })).said).toBe("No drawing is in the background.");
  expect(clock.waits).toEqual([]);
});

it("goes on after the call, and its end is told with the images", async () => {
  const said = await begun();
  expect(said).toMatch(/^The drawing goes on in the background \(drawing [0-9a-f]{8}\)/);
  expect((await call({ action: "status" })).said).toMatch(/^[0-9a-f]{8} "a cat": goes on$/);
  finish[0]?.({});
  await vi.waitUntil(() => ended.length > 0, PATIENCE);
  expect(ended.map(drawnText)).toEqual([
    expect.stringMatching(
      /^The drawing "a cat" \(drawing [0-9a-f]{8}\) ended after 40 seconds:\nMade an image[^]*\[\[media:/,
    ),
  ]);
  expect((await call({ action: "status" })).said).toContain("[[media:");
});

it("tells why one failed", async () => {
  await begun();
  finish[0]?.({ error: new Error("no more credit") });
  await vi.waitUntil(() => ended.length > 0, PATIENCE);
  expect(drawnText(ended[0]!)).toContain("No image was made: no more credit");
});

it("ends with its run as long as the call waits, and with the gateway afterwards", async () => {
  const run = new AbortController();
  const calling = call({ prompt: "a cat" }, { signal: run.signal });
  await vi.waitUntil(() => finish.length > 0, PATIENCE);
  run.abort();
  expect((await calling).result.isError).toBe(true);
  expect(signals[0]?.aborted).toBe(true);
  await begun();
  expect(signals[1]?.aborted).toBe(false);
  await jobs.close();
  expect(signals[1]?.aborted).toBe(true);
  expect(ended).toEqual([]);
  expect((await call({ prompt: "another" })).said).toContain("the gateway stops");
});

it("ends at once for a run that was stopped before", async () => {
  const stopped = AbortSignal.abort();
  const of = {
    name: "a cat",
    starter: { agentId: agentId("main"), sessionKey: sessionKey("s1"), hasOwnerRights: true, isSubagent: false },
    runId: runId("r1"),
  };
  const work = vi.fn((signal: AbortSignal) => Promise.reject(new Error(signal.aborted ? "stopped" : "drawn")));
  await expect(jobs.run(of, work, stopped)).rejects.toThrow("stopped");
});

it("draws eight at a time in the background at most", async () => {
  for (let count = 0; count < 8; count += 1) await begun(`cat ${count}`);
  expect((await call({ prompt: "one more" })).said).toContain("8 drawings go on already");
  for (const end of finish) end({});
  await vi.waitUntil(() => ended.length === 8, PATIENCE);
  const calling = call({ prompt: "one more" });
  await vi.waitUntil(() => finish.length === 9, PATIENCE);
  finish[8]?.({});
  expect((await calling).said).toContain("[[media:");
});

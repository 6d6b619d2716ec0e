import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { agentId } from "../../../src/types/ids.ts";
import type { CallCost, ModelMeter, PlannedCall } from "../../../src/types/run/model-meter.ts";
import type { MemorySearchSettings } from "../../../src/types/settings.ts";
import { Secret } from "../../../src/types/secret.ts";
import { Nearest } from "../index/nearest.ts";
import { addVectors, makeVectorTables, setToFill } from "../index/vector-sets.ts";
import { Memory } from "../memory.ts";
import { folder, note, open, paths, startEndpoint, withVectors } from "./memory-kit.ts";

const NOTES = [
  ["memory/2026-01-05.md", "The dentist is called Okonkwo.\n"],
  ["memory/2026-01-06.md", "The mooring is number 12.\n"],
  ["memory/2026-01-07.md", "The bread needs another hour.\n"],
] as const;

function withNotes(): string {
  const dir = folder();
  for (const [path, text] of NOTES) note(dir, path, text);
  return dir;
}

/** All notes are in the index and have vectors; with `rebuild`, new ones. */
function complete(dir: string, memorySearch: MemorySearchSettings, rebuild = false) {
  const memory = new Memory(dir);
  return memory.sync(memory.placeOf({ id: agentId("main"), workspace: dir, memorySearch }), rebuild);
}

/** Again while parts have no vector: on a busy machine one search does not wait until all are made. */
const searchByVectors = ({ search }: Awaited<ReturnType<typeof open>>) =>
  vi.waitUntil(
    async () => {
      const found = await search("teeth");
      return found.mode === "hybrid" ? found : undefined;
    },
    { timeout: 60_000 },
  );

test("a note that says the same in other words is found, once every part has a vector", async () => {
  const dir = withNotes();
  const { url, asked } = await startEndpoint();
  const { search } = await open(dir, { memorySearch: withVectors(url) });
  await complete(dir, withVectors(url));
  const found = await search("who looks after my teeth?");
  expect(found).toMatchObject({ mode: "hybrid", index: { vectors: { model: "m", pendingParts: 0 } } });
  expect(found.index.degraded).toBeUndefined();
  expect(paths(found)[0]).toBe("memory/2026-01-05.md");
  expect(asked.map(({ texts }) => texts.length)).toEqual([3, 1]);
  expect(asked[0]?.texts[0]).toContain("memory/2026-01-0");
});

test("a part that has a vector is not sent again, also when its index is made again", async () => {
  const dir = withNotes();
  const { url, asked } = await startEndpoint();
  const { search } = await open(dir, { memorySearch: withVectors(url) });
  await complete(dir, withVectors(url));
  await search("teeth");
  note(dir, "memory/2026-01-08.md", "A ship came in.\n");
  await search("teeth");
  expect(asked.map(({ texts }) => texts.length)).toEqual([3, 1, 1, 1]);
  expect(asked[2]?.texts[0]).toContain("A ship came in.");
});

test("words alone are compared when the endpoint fails, which is said and not tried again at once", async () => {
  const dir = withNotes();
  const { url, asked, state } = await startEndpoint();
  state.status = 503;
  const { search } = await open(dir, { memorySearch: withVectors(url) });
  const found = await search("the dentist");
  expect(paths(found)).toEqual(["memory/2026-01-05.md"]);
  expect(found.mode).toBe("keyword");
  expect(found.index.degraded).toMatch(
    /only words are compared, because m gave no vectors: 127\.0\.0\.1:\d+: it answered with the status 503/,
  );
  const before = asked.length;
  expect(await search("the dentist")).toMatchObject({
    mode: "keyword",
    index: { degraded: expect.stringContaining("503") },
  });
  expect(asked.length).toBe(before);
});

test.each([429, 503])(
  "an endpoint that answers %s and says when is asked again then, and all parts get vectors",
  async (status) => {
    const dir = withNotes();
    const { url, asked, state } = await startEndpoint();
    Object.assign(state, { status, retryAfter: "0.1", refusals: 3 });
    const began = performance.now();
    const outcome = await complete(dir, withVectors(url));
    expect(outcome).toMatchObject({ vectors: { pending: 0, isComplete: true } });
    expect(asked.length).toBe(4);
    expect(performance.now() - began).toBeGreaterThanOrEqual(290);
  },
);

test("an endpoint that wants to be left alone for long is left alone", async () => {
  const dir = withNotes();
  const { url, asked, state } = await startEndpoint();
  Object.assign(state, { status: 429, retryAfter: "3600" });
  expect(await complete(dir, withVectors(url))).toMatchObject({ vectors: { failed: expect.stringContaining("429") } });
  expect(asked.length).toBe(1);
});

test("nothing of an answer is followed to another address, and the key goes to the configured one", async () => {
  const dir = withNotes();
  const { url, asked, state } = await startEndpoint();
  state.status = 307;
  const memorySearch = withVectors(url, {
    key: new Secret("key-of-the-endpoint"),
    headers: { "x-tenant": new Secret("t1-of-mine") },
  });
  const { search } = await open(dir, { memorySearch });
  expect((await search("the dentist")).index.degraded).toContain("it cannot be reached");
  expect(asked[0]?.headers).toMatchObject({ authorization: "Bearer key-of-the-endpoint", "x-tenant": "t1-of-mine" });
});

test("vectors of another model are never used: words alone are compared until all are made", async () => {
  const dir = withNotes();
  const { url, state } = await startEndpoint();
  await complete(dir, withVectors(url));
  state.status = 500;
  const { search } = await open(dir, { memorySearch: withVectors(url, { model: "another" }) });
  const failing = await search("teeth");
  expect(failing).toMatchObject({
    mode: "keyword",
    results: [],
    index: { vectors: { model: "another", pendingParts: 3 } },
  });
  const back = await open(dir, { memorySearch: withVectors(url) });
  state.status = 200;
  expect(await back.search("teeth")).toMatchObject({
    mode: "hybrid",
    index: { vectors: { model: "m", pendingParts: 0 } },
  });
  const again = await open(dir, { memorySearch: withVectors(url, { model: "another" }) });
  expect(await searchByVectors(again)).toMatchObject({ mode: "hybrid", index: { vectors: { model: "another" } } });
});

test("an endpoint that gives vectors of another size is refused until they are made again", async () => {
  const dir = withNotes();
  const { url, state } = await startEndpoint();
  const memorySearch = withVectors(url);
  const { search } = await open(dir, { memorySearch });
  await complete(dir, memorySearch);
  state.dimensions = 12;
  const refused = await search("teeth");
  expect(refused.mode).toBe("keyword");
  expect(refused.index.degraded).toContain("vectors of 12 numbers, and those of the index have 8");
  const made = await complete(dir, memorySearch, true);
  expect("vectors" in made && made.vectors).toMatchObject({ dimensions: 12, pending: 0, isComplete: true });
  const later = await open(dir, { memorySearch });
  expect((await later.search("teeth")).mode).toBe("hybrid");
});

test("every request for vectors is reserved before it and settled with its tokens", async () => {
  const dir = withNotes();
  const { url, asked } = await startEndpoint();
  const calls: (PlannedCall & { cost?: CallCost })[] = [];
  const reserve: ModelMeter["reserve"] = async (call) => {
    const kept: (typeof calls)[number] = { ...call };
    calls.push(kept);
    return { kind: "allowed", settle: (cost) => (kept.cost = cost) };
  };
  const opened = await open(dir, { memorySearch: withVectors(url, { price: 0.5 }), reserve });
  expect(await searchByVectors(opened)).toMatchObject({ mode: "hybrid" });
  expect(calls.at(-1)).toMatchObject({
    cause: "plugin",
    plugin: "memory-core",
    agentId: "main",
    model: { provider: "here", id: "m" },
    most: { inputTokens: 5, outputTokens: 0, price: { input: 0.5, output: 0 } },
    cost: { outcome: "answered", usage: { input: 1, cost: { total: 0.5 } } },
  });
  const tokens = calls.reduce((sum, { cost }) => sum + (cost?.usage.input ?? 0), 0);
  expect(tokens).toBe(asked.flatMap(({ texts }) => texts).length);
  expect(tokens).toBeGreaterThan(NOTES.length);
});

test("words alone are compared when a budget refuses the vectors, and nothing is sent", async () => {
  const dir = withNotes();
  const { url, asked } = await startEndpoint();
  const reserve: ModelMeter["reserve"] = async () => ({ kind: "refused", reason: "the budget of the day is used up" });
  const { search } = await open(dir, { memorySearch: withVectors(url), reserve });
  const found = await search("dentist");
  expect(found).toMatchObject({
    mode: "keyword",
    index: { degraded: expect.stringContaining("the budget of the day") },
  });
  expect(paths(found)).toEqual(["memory/2026-01-05.md"]);
  expect(asked).toEqual([]);
});

test("the question and the notes have their own input types", async () => {
  const dir = withNotes();
  const { url, asked } = await startEndpoint();
  const types = { queryInputType: "query", documentInputType: "document", dimensions: 8 };
  const { search } = await open(dir, { memorySearch: withVectors(url, types) });
  await complete(dir, withVectors(url, types));
  await search("teeth");
  expect(asked.map(({ body }) => body["input_type"])).toEqual(["document", "query"]);
  expect(asked.map(({ body }) => body["dimensions"])).toEqual([8, 8]);
});

test("settings that name no model are said, and words alone are compared", async () => {
  const dir = withNotes();
  const memorySearch = {
    isOn: true,
    sources: ["memory"],
    vectorsProblem: "memorySearch.model has to name a model of x",
  } as const;
  const found = await (await open(dir, { memorySearch })).search("dentist");
  expect(found).toMatchObject({
    mode: "keyword",
    index: { degraded: expect.stringContaining("has to name a model of x") },
  });
});

test("the tools are missing where memorySearch.enabled is false; the usual number of results and the least score apply", async () => {
  const dir = withNotes();
  const off = await open(dir, { memorySearch: { isOn: false, sources: ["memory"] } });
  expect(["memory_search", "memory_get"].map((name) => off.toolOf(name))).toEqual([undefined, undefined]);
  const one = await open(dir, { memorySearch: { isOn: true, sources: ["memory"], maxResults: 1 } });
  expect(paths(await one.search("the dentist, the mooring or the bread"))).toHaveLength(1);
  const none = await open(dir, { memorySearch: { isOn: true, sources: ["memory"], minScore: 1 } });
  expect(paths(await none.search("a mooring with dentist"))).toHaveLength(0);
});

test("the nearest vector is the one that comparing all of them finds", () => {
  const vector = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(fc.array(vector, { minLength: 2, maxLength: 40 }), vector, (all, query) => {
      const db = new DatabaseSync(":memory:");
      makeVectorTables(db);
      const set = setToFill(db, { provider: "p", model: "m", url: "u", weight: 1 });
      const unit = (numbers: readonly number[]) => {
        const length = Math.hypot(...numbers) || 1;
        return Float32Array.from(numbers, (number) => number / length);
      };
      addVectors(
        db,
        set,
        all.map((one, at) => ({ hash: String(at), vector: unit(one) })),
      );
      const found = new Nearest().find(db, set, { query: unit(query), most: all.length });
      const likeness = (at: number) =>
        unit(all[at] ?? []).reduce((sum, one, index) => sum + one * (unit(query)[index] ?? 0), 0);
      const best = Math.max(...all.map((_one, at) => likeness(at)));
      expect(found).toHaveLength(all.length);
      // One byte for a number is not exact.
      expect(likeness(Number(found[0]?.hash))).toBeGreaterThan(best - 0.03);
      db.close();
    }),
    { numRuns: 50 },
  );
});

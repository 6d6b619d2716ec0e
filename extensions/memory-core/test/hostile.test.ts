import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { agentId } from "../../../src/types/ids.ts";
import type { CallCost, ModelMeter } from "../../../src/types/run/model-meter.ts";
import type { MemorySearchSettings } from "../../../src/types/settings.ts";
import { toolContext } from "../../../test/kit/tools.ts";
import { Memory } from "../memory.ts";
import { Nearest } from "../index/nearest.ts";
import { addVectors, completeSet, makeVectorTables, setToFill } from "../index/vector-sets.ts";
import { folder, note, open, paths, startEndpoint, withVectors } from "./memory-kit.ts";

const indexOf = (dir: string) => join(dir, "state", "memory", `${encodeURIComponent(toolContext(dir).agentId)}.sqlite`);

/** All notes are in the index and have vectors. */
const complete = (dir: string, memorySearch: MemorySearchSettings) => {
  const memory = new Memory(dir);
  return memory.sync(memory.placeOf({ id: agentId("main"), workspace: dir, memorySearch }), false);
};

/** Even the superuser may then read only what permissions allow. */
const UNPRIVILEGED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"];

const LOOKER = `
import { IndexFile } from ${JSON.stringify(new URL("../index/index-file.ts", import.meta.url).href)};
const [workspace, db] = process.argv.slice(1);
const index = new IndexFile({ workspace, db });
index.sync(10_000);
process.stdout.write(JSON.stringify([index.state(), index.sync(10_000)]));
`;

test("a note or a folder that may not be read is named, and the others are found", () => {
  const dir = folder();
  note(dir, "MEMORY.md", "The gate is green.\n");
  note(dir, "memory/closed.md", "The gate is blue.\n");
  mkdirSync(join(dir, "memory/closed"));
  note(dir, "memory/closed/a.md", "The gate is red.\n");
  mkdirSync(join(dir, "state"));
  chmodSync(join(dir, "memory/closed.md"), 0);
  chmodSync(join(dir, "memory/closed"), 0);
  onTestFinished(() => chmodSync(join(dir, "memory/closed"), 0o700));
  const look = [process.execPath, "--input-type=module", "-e", LOOKER, dir, join(dir, "state/i.sqlite")];
  const [program = "", ...args] = process.getuid?.() === 0 ? [...UNPRIVILEGED, ...look] : look;
  const [first, second] = JSON.parse(execFileSync(program, args, { encoding: "utf8" }));
  expect(first).toMatchObject({ files: 1, chunks: 1, pending: 0 });
  expect(first.degraded).toMatch(/^2 notes are left out: .*memory\/closed\/ \(not readable\)/);
  expect(first.degraded).toContain("memory/closed.md (not readable)");
  expect(second).toMatchObject({ pending: 0, degraded: first.degraded });
});

test("a note that is too large is named, and the others are found", async () => {
  const dir = folder();
  note(dir, "memory/small.md", "The gate is green.\n");
  note(dir, "memory/large.md", "The gate is blue.\n".repeat(300_000));
  const { search, call } = await open(dir);
  const found = await search("gate");
  expect(paths(found)).toEqual(["memory/small.md"]);
  expect(found.index.degraded).toBe("1 notes are left out: memory/large.md (too large)");
  expect((await call("memory_get", { path: "memory/large.md" }))?.details).toMatchObject({ text: "" });
});

test("paths that no note can have are no failure", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "x\n");
  const { call } = await open(dir);
  const long = `memory/${"a".repeat(300)}.md`;
  for (const path of ["memory/\0.md", long, "memory/a.md/b.md", "memory/./a.md/../x.md", "MEMORY.md/"])
    expect((await call("memory_get", { path }))?.details).toMatchObject({ path, text: "" });
});

test("whatever is asked, the search is answered", async () => {
  const dir = folder();
  note(dir, "memory/a.md", 'The "gate" NEAR(the, 2) OR is AND green* - ^ : { } 門は緑です 문이 ประตู \ud83d\ude00\n');
  const memory = new Memory(dir);
  const place = memory.placeOf({ id: agentId("main"), workspace: dir });
  const words = fc.constantFrom(
    '"',
    "*",
    "NEAR(",
    ")",
    "OR",
    "AND NOT",
    "^",
    "gate:",
    "{a b}:",
    "\u0301\u0301\u0301",
    "\0",
    "\ud83d",
    "門は緑です",
  );
  const query = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(words, { minLength: 1 }).map((all) => all.join(" ")),
  );
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      expect(await memory.search(place, { query: asked, maxResults: 6, isPrivate: true })).toHaveProperty("hits");
    }),
    { numRuns: 200 },
  );
  const long = await memory.search(place, { query: "門は緑です".repeat(400), maxResults: 6, isPrivate: true });
  expect("hits" in long && long.hits.map(({ path }) => path)).toEqual(["memory/a.md"]);
});

test("a search after no change writes nothing, and is of this moment all the same", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { search } = await open(dir);
  await search("gate");
  const other = new DatabaseSync(indexOf(dir), { readOnly: true });
  onTestFinished(() => other.close());
  const version = () => other.prepare("PRAGMA data_version").get()?.["data_version"];
  const before = version();
  const found = await search("green");
  expect(version()).toBe(before);
  expect([paths(found), found.index.ageSeconds]).toEqual([["memory/a.md"], 0]);
  note(dir, "memory/b.md", "The fence is green.\n");
  expect(paths(await search("green"))).toHaveLength(2);
  expect(version()).not.toBe(before);
});

test("what cannot be written into the index does not keep the rest from being found", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { call, search } = await open(dir);
  await search("gate");
  const other = new DatabaseSync(indexOf(dir));
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  note(dir, "memory/b.md", "The fence is green.\n");
  expect((await call("memory_search", { query: "green" }))?.details).toMatchObject({
    results: [{ path: "memory/a.md" }],
    index: {
      pendingFiles: 1,
      degraded: expect.stringMatching(/^changes of notes cannot be taken in now: .*locked/),
    },
  });
  other.exec("ROLLBACK");
  expect(paths(await search("green"))).toHaveLength(2);
});

/** An endpoint that answers like this, and counts its requests. */
async function endpoint(answer: (texts: readonly string[], response: ServerResponse) => void) {
  const seen = { bodies: [] as string[] };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString();
      seen.bodies.push(body);
      response.setHeader("content-type", "application/json");
      answer([JSON.parse(body).input].flat(), response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${Object(server.address()).port}/v1` };
}

const vector = (one: number) => Array.from({ length: 8 }, () => one);
const bodyOf = (texts: readonly string[], one = 1, usage?: object) =>
  JSON.stringify({ data: texts.map((_text, index) => ({ index, embedding: vector(one) })), ...(usage && { usage }) });

/** Vectors for notes; `then` answers questions. */
const forNotes = (then: (response: ServerResponse) => void) =>
  endpoint((texts, response) => (texts[0]?.startsWith("memory/") ? response.end(bodyOf(texts)) : then(response)));

test.each<[string, (response: ServerResponse) => void, RegExp]>([
  ["brackets alone", (response) => response.end("[".repeat(1_400_000)), /no JSON/],
  ["more than is read", floodOf, /its answer has more than \d+ bytes/],
  ["no JSON", (response) => response.end("NaN"), /no JSON/],
  ["numbers without a length", (response) => response.end(bodyOf(["x"], 1e300)), /no vector for each text/],
  ["no vectors", (response) => response.end("{}"), /no vector for each text/],
  ["a dead connection", (response) => void response.socket?.destroy(), /cannot be reached/],
])("words alone are compared when the endpoint answers a question with %s", async (_name, answer, why) => {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { url } = await forNotes(answer);
  await complete(dir, withVectors(url));
  const found = await (await open(dir, { memorySearch: withVectors(url) })).search("gate");
  expect(found).toMatchObject({ mode: "keyword", index: { degraded: expect.stringMatching(why) } });
  expect(paths(found)).toEqual(["memory/a.md"]);
});

/** A gigabyte, for as long as somebody reads it. */
function floodOf(response: ServerResponse): void {
  const part = Buffer.alloc(1_000_000, "[");
  let left = 1000;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(part)) return void response.once("drain", more);
    }
    response.end();
  };
  more();
}

test("searches that wait for one whose endpoint fails do not ask it again", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { url, seen } = await forNotes((response) => void setTimeout(() => response.writeHead(503).end(), 200));
  await complete(dir, withVectors(url));
  const { search } = await open(dir, { memorySearch: withVectors(url) });
  const found = await Promise.all(Array.from({ length: 6 }, () => search("gate")));
  expect(found.map((one) => [one.mode, paths(one)])).toEqual(found.map(() => ["keyword", ["memory/a.md"]]));
  expect(seen.bodies).toHaveLength(2);
});

test("half a character of a question is no reason for an endpoint to refuse it", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { url, seen } = await endpoint((texts, response) => response.end(bodyOf(texts)));
  await complete(dir, withVectors(url));
  await (await open(dir, { memorySearch: withVectors(url) })).search("gate \ud83d");
  expect(JSON.parse(seen.bodies.at(-1) ?? "").input).toEqual(["gate \ufffd"]);
});

/** What the searches cost that an agent makes with this endpoint. */
async function costOf(
  answer: (texts: readonly string[], response: ServerResponse) => void,
): Promise<CallCost | undefined> {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { url } = await endpoint((texts, response) =>
    texts[0]?.startsWith("memory/") ? response.end(bodyOf(texts)) : answer(texts, response),
  );
  await complete(dir, withVectors(url));
  const costs: CallCost[] = [];
  const reserve: ModelMeter["reserve"] = async () => ({ kind: "allowed", settle: (cost) => void costs.push(cost) });
  const { search } = await open(dir, { memorySearch: withVectors(url, { price: 0.5 }), reserve });
  await search("the gate of the garden");
  return costs[0];
}

test.each<[string, (texts: readonly string[], response: ServerResponse) => void, number, boolean]>([
  ["counts them", (texts, response) => response.end(bodyOf(texts, 1, { total_tokens: 3 })), 3, false],
  [
    "counts those of the request alone",
    (texts, response) => response.end(bodyOf(texts, 1, { prompt_tokens: 4 })),
    4,
    false,
  ],
  ["does not count", (texts, response) => response.end(bodyOf(texts)), 6, true],
  ["counts fewer than none", (texts, response) => response.end(bodyOf(texts, 1, { total_tokens: -9 })), 6, true],
  ["counts what is no number", (texts, response) => response.end(bodyOf(texts, 1, { total_tokens: "9" })), 6, true],
  ["gives something else", (_texts, response) => response.end("{}"), 6, true],
  ["breaks the connection", (_texts, response) => void response.socket?.destroy(), 6, true],
  ["refuses", (_texts, response) => response.writeHead(500).end(), 0, false],
])("tokens count when the endpoint %s", async (_name, answer, tokens, isEstimate) => {
  expect(await costOf(answer)).toMatchObject({
    isEstimate,
    usage: { input: tokens, cost: { total: tokens * 0.5 } },
  });
});

test("vectors of more numbers follow those of fewer, and vectors that are gone hide no other", () => {
  const db = new DatabaseSync(":memory:");
  makeVectorTables(db);
  db.exec("CREATE TABLE chunks_1 (hash TEXT)");
  const nearest = new Nearest();
  const setOf = (model: string) => setToFill(db, { provider: "p", model, url: "u", weight: 1 });
  const unit = (size: number, at: number) => Float32Array.from({ length: size }, (_one, index) => Number(index === at));
  const fill = (model: string, size: number, count: number) =>
    addVectors(
      db,
      setOf(model),
      Array.from({ length: count }, (_one, at) => ({ hash: `${model} ${at}`, vector: unit(size, at % size) })),
    );
  fill("small", 8, 2000);
  const ask = (model: string, query: Float32Array) => nearest.find(db, setOf(model), { query, most: 6 });
  expect(ask("small", unit(8, 3))).toHaveLength(6);
  fill("large", 3072, 2000);
  expect(ask("large", unit(3072, 70))[0]).toMatchObject({ hash: "large 70" });
  // All but one are gone, among them everything near to the question.
  db.exec("INSERT INTO chunks_1 VALUES ('large 9')");
  completeSet(db, 1, setOf("large"));
  expect(ask("large", unit(3072, 70)).map(({ hash }) => hash)).toEqual(["large 9"]);
  db.close();
});

test("the files of the index are its owner's alone", async () => {
  const dir = folder();
  note(dir, "memory/a.md", "The gate is green.\n");
  const { url } = await startEndpoint();
  await (await open(dir, { memorySearch: withVectors(url) })).search("gate");
  expect(statSync(join(dir, "state", "memory")).mode & 0o077).toBe(0);
});

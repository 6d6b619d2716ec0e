import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { audioConfig } from "../../src/channels/audio-config.ts";
import { createTranscriber } from "../../src/channels/transcribe.ts";
import type { Log } from "../../src/types/log.ts";
import type { CallCost, ModelMeter, PlannedCall } from "../../src/types/run/model-meter.ts";

let folder = "";
const lines: string[] = [];
const log: Log = { debug() {}, info() {}, warn: (line) => void lines.push(line), error() {}, with: () => log };
const bytes = Buffer.from("words in the file");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "voice-"));
  await writeFile(join(folder, "note.ogg"), bytes);
});
afterAll(async () => rm(folder, { recursive: true }));

const note = (more: { kind?: "voice" | "image" } = {}) =>
  ({ kind: more.kind ?? "voice", path: join(folder, "note.ogg"), bytes, mime: "audio/ogg" }) as const;
const transcriber = (transcription: Record<string, unknown>, reserve?: ModelMeter["reserve"]) =>
  createTranscriber(audioConfig.parse({ transcription }).transcription, log, reserve);
const PRINT = "process.stdout.write(require('node:fs').readFileSync(process.argv[1], 'utf8') + '\\n')";

test("a command gets the file and prints the transcript", async () => {
  const atTheEnd = transcriber({ command: [process.execPath, "-e", PRINT] });
  expect(await atTheEnd?.(note())).toEqual({ text: "words in the file" });
  const placed = transcriber({ command: [process.execPath, "-e", "console.log(process.argv[1])", "at={{MediaPath}}"] });
  expect(await placed?.(note())).toEqual({ text: `at=${join(folder, "note.ogg")}` });
});

test("files that are too large, silent, broken or no recordings are not transcribed", async () => {
  expect(createTranscriber(audioConfig.parse({}).transcription, log)).toBeUndefined();
  expect(await transcriber({ command: [process.execPath, "-e", PRINT] })?.(note({ kind: "image" }))).toBeUndefined();
  expect(await transcriber({ command: [process.execPath, "-e", ""] })?.(note())).toBeUndefined();
  expect(lines).toEqual([]);
  expect(await transcriber({ command: [process.execPath, "-e", PRINT], maxBytes: 3 })?.(note())).toBeUndefined();
  expect(await transcriber({ command: ["/nowhere/at-all"] })?.(note())).toBeUndefined();
  expect(await transcriber({ command: [process.execPath, "-e", "process.exit(3)"] })?.(note())).toBeUndefined();
  expect(lines).toHaveLength(3);
});

test("a service gets the file with its key", async () => {
  const seen: { url: string | undefined; key: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      seen.push({ url: request.url, key: request.headers.authorization, body: Buffer.concat(parts).toString() });
      if (seen.length > 1) return response.writeHead(500).end();
      return response.setHeader("content-type", "application/json").end(JSON.stringify({ text: " hello " }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ask = transcriber({ baseUrl: `http://127.0.0.1:${port}/v1/`, apiKey: "k", model: "w-2", language: "de" });
  expect(await ask?.(note())).toEqual({ text: "hello" });
  expect(seen[0]).toMatchObject({ url: "/v1/audio/transcriptions", key: "Bearer k" });
  for (const part of ["words in the file", 'filename="note.ogg"', "w-2", "de", "audio/ogg"]) {
    expect(seen[0]?.body).toContain(part);
  }
  expect(await ask?.(note())).toBeUndefined();
  server.close();
});

test("a redirect of the service does not get the recording", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    request.resume();
    if (request.url === "/elsewhere") return response.end(JSON.stringify({ text: "overheard" }));
    return response.writeHead(307, { location: "/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ask = transcriber({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "k" });
  expect(await ask?.(note())).toBeUndefined();
  expect(asked).toEqual(["/v1/audio/transcriptions"]);
  server.close();
});

test("a service is asked within the budgets, and what it took counts by its price", async () => {
  const answers = [{ text: "hello", usage: { type: "duration", seconds: 30 } }, { text: "hello" }];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const answer = answers.shift();
      if (!answer) return response.writeHead(500).end();
      return response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const held: PlannedCall[] = [];
  const costs: CallCost[] = [];
  const reserve: ModelMeter["reserve"] = async (call) => {
    held.push(call);
    return { kind: "allowed", settle: (cost) => void costs.push(cost) };
  };
  const service = { baseUrl: `http://127.0.0.1:${port}/v1/`, model: "w" };
  const long = { ...note(), bytes: Buffer.alloc(120_000), origin: { cause: "message", plugin: "me" } as const };
  const ask = transcriber({ ...service, costPerMinute: 0.5 }, reserve);
  expect([await ask?.(long), await ask?.(long), await ask?.(long)]).toEqual([
    { text: "hello" },
    { text: "hello" },
    undefined,
  ]);
  expect(held[0]).toMatchObject({
    cause: "message",
    plugin: "me",
    model: { provider: `127.0.0.1:${port}`, id: "w" },
    most: { inputTokens: 2000, outputTokens: 0, price: { input: 0.0005 } },
  });
  expect(costs.map(({ outcome, usage }) => [outcome, usage.input, usage.cost.total])).toEqual([
    ["answered", 500, 0.25],
    ["answered", 2000, 1],
    ["failed", 0, 0],
  ]);
  await transcriber(service, reserve)?.(long);
  expect(held.at(-1)?.most.price).toEqual({ input: 0, output: 0 });
  await transcriber({ ...service, baseUrl: "https://service.invalid/v1" }, async (call) => {
    held.push(call);
    return { kind: "refused", reason: "no" };
  })?.(long);
  expect(held.at(-1)?.most).not.toHaveProperty("price");
  expect(lines.at(-1)).toBe("recording not transcribed");
  server.close();
});

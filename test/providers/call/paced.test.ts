import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { AnswerEnd } from "../../../src/providers/call/answer-end.ts";
import { withPacedBody, type BodySink } from "../../../src/providers/call/paced.ts";

/** A body that the test writes. */
class Source {
  #out: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  readonly body = new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (out) => void (this.#out = out) });

  write(text: string): void {
    this.#out?.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.#out?.close();
  }

  fail(error: Error): void {
    this.#out?.error(error);
  }
}

const sources: Source[] = [];
const reading: (() => Promise<void>)[] = [];
const sink: BodySink = { end: new AnswerEnd(), read: () => undefined, readToEnd: () => undefined };

function open(counts = sink) {
  const source = new Source();
  sources.push(source);
  const { body } = withPacedBody(new Response(source.body), counts);
  const reader = body?.getReader();
  const next = async () => {
    const part = await reader?.read();
    return part?.value && new TextDecoder().decode(part.value);
  };
  reading.push(async () => {
    await reader?.cancel();
  });
  return { source, next };
}

/** So many that a pause is longer than any test. */
const openMany = () => Array.from({ length: 120 }, () => open());

afterEach(async () => {
  await Promise.allSettled(reading.splice(0).map((cancel) => cancel()));
  sources.splice(0);
});

it("passes on every byte in order, and counts it, however the body came", async () => {
  const bodies = fc.array(fc.string({ minLength: 1, unit: fc.constantFrom("a", "b", "\n") }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(bodies, async (parts) => {
      const seen = { bytes: 0, ends: 0 };
      const { source, next } = open({
        read: (piece: Uint8Array) => void (seen.bytes += piece.length),
        end: new AnswerEnd(),
        readToEnd: () => void (seen.ends += 1),
      });
      for (const part of parts) source.write(part);
      source.end();
      let text = "";
      for (let part = await next(); part !== undefined; part = await next()) text += part;
      expect(text).toBe(parts.join(""));
      expect(seen).toEqual({ bytes: text.length, ends: 1 });
    }),
  );
});

it("passes on the first piece at once, and what comes in the pause after it as one when the body ends", async () => {
  openMany();
  const { source, next } = open();
  source.write("one");
  expect(await next()).toBe("one");
  for (const part of ["two", "three", "four"]) source.write(part);
  const joined = next();
  source.end();
  expect(await joined).toBe("twothreefour");
  expect(await next()).toBeUndefined();
});

it("does not wait for the end of the pause when much has come", async () => {
  openMany();
  const { source, next } = open();
  source.write("one");
  await next();
  source.write("a".repeat(20_000));
  expect(await next()).toHaveLength(20_000);
});

/** The size of a body, how often it is written, and the least time for which it is to be read. */
const FLOOD = { piece: 64 * 1024, times: 8, leastMs: 100 };

async function readFlood(bytesOfPiece: number): Promise<void> {
  const { source, next } = open();
  for (let n = 0; n < FLOOD.times; n++) source.write("a".repeat(bytesOfPiece));
  source.end();
  let bytes = 0;
  for (let part = await next(); part !== undefined; part = await next()) bytes += part.length;
  expect(bytes).toBe(FLOOD.times * bytesOfPiece);
}

it("leaves time for other work while bodies come as fast as they are read, the less for each the more there are", async () => {
  const begun = performance.now();
  await readFlood(FLOOD.piece);
  const one = performance.now() - begun;
  expect(one).toBeGreaterThan(FLOOD.leastMs);
  await Promise.all([readFlood(FLOOD.piece), readFlood(FLOOD.piece), readFlood(FLOOD.piece)]);
  expect(performance.now() - begun - one).toBeGreaterThan(3 * FLOOD.leastMs);
});

it("rests for as long as the reader of a piece took", async () => {
  const { source, next } = open();
  source.write("data: 1\n\n".repeat(100));
  source.end();
  await next();
  const busyMs = 60;
  for (const begun = performance.now(); performance.now() - begun < busyMs;);
  let turns = 0;
  const count = setInterval(() => (turns += 1), 1);
  const begun = performance.now();
  await next();
  clearInterval(count);
  expect(performance.now() - begun).toBeGreaterThan(busyMs - 2);
  // A timer that is due earlier runs earlier, also where both are late.
  expect(turns).toBeGreaterThan(0);
});

it("gives fewer lines at once to a reader who takes long for them", async () => {
  const { source, next } = open();
  source.write("data: 1\n\n".repeat(500));
  source.end();
  const lines: number[] = [];
  for (let part = await next(); part !== undefined && lines.length < 5; part = await next()) {
    lines.push(part.split("\n").length - 1);
    for (const begun = performance.now(); performance.now() - begun < 20;);
  }
  expect(lines).toEqual([64, 32, 16, 8, 4]);
});

it("gives waiting arguments before the end, and before a failure", async () => {
  const call = 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1"}}]}}]}\n\n';
  for (const error of [undefined, new Error("cut")]) {
    const { source, next } = open();
    source.write(call);
    const given = next();
    await Promise.resolve();
    if (error) source.fail(error);
    else source.end();
    expect(await given).toBe(call);
    if (error) await expect(next()).rejects.toThrow("cut");
    else expect(await next()).toBeUndefined();
  }
});

it("gives what came before a failure, then the failure", async () => {
  openMany();
  const { source, next } = open();
  source.write("one");
  await next();
  source.write("two");
  const last = next();
  await Promise.resolve();
  source.fail(new Error("cut"));
  expect(await last).toBe("two");
  await expect(next()).rejects.toThrow("cut");
});

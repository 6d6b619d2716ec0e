import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
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
const sink: BodySink = { read: () => undefined, readToEnd: () => undefined };

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

it("does not wait when much has come", async () => {
  openMany();
  const { source, next } = open();
  source.write("one");
  await next();
  source.write("a".repeat(20_000));
  expect(await next()).toHaveLength(20_000);
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

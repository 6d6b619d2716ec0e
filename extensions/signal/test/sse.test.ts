import fc from "fast-check";
import { expect, test } from "vitest";
import { EventReader } from "../sse.ts";

const read = (...pieces: readonly string[]) => {
  const reader = new EventReader();
  return pieces.flatMap((piece) => reader.push(piece));
};

test("reads what signal-cli writes: no space after the colon, a comment to keep the line open", () => {
  expect(read(':\nid:17-1\nevent:receive\ndata:{"a":1}\n\n:\n')).toEqual([
    { kind: "comment" },
    { kind: "event", id: "17-1", name: "receive", data: '{"a":1}' },
    { kind: "comment" },
  ]);
});

test("reads what else the standard allows: a space, CRLF, CR, several data lines, fields without a colon", () => {
  expect(read("event: one\r\ndata: a\r\ndata:  b\r\n\r\n")).toEqual([{ kind: "event", name: "one", data: "a\n b" }]);
  expect(read("data:a\rdata\r\rdata:b\n\n").map((item) => item.kind === "event" && item.data)).toEqual(["a\n", "b"]);
  expect(read("event:nothing\n\nretry:5\nid\n\n")).toEqual([]);
});

test("an id lasts until the next one", () => {
  expect(read("id:1\ndata:a\n\ndata:b\n\nid:2\ndata:c\n\n").map((item) => item.kind === "event" && item.id)).toEqual([
    "1",
    "1",
    "2",
  ]);
});

test("reads the same events however the text is cut", () => {
  const event = fc.record({
    data: fc.json(),
    end: fc.constantFrom("\n", "\r\n", "\r"),
    space: fc.constantFrom("", " "),
  });
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 1 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      (events, sizes) => {
        const text = events
          .map(({ data, end, space }) => `:${end}event:receive${end}data:${space}${data}${end}${end}`)
          .join("");
        const pieces: string[] = [];
        for (let at = 0; at < text.length;) {
          const { value: size } = sizes.next();
          pieces.push(text.slice(at, at + size));
          at += size;
        }
        const whole = read(text, "\n");
        expect(read(...pieces, "\n")).toEqual(whole);
        expect(whole.flatMap((item) => (item.kind === "event" ? [JSON.parse(item.data)] : []))).toEqual(
          events.map(({ data }) => JSON.parse(data)),
        );
      },
    ),
  );
});

test("an event that is too long is left out, in one line or in many, and the next one is read", () => {
  const next = "id:2\ndata:b\n\n";
  const after = { kind: "event", id: "2", name: "message", data: "b" };
  const line = `data:${"x".repeat(3_000_000)}`;
  expect(read("id:1\n", line, line, line, "\r", `\n\n${next}`)).toEqual([{ kind: "oversized", id: "1" }, after]);
  expect(read("id:1\n", `${line}\n`, `${line}\n`, `\n${next}`)).toEqual([{ kind: "oversized", id: "1" }, after]);
  const empty = "data\n".repeat(100_000);
  const lines = Array.from({ length: 50 }, () => empty);
  expect(read("id:1\n", ...lines, `\n${next}`)).toEqual([{ kind: "oversized", id: "1" }, after]);
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compare } from "./real-gateway/differences.ts";
import { readOutOfScope, reasonFor } from "./real-gateway/out-of-scope.ts";
import type { Frame, Recorded } from "./real-gateway/recorder.ts";
import { report } from "./real-gateway/report.ts";
import { fill, nameOf } from "./real-gateway/row.ts";
import { ROWS } from "./real-gateway/rows/all.ts";

/** What a request brought; a plain object is the payload of its answer. */
function brought(...frames: readonly Frame[]): Recorded {
  const whole = frames.map((frame) => (frame["type"] === undefined ? answer(frame) : frame));
  return { row: "a.b (c)", method: "a.b", params: {}, id: "1", frames: whole.map((frame, ms) => ({ ms, frame })) };
}

const answer = (payload: unknown): Frame => ({ type: "res", id: "1", ok: true, payload });
const refusal = (error: object): Frame => ({ type: "res", id: "1", ok: false, error });
const event = (name: string, payload: object): Frame => ({ type: "event", event: name, payload });
const lines = (real: Recorded, ours: Recorded) => compare(real, ours).lines;

describe("the comparison of two answers", () => {
  test("names what is missing, of another type, and empty", () => {
    const real = brought({ rows: [{ key: "agent:main:main" }, { at: 1, more: { x: 1 } }], jobs: [{ id: "a" }] });
    expect(lines(real, brought({ rows: [{ key: "main", at: "1" }], jobs: [] }))).toEqual([
      "other type: rows[].key is string, not key agent:…",
      "other type: rows[].at is string, not number",
      "missing: rows[].more (object)",
      "empty: jobs",
    ]);
  });

  test("says nothing of values, of more fields, and of one of several types", () => {
    const real = brought({ rows: [{ at: 1 }, { at: null }], list: [] });
    expect(lines(real, brought({ rows: [{ at: 7, more: true }], list: [1] }))).toEqual([]);
  });

  test("names another session key and another word of a state", () => {
    const real = brought({ status: "started", key: "agent:main:main", runId: "1" });
    expect(lines(real, brought({ status: "ok", key: "agent:main:x", runId: "2" }))).toEqual([
      'other type: status is "ok", not "started"',
    ]);
  });

  test("names what events lack", () => {
    const delta = (more: object) => event("chat", { state: "delta", ...more });
    const real = brought(
      answer({}),
      delta({ runId: "1", message: { role: "assistant" } }),
      delta({ runId: "1", deltaText: "a" }),
    );
    expect(lines(real, brought(answer({}), delta({ runId: 1, deltaText: "a" })))).toEqual([
      "event chat delta: other type: runId is number, not string",
      "event chat delta: missing: message (object)",
    ]);
  });

  test("names another code, also one of the details", () => {
    const real = brought(refusal({ code: "INVALID_REQUEST", message: "no", details: { code: "GONE" } }));
    expect(
      lines(real, brought(refusal({ code: "INVALID_REQUEST", message: "never", details: { code: "GONE" } }))),
    ).toEqual([]);
    expect(lines(real, brought(refusal({ code: "INVALID_REQUEST", message: "no" })))).toEqual([
      'answer: INVALID_REQUEST: no; the real gateway: INVALID_REQUEST: no {"code":"GONE"}',
    ]);
    expect(lines(brought({}), brought(refusal({ code: "NOT_FOUND", message: "no" })))).toContain(
      "answer: NOT_FOUND: no; the real gateway: ok",
    );
  });

  test("names a method that only the real gateway knows", () => {
    const unknown = refusal({ code: "INVALID_REQUEST", message: "unknown method: a.b" });
    expect(compare(brought({}), brought(unknown)).isUnknownMethod).toBe(true);
    expect(compare(brought(unknown), brought(unknown))).toMatchObject({ isUnknownMethod: false, lines: [] });
  });

  test("names a second answer that does not come, and events that come before the answer", () => {
    const final = event("chat", { state: "final" });
    const real = brought(
      { status: "accepted" },
      event("agent", { stream: "lifecycle", data: { phase: "end" } }),
      final,
      {},
    );
    expect(lines(real, brought(final, { status: "accepted" }))).toEqual([
      "1 answers instead of 2",
      "no event: agent lifecycle end",
      "no event: answer 2",
      "before the answer instead of after it: chat final",
    ]);
  });
});

test("the report puts the rows of a method together", () => {
  const row = (about: string, method: string, ...found: string[]) => ({
    row: `${method} (${about})`,
    method,
    isUnknownMethod: false,
    lines: found,
  });
  const unknown = (method: string) => ({ ...row("x", method, "the real gateway answers ok"), isUnknownMethod: true });
  const all = [
    row("1", "a.b", "both", "one"),
    row("2", "a.b", "both"),
    unknown("c.d"),
    unknown("e.f"),
    row("1", "g.h"),
  ];
  const text = report(all, (method) => (method === "e.f" ? "no use" : undefined));
  expect(text.split("\n").filter((line) => line !== "")).toEqual([
    "## unknown methods: 1",
    "c.d",
    "    c.d (x): the real gateway answers ok",
    "## methods that answer in another way: 1",
    "a.b",
    "    both",
    "  a.b (1)",
    "    one",
    "## methods without a difference: 1",
    "g.h",
    "## unknown methods that are out of scope: 1",
    "e.f: no use",
  ]);
});

describe("the requests", () => {
  test("have names of their own, and refer only to earlier ones", () => {
    const names = ROWS.map(nameOf);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    const later = ROWS.flatMap((row, index) => {
      const asked = [...JSON.stringify(row.params ?? {}).matchAll(/"\{([^:{}"]+):[^{}"]+\}"/g)].map(
        ([, name = ""]) => name,
      );
      return asked.filter((name) => !names.slice(0, index).includes(name)).map((name) => `${nameOf(row)}: ${name}`);
    });
    expect(later).toEqual([]);
  });

  test("take values of earlier answers", () => {
    const answers = new Map([["a.b", { list: [{ id: 7 }] }]]);
    const params = {
      id: "{a.b:list.0.id}",
      other: "{a.b:list.1.id}",
      raw: '{"a":{"b":1}}',
      list: [null, "{a.b:list.0.id}"],
    };
    expect(fill(params, answers)).toEqual({ id: 7, other: "absent", raw: '{"a":{"b":1}}', list: [null, 7] });
  });
});

test("docs/reference/protocol.md has no served method out of scope", () => {
  const families = readOutOfScope();
  expect(families.length).toBeGreaterThan(10);
  const page = readFileSync(join(import.meta.dirname, "../../docs/reference/protocol.md"), "utf8");
  const [, served = ""] = page.split("### Methods\n");
  const names = [...(served.split(/^#/m)[0] ?? "").matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(
    ([, cell = ""]) => cell.match(/[^`, ]+/g) ?? [],
  );
  expect(names).toContain("chat.send");
  expect(names.filter((name) => reasonFor(name, families) !== undefined)).toEqual([]);
});

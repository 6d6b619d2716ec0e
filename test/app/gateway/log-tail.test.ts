import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tailLogs } from "../../../src/app/log/tail-logs.ts";

test("the end of a log has complete lines only, and its cursor is a place in bytes, wherever the cut is", async () => {
  const dir = mkdtempSync(join(tmpdir(), "log-tail-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "gateway.log");
  const lines = ["one 🦞🦞", "two äö", "three €"];
  const whole = `${lines.join("\n")}\n`;
  writeFileSync(file, `${whole}begun €`);
  const end = Buffer.byteLength(whole);
  const size = end + Buffer.byteLength("begun €");
  for (let maxBytes = size - end + 1; maxBytes < size; maxBytes += 1) {
    const tail = await tailLogs(file, { maxBytes });
    expect([maxBytes, tail.cursor]).toEqual([maxBytes, end]);
    expect(tail.lines).toEqual(lines.slice(lines.length - tail.lines.length));
    expect(tail.truncated).toBe(true);
  }
  expect(await tailLogs(file, { maxBytes: 3 })).toMatchObject({ lines: [], cursor: 0 });
  expect(await tailLogs(file, {})).toMatchObject({ lines, cursor: end });
  expect(await tailLogs(file, { cursor: end })).toMatchObject({ lines: [], cursor: end });
});

test("a record has a message that names its fields, as OpenClaw's clients show it; another line stays as it is", async () => {
  const dir = mkdtempSync(join(tmpdir(), "log-tail-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "gateway.log");
  const record = { level: "info", time: "2026-11-29T21:17:41.980Z", host: "127.0.0.1", why: "a b", msg: "listening" };
  writeFileSync(file, `${JSON.stringify(record)}\nof another program\n{"msg":1}\n`);
  const [first = "", ...others] = (await tailLogs(file, {})).lines;
  expect(JSON.parse(first)).toEqual({ ...record, message: 'listening host=127.0.0.1 why="a b"' });
  expect(others).toEqual(["of another program", '{"msg":1}']);
});

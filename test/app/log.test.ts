import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { openLog } from "../../src/app/log/log.ts";
import { humanLine } from "../../src/app/log/human.ts";
import { Secret } from "../../src/types/secret.ts";

it.each(["\nfake", "\r12:00:00 info  forged", "\u001b]0;title\u0007", "\u009b2Jgone", "\u202eevil", "a\u2028b"])(
  "a line of the log stays one line that steers nothing, whatever strangers write: %j",
  (name) => {
    const line = stripVTControlCharacters(
      humanLine("info", "dropped", { sender: name, list: [name], error: new Error(`x${name}`) }),
    );
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
    expect(line.endsWith("\n")).toBe(true);
  },
);

const LONG = "n".repeat(100_000);
const OWN: Record<string, unknown> = {};
OWN[""] = OWN;
const OWN_LIST: unknown[] = [];
for (let at = 0; at < 50; at += 1) OWN_LIST.push(OWN_LIST);
const DEEPEST = Array.from({ length: 50_000 }).reduce<unknown>((inner) => [inner], LONG);
const FAILING = {
  get path() {
    throw new Error(LONG);
  },
};
const REVOKED = Proxy.revocable({}, {});
REVOKED.revoke();
const DEEP = Array.from({ length: 200 }).reduce<unknown>((inner) => ({ inner }), LONG);

it.each<readonly [string, string, Readonly<Record<string, unknown>>]>([
  ["name", "tool", { tool: LONG }],
  ["message", LONG, {}],
  ["list", "tools", { tools: [LONG, LONG] }],
  ["long list", "tools", { tools: Array.from({ length: 10_000 }, (_, at) => `tool ${at}`) }],
  ["list of lists", "tools", { tools: Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => LONG)) }],
  ["object", "call", { call: { name: LONG, [LONG]: 1 } }],
  ["deep object", "call", { call: DEEP }],
  ["list of 50,000 levels", "call", { call: DEEPEST }],
  ["object that holds itself", "call", { call: OWN }],
  ["list that holds itself", "call", { call: OWN_LIST }],
  ["object with a member that fails", "call", { call: FAILING }],
  ["object that cannot be read", "call", { call: [REVOKED.proxy] }],
  ["object of many members", "call", { call: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [at, at])) }],
  ["error", "failed", { error: new Error(LONG) }],
  ["error that is a text", "failed", { error: LONG }],
])("a %s that a model chose does not fill the log", (_, message, fields) => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "a.log");
  const log = openLog({ file, level: "info", consoleLevel: "silent", consoleStyle: "json" });
  log.info(message, { ...fields, session: "telegram:default:1" });
  log.flush();
  const line = readFileSync(file, "utf8");
  expect(line.length).toBeLessThan(40_000);
  expect(JSON.parse(line)).toMatchObject({ session: "telegram:default:1" });
});

it("a secret in a text that is cut does not leave its beginning in the log", () => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "a.log");
  const log = openLog({ file, level: "info", consoleLevel: "silent", consoleStyle: "json" });
  Secret.remember("a-secret-of-somebody-else");
  for (let at = 1300; at < 1420; at += 1)
    log.info("tool", { tool: `${"n".repeat(at)}a-secret-of-somebody-else${LONG}` });
  log.flush();
  expect(readFileSync(file, "utf8")).not.toMatch(/na-|secret-of|else/);
});

it("a line of the file steers no terminal and is the same JSON", () => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "a.log");
  const log = openLog({ file, level: "info", consoleLevel: "silent", consoleStyle: "json" });
  const name = "a\u009b2J\u202eb\u200fc\u007f\u001b[2J";
  log.info(name, { name });
  log.flush();
  const line = readFileSync(file, "utf8");
  expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  expect(JSON.parse(line)).toMatchObject({ msg: name, name });
});

it("what the operator's patterns match is masked in messages, fields and errors, and the lines stay JSON", () => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const redactPatterns = ["customer-\\d+", "/SSN=.*/i"];
  const file = join(dir, "a.log");
  const log = openLog({ file, level: "info", consoleLevel: "silent", consoleStyle: "json", redactPatterns });
  log.info("customer-17 wrote", { to: { name: "customer-18", n: 3 }, error: new Error("ssn=123 for all") });
  log.flush();
  const text = readFileSync(file, "utf8");
  expect(text).not.toMatch(/customer-\d|123/);
  expect(JSON.parse(text)).toMatchObject({ msg: "[secret] wrote", to: { name: "[secret]", n: 3 }, error: "[secret]" });
});

it("what a pattern matches in a text that is cut does not leave its beginning in the file or on the terminal", () => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  const file = join(dir, "a.log");
  const printed = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const { isTTY } = process.stdout;
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
    printed.mockRestore();
    process.stdout.isTTY = isTTY;
  });
  process.stdout.isTTY = true;
  const redactPatterns = ["customer \\d{6};"];
  const log = openLog({ file, level: "info", consoleLevel: "info", consoleStyle: "pretty", redactPatterns });
  for (let at = 1300; at < 1420; at += 1) {
    const text = `${"n".repeat(at)}customer 123456;${LONG}`;
    log.warn(text, { tool: text, list: [text], error: new Error(text) });
  }
  log.flush();
  const onTerminal = printed.mock.calls.map(([line]) => String(line)).join("");
  for (const text of [readFileSync(file, "utf8"), onTerminal]) expect(text).not.toMatch(/cus|\d\d;/);
});

it("a line names a conversation as people do, also through a log with fields of its own", () => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "a.log");
  const sessionName = (key: string) => `agent:main:${key}`;
  const log = openLog({ file, level: "info", consoleLevel: "silent", consoleStyle: "json", sessionName });
  log.info("one", { session: "telegram:default:1" });
  log.with({ session: "telegram:default:2" }).info("two", { run: "r" });
  log.flush();
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(lines).toMatchObject([
    { session: "agent:main:telegram:default:1" },
    { session: "agent:main:telegram:default:2" },
  ]);
});

it("a day's log has a size that it does not outgrow, and keeps its newest lines in order", () => {
  const dir = mkdtempSync(join(tmpdir(), "log-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const begin = () =>
    openLog({ dir, level: "info", consoleLevel: "silent", consoleStyle: "json", maxDayBytes: 10_000 });
  const log = begin();
  for (let n = 0; n < 300; n += 1) log.info("line", { n });
  log.flush();
  // A start later in the day knows how full the file is.
  const next = begin();
  for (let n = 300; n < 400; n += 1) next.info("line", { n });
  next.flush();
  const names = readdirSync(dir).toSorted();
  expect(names).toEqual([
    expect.stringMatching(/^openclaw-[\d-]+\.1\.log$/),
    expect.stringMatching(/^openclaw-[\d-]+\.log$/),
  ]);
  for (const name of names) expect(statSync(join(dir, name)).size).toBeLessThan(10_200);
  const lines = names.flatMap((name) => readFileSync(join(dir, name), "utf8").trim().split("\n"));
  const numbers = lines.map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => 400 - numbers.length + at));
  expect(numbers.length).toBeGreaterThan(100);
});

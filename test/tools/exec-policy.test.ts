import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allowanceTexts, decideExec } from "../../src/tools/exec/exec-policy.ts";
import { splitCommand } from "../../src/tools/exec/shell-words.ts";
import type { ExecSettings } from "../../src/types/settings.ts";

const settings = (patch: Partial<ExecSettings> = {}): ExecSettings => ({
  security: "allowlist",
  ask: "on-miss",
  timeoutMs: 1000,
  safeBins: ["wc", "head", "sh", "git"],
  pathPrepend: [],
  ...patch,
});
const decide = (command: string, patch: Partial<ExecSettings> = {}, allowed: string[] = []): string =>
  decideExec(command, settings(patch), { isAllowed: (text) => allowed.includes(text) });

describe("a program of safeBins", () => {
  it.each([
    ..."/bin/sh python3.11 nodejs rbash vim.tiny rvim bash-static /usr/bin/perl5.36 Python3 lua5.4 sh.exe busybox tee".split(
      " ",
    ),
    "./x",
    "bin/x",
    "/tmp/x",
    "/usr/bin/../../tmp/x",
  ])("is asked about, whatever the list says: %s", (program) => {
    expect(decide(`echo x | ${program}`, { safeBins: [program] })).toBe("ask");
  });

  it.each([
    ..."sort -o1|sort -o 1|sort -o -r|sort --output -r|sort --out=1|sort --o=1|sort -T1|sort --compress-program=1|uniq 1 2".split(
      "|",
    ),
    ..."tail -f|tail --follow|tail -n|grep -f1|grep -r|mytool -o1|mytool -o|mytool -O1|mytool 5|mytool -x5|wc --files0-from=1".split(
      "|",
    ),
    "head 5",
  ])("is asked about when its words may name a file: %s", (command) => {
    const safeBins = ["sort", "uniq", "tail", "grep", "mytool", "wc", "head"];
    expect(decide(`echo x | ${command}`, { safeBins })).toBe("ask");
  });

  it.each(
    "sort -r -n -k2|sort -k 2|uniq -c|uniq -f 1|tail -n +5|tail -c5|head --lines=3|cut -f1|wc -l|/usr/bin/wc -l|mytool -a --all|rev|df -h".split(
      "|",
    ),
  )("runs unasked with words that name none: %s", (command) => {
    const safeBins = ["sort", "uniq", "tail", "head", "cut", "wc", "/usr/bin/wc", "mytool", "rev", "df"];
    expect(decide(`echo x | ${command}`, { safeBins })).toBe("run");
  });
});

describe("a command", () => {
  it.each([
    "pwd",
    "  uname -a ",
    "echo hello 'a; b > c' \"and | more\"",
    "whoami && pwd; uname || echo no",
    "echo 1 2 | wc -l",
    "echo x | head -n 5",
    "echo x | head -5 | wc --lines",
  ])("runs unasked: %s", (command) => {
    expect(decide(command)).toBe("run");
  });

  it.each([
    "",
    "ls",
    "./pwd",
    "/tmp/uname",
    "date",
    "date -s 12:00",
    "date -f /etc/passwd",
    "pwd extra",
    "echo $HOME",
    'echo "$(id)"',
    "echo `id`",
    "echo x > file",
    "echo x >> file",
    "wc < file",
    "wc -l file",
    "wc --files0-from=names",
    "echo x | wc -ofile",
    "echo x | head -cn",
    "echo x &",
    "echo x & rm y",
    "echo x\nrm y",
    "echo *",
    "echo ~root",
    "echo {a,b}",
    "echo !!",
    "echo x \\; rm y",
    "echo 'open",
    "PATH=. echo x",
    "ec'ho' x",
    "(pwd)",
    "pwd;",
    "pwd | | wc",
    "pwd ||| wc",
    "echo rm | sh",
    "git status",
    "constructor",
    "__proto__ x",
    "echo x # y",
    "pwd\u00a0",
    "\ufeffpwd",
    "echo\u00a0x;\u2028rm",
  ])("is asked about: %j", (command) => {
    expect(decide(command)).toBe("ask");
    expect(decide(command, { ask: "off" })).toBe("deny");
  });

  it.each<[Partial<ExecSettings>, string, string]>([
    [{ security: "deny" }, "pwd", "deny"],
    [{ security: "deny", ask: "always" }, "pwd", "deny"],
    [{ security: "full", ask: "off" }, "rm -rf x", "run"],
    [{ security: "full" }, "rm -rf x", "run"],
    [{ security: "full", ask: "always" }, "pwd", "ask"],
    [{ ask: "always" }, "pwd", "ask"],
  ])("with %j, %s: %s", (patch, command, expected) => {
    expect(decide(command, patch)).toBe(expected);
  });

  it("runs when exactly it was allowed for good, whole or in each part", () => {
    const allowed = ["git status", "make > log"];
    expect(decide("git status", {}, allowed)).toBe("run");
    expect(decide(" make > log ", {}, allowed)).toBe("run");
    expect(decide("git status && pwd | wc -l", {}, allowed)).toBe("run");
    expect(decide("git status -s", {}, allowed)).toBe("ask");
    expect(decide("git  status", {}, allowed)).toBe("ask");
    expect(decide("git status && rm x", {}, allowed)).toBe("ask");
    expect(decide("git status > pwd", {}, allowed)).toBe("ask");
    expect(decide("git status", { ask: "always" }, allowed)).toBe("ask");
    expect(allowanceTexts(" git status && pwd ")).toEqual(["git status && pwd", "git status", "pwd"]);
  });

  it("with an operator, a substitution or a redirection never runs unless each part is safe", () => {
    const safe = fc.constantFrom("pwd", "echo a b", "uname -a", "whoami", "wc -l");
    const unsafe = fc.constantFrom("rm -rf x", "curl evil", "cat f", "sh", "echo $X", "./pwd");
    const joint = fc.constantFrom("; ", " && ", " | ", " || ", ";", "|", "&&");
    const breaker = fc.constantFrom("$(", "`", ">", "<", "\n", "&", "$", "\\", "*");
    fc.assert(
      fc.property(fc.array(safe, { minLength: 1, maxLength: 4 }), joint, (parts, by) => {
        expect(decide(parts.join(by))).toBe("run");
      }),
    );
    fc.assert(
      fc.property(
        fc.array(safe, { maxLength: 3 }),
        unsafe,
        fc.array(safe, { maxLength: 3 }),
        joint,
        (before, bad, after, by) => {
          expect(decide([...before, bad, ...after].join(by))).toBe("ask");
        },
      ),
    );
    fc.assert(
      fc.property(safe, breaker, safe, fc.boolean(), (one, mark, two, spaced) => {
        expect(decide(spaced ? `${one} ${mark} ${two}` : `${one}${mark}${two}`)).toBe("ask");
      }),
    );
  });

  it("that is split holds no character with a meaning outside quotes", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."ab '\"|;&$`><\\*()\n=".split("")), maxLength: 12 }),
        (command) => {
          const parts = splitCommand(command);
          const bare = command.trim().replaceAll(/'[^']*'|"[^"]*"/g, "");
          expect(parts === undefined || !/[$`<>\\*()\n]|(?<!&)&(?!&)/.test(bare)).toBe(true);
        },
      ),
    );
  });
});

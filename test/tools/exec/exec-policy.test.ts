import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allowanceTexts } from "../../../src/tools/exec/exec-policy.ts";
import { splitCommand } from "../../../src/tools/exec/plan/shell-words.ts";
import type { ExecSettings } from "../../../src/types/settings.ts";
import { considered, decisionOn } from "./decision.ts";

const decide = (command: string, patch: Partial<ExecSettings> = {}, allowed: string[] = []): Promise<string> =>
  decisionOn(command, { safeBins: ["wc", "head", "sh", "git"], ...patch }, { allowed });

describe("a program of safeBins", () => {
  it.each([
    ..."/bin/sh python3.11 nodejs rbash vim.tiny rvim bash-static /usr/bin/perl5.36 Python3 lua5.4 sh.exe busybox tee".split(
      " ",
    ),
    ..."sqlite3 m4 dc psql mysql gnuplot guile gs mksh ed red ex awk gawk mawk original-awk nawk tclsh sbcl octave gdb troff tex".split(
      " ",
    ),
    ..."less more man git find make gpg rsync tar zip openssl bpftrace tmux nvim jq rg ssh ld.so busybox-static ksh93".split(
      " ",
    ),
    "./x",
    "bin/x",
    "/tmp/x",
    "/usr/bin/../../tmp/x",
  ])("is asked about, whatever the list says: %s", async (program) => {
    expect(await decide(`echo x | ${program}`, { safeBins: [program] })).toBe("ask");
  });

  it.each(["/usr/bin/sqlite3", "/usr/bin/mawk", "/bin/busybox", "/usr/lib64/ld-linux-x86-64.so.2"])(
    "is asked about when its name is a link to %s",
    async (real) => {
      const asked = decisionOn("echo x | mytool", { safeBins: ["mytool"] }, { programs: { mytool: real } });
      expect(await asked).toBe("ask");
    },
  );

  it.each([
    ..."sort -o1|sort -o 1|sort -o -r|sort --output -r|sort --out=1|sort --o=1|sort -T1|sort --compress-program=1|uniq 1 2".split(
      "|",
    ),
    ..."tail -f|tail --follow|tail -n|grep -f1|grep -r|mytool -o1|mytool -o|mytool -O1|mytool 5|mytool -x5|wc --files0-from=1".split(
      "|",
    ),
    "head 5",
  ])("is asked about when its words may name a file: %s", async (command) => {
    const safeBins = ["sort", "uniq", "tail", "grep", "mytool", "wc", "head"];
    expect(await decide(`echo x | ${command}`, { safeBins })).toBe("ask");
  });

  it.each(
    "sort -r -n -k2|sort -k 2|uniq -c|uniq -f 1|tail -n +5|tail -c5|head --lines=3|cut -f1|wc -l|/usr/bin/wc -l|mytool -a --all|rev|df -h".split(
      "|",
    ),
  )("runs unasked with words that name none: %s", async (command) => {
    const safeBins = ["sort", "uniq", "tail", "head", "cut", "wc", "/usr/bin/wc", "mytool", "rev", "df"];
    expect(await decide(`echo x | ${command}`, { safeBins })).toBe("run");
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
  ])("runs unasked: %s", async (command) => {
    expect(await decide(command)).toBe("run");
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
  ])("is asked about: %j", async (command) => {
    expect(await decide(command)).toBe("ask");
    expect(await decide(command, { ask: "off" })).toBe("deny");
  });

  it.each<[Partial<ExecSettings>, string, string]>([
    [{ security: "deny" }, "pwd", "deny"],
    [{ security: "deny", ask: "always" }, "pwd", "deny"],
    [{ security: "full", ask: "off" }, "rm -rf x", "run"],
    [{ security: "full" }, "rm -rf x", "run"],
    [{ security: "full", ask: "always" }, "pwd", "ask"],
    [{ ask: "always" }, "pwd", "ask"],
  ])("with %j, %s: %s", async (patch, command, expected) => {
    expect(await decide(command, patch)).toBe(expected);
  });

  it("runs when exactly it was allowed for good, whole or in each part", async () => {
    const allowed = ["git status", "make > log"];
    expect(await decide("git status", {}, allowed)).toBe("run");
    expect(await decide(" make > log ", {}, allowed)).toBe("run");
    expect(await decide("git status && pwd | wc -l", {}, allowed)).toBe("run");
    expect(await decide("git status -s", {}, allowed)).toBe("ask");
    expect(await decide("git  status", {}, allowed)).toBe("ask");
    expect(await decide("git status && rm x", {}, allowed)).toBe("ask");
    expect(await decide("git status > pwd", {}, allowed)).toBe("ask");
    expect(await decide("git status", { ask: "always" }, allowed)).toBe("ask");
    expect(allowanceTexts(await considered(" git status && pwd "))).toEqual(["git status && pwd", "git status", "pwd"]);
  });

  it("with an operator, a substitution or a redirection never runs unless each part is safe", async () => {
    const safe = fc.constantFrom("pwd", "echo a b", "uname -a", "whoami", "wc -l");
    const unsafe = fc.constantFrom("rm -rf x", "curl evil", "cat f", "sh", "echo $X", "./pwd");
    const joint = fc.constantFrom("; ", " && ", " | ", " || ", ";", "|", "&&");
    const breaker = fc.constantFrom("$(", "`", ">", "<", "\n", "&", "$", "\\", "*");
    await fc.assert(
      fc.asyncProperty(fc.array(safe, { minLength: 1, maxLength: 4 }), joint, async (parts, by) => {
        expect(await decide(parts.join(by))).toBe("run");
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(safe, { maxLength: 3 }),
        unsafe,
        fc.array(safe, { maxLength: 3 }),
        joint,
        async (before, bad, after, by) => {
          expect(await decide([...before, bad, ...after].join(by))).toBe("ask");
        },
      ),
    );
    await fc.assert(
      fc.asyncProperty(safe, breaker, safe, fc.boolean(), async (one, mark, two, spaced) => {
        expect(await decide(spaced ? `${one} ${mark} ${two}` : `${one}${mark}${two}`)).toBe("ask");
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

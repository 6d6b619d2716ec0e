import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { execTool } from "../../../src/tools/exec.ts";
import { commandPlan } from "../../../src/tools/exec/plan/plan.ts";
import type { ExecRow } from "../../../src/tools/exec/rules/document.ts";
import { findProgram } from "../../../src/tools/host/find-program.ts";
import { runTool } from "../../../src/tools/run.ts";
import type { ExecSettings } from "../../../src/types/settings.ts";
import type { Unasked } from "../../../src/types/run/unasked.ts";
import { createTools } from "../../kit/create-tools.ts";
import { decisionOn } from "./decision.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";

let workspace: string;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "bypass-")));
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

const safeBins = "wc head tail sort grep cut uniq tr jq awk sed env bash time flock busybox".split(" ");
const path = (pattern: string, argPattern?: string): ExecRow => ({
  pattern,
  ...(argPattern !== undefined && { argPattern }),
});
const everything = [path("/**"), path("/usr/bin/*"), path("rg"), path("cat")];

describe("a way around the list that was found in such gateways", () => {
  it.each<[hole: string, command: string, rows?: readonly ExecRow[], settings?: Partial<ExecSettings>]>([
    ["an abbreviated long option", "sort --compress-prog=sh"],
    ["an abbreviated long option", "sort --outp=x"],
    ["an abbreviated long option of a profile", "sort --ou=x", [], { safeBinProfiles: { sort: { maxPositional: 1 } } }],
    ["a wildcard that is expanded after the check", "wc *", everything],
    ["a variable that is expanded after the check", "cat $X", everything],
    ["a variable in double quotes", 'cat "$X"', everything],
    ["env that splits a text into words", 'env -S "sh -c id"', everything],
    ["env before a shell", "env bash", everything],
    ["a shell behind a variable", "A=b bash x.sh", everything],
    ["time before a program", "time rm x", everything],
    ["flock before a program", "flock x rm x", everything],
    ["busybox as a shell", "busybox sh x.sh", everything],
    ["jq that reads the environment", "echo 1 | jq -n $ENV"],
    ["jq that reads the environment, in quotes", "echo 1 | jq -n '$ENV'"],
    [
      "a pipe into an interpreter that a row allows",
      "cat x | python3 x.py",
      [...everything, path("python3", "^x\\.py$")],
    ],
    ["a pipe into an interpreter that a row allows", "cat x | bash", everything],
    ["a row of a path alone for an interpreter", "python3 x.py", [path("/usr/bin/python3")]],
    ["a row of a path alone for a runner", "npm run x", [path("npm")]],
    ["code on the command line", "python3 -c x", [path("python3", ".*")]],
    ["code on the command line", "node --eval x", [path("node", ".*")]],
    ["code on the command line", "perl -ne x", [path("perl", ".*")]],
    ["code on the command line", "sh -c x", [path("sh", ".*")]],
    ["code on the command line", "awk x y", [path("awk", ".*")]],
    ["code on the command line", "sed s/a/b/e y", [path("sed", ".*")]],
    ["code on the command line", "find . -exec rm x", [path("find", ".*")]],
    ["code on standard input", "python3", [path("python3", ".*")]],
    ["code on standard input", "python3 -", [path("python3", ".*")]],
    ["a project's own file", "make", [path("make", ".*")]],
    ["a checker that loads code of the project", "pylint x.py", [path("pylint")]],
    ["a checker that loads code of the project", "flake8 x.py", [path("/usr/bin/flake8")]],
    ["sort -o", "echo | sort -o x"],
    ["grep -R", "grep -R x"],
    ["grep -f", "grep -fx"],
    ["tail that never ends", "tail -F"],
    ["cmd.exe's metacharacters", "cat x & del y", everything],
    ["cmd.exe's metacharacters", "cat x ^& y", everything],
    ["cmd.exe's variables", "cat %X%", [path("wc")]],
    ["a here-document", "cat <<E\nx\nE", everything],
    ["a redirection", "cat x > y", everything],
    ["a command substitution", "cat $(id)", everything],
    ["backticks", "cat `id`", everything],
    ["a second line", "cat x\nrm y", everything],
    ["a background job", "cat x & rm y", everything],
    ["a reserved word", "! rm y", everything],
    ["a function of a safe program's name", "cat() { rm y; }; cat", everything],
    ["an alias", "alias cat=rm; cat y", everything],
    ["a directory that changes what a path means", "cd /tmp && cat x", everything],
    ["a program that the agent wrote", "./rg", [...everything, path("**")]],
    ["a program that the agent wrote, under a safe name", "/tmp/wc"],
  ])("is asked about: %s: %s", async (_hole, command, rows = [], settings = {}) => {
    expect(await decisionOn(command, { safeBins, ...settings }, { rows })).toBe("ask");
  });

  it("is asked about when a link leads to a program that no row of a path alone allows", async () => {
    const rows = [path("/usr/bin/viewer")];
    expect(await decisionOn("viewer x", {}, { rows })).toBe("run");
    for (const real of ["/usr/bin/python3.12", "/usr/bin/env", "/bin/busybox"])
      expect(await decisionOn("viewer x", {}, { rows, programs: { viewer: real } })).toBe("ask");
  });
});

describe("a row with a wildcard", () => {
  const rows = [path("/usr/bin/*"), path("/**"), path("/usr/bin/*", ".*"), path("/*/bin/*", "")];

  it.each([
    "taskset 1 id",
    "setarch x86_64 id",
    "setpriv --reuid 0 id",
    "prlimit --nproc=9 id",
    "chrt 1 id",
    "nsenter -t 1 id",
    "unshare id",
    "/lib64/ld-linux-x86-64.so.2 /bin/sh",
    "/lib/ld-musl-x86_64.so.1 /bin/sh",
    "ld.so /bin/sh",
    "bash-static x",
    "vim.basic x",
    "python3 x.py",
    "tar -cf x --checkpoint-action=exec=id y",
    "tar -cf x y",
    "git -c core.pager=id log",
    "git status",
    "rsync -e id x y",
    "rsync x y",
    "find . -exec id",
    "find .",
    "xargs id",
    "env -S id",
    "ssh -o ProxyCommand=id x",
    "ssh x",
    "man ls",
    "less x",
    "sqlite3 x.db",
    "systemd-run id",
    "start-stop-daemon -S -a id",
    "xvfb-run id",
    "strace id",
    "gdb x",
    "x86_64-linux-gnu-gcc-12 x.c",
    "msgexec id",
  ])("covers no program that may start another one: %s", async (command) => {
    expect(await decisionOn(command, { strictInlineEval: false }, { rows })).toBe("ask");
  });

  it("covers one that cannot, and none whose file does not show it", async () => {
    expect(await decisionOn("cat x", {}, { rows })).toBe("run");
    const startsOthers = { rows, startsOthers: true } as const;
    expect(await decisionOn("cat x", {}, startsOthers)).toBe("ask");
    expect(await decisionOn("cat x", {}, { ...startsOthers, rows: [path("/usr/bin/cat")] })).toBe("run");
    expect(await decisionOn("mytool -a", { safeBins: ["mytool"] }, { startsOthers: true })).toBe("ask");
  });
});

describe("a row of a program's path", () => {
  it.each([
    "git -c core.pager=id log",
    "git -ccore.pager=id log",
    "git --exec-path=x log",
    "git --exec-p=x log",
    "git grep -Oid x",
    "git config alias.x id",
    "git bisect run id",
    "git submodule foreach id",
    "tar -cf x --checkpoint-action=exec=id y",
    "tar -cf x --checkpoint-act exec=id y",
    "tar cIf id x y",
    "tar -xf x --to-command=id",
    "rsync -e id x y",
    "rsync -aeid x y",
    "rsync --rsh=id x y",
    "rg --pre id x",
    "rg --pr=id x",
    "sort --compress-prog id x",
    "man -Pid x",
    "curl -K x",
    "less x +s",
    "gcc -wrapper id x.c",
    "gcc @more x.c",
    "x86_64-linux-gnu-gcc-12 @more",
    "nm --plugin ./x.so y",
    "ranlib --plug=./x.so y",
    "javac -processorpath . X.java",
    "javac @more",
    "protoc --plugin=protoc-gen-x=./x y",
    "sdiff --diff-program=id x y",
    "tar -cf x -T list",
    "tar cTf list x",
    "tar -cf x --files-f=list",
    "tar -cf host:x y",
    "jq -n '$ENV.PATH'",
    "jq -n env",
    "jq -n 'env | keys'",
    "jq 'include \"x\"; .' y",
    "jq -f x y",
    "jq --raw=a y .",
    "yq 'env(PATH)' x",
    "yq 'strenv(PATH)' x",
    "yq '.a = load(\"x\")' y",
    "gh alias set x '!id'",
    "gh extension install a/b",
    "glab alias set x '!id'",
    "aws configure set credential_process id",
    "op run -- id",
    "doppler run -- id",
    "pyenv exec id",
    "git rebase -x id main",
    "git rebase --exec=id main",
    "git clone -c core.fsmonitor=id x",
  ])("covers no option that starts another program: %s", async (command) => {
    const [name = ""] = command.split(" ");
    expect(await decisionOn(command, {}, { rows: [path(name), path(name, ".*")] })).toBe("ask");
    expect(await decisionOn(command, { strictInlineEval: false }, { rows: [path(name)] })).toBe("ask");
    const args = path(name, ".*");
    expect(await decisionOn(command, { strictInlineEval: false }, { rows: [args] })).toBe("run");
  });

  const OTHERS =
    "git status,git diff --stat,tar -cf x y,tar xf x,rg x,sort -n x,jq .environment x,jq -r .a.b x,gh pr list,aws s3 ls,nm x,gcc -c x.c";
  it.each(OTHERS.split(","))("covers the others: %s", async (command) => {
    expect(await decisionOn(command, {}, { rows: [path(command.split(" ")[0] ?? "")] })).toBe("run");
  });
});

describe("a builtin of the shell", () => {
  const rows = ["printf", "test", "cat", "/usr/bin/*"].map((pattern) => path(pattern));

  it.each([
    "printf -v PATH /tmp; cat x",
    "printf '-vPATH' /tmp; cat x",
    "printf %n PATH; cat x",
    "printf -v 'a[$(id)]' x; cat x",
    "test -v 'a[$(id)]'; cat x",
    "test 'a[$(id)]' -eq 0 && cat x",
    "declare x; cat x",
    "typeset x; cat x",
    "read PATH; cat x",
    "echo /tmp | read PATH; cat x",
    "mapfile PATH; cat x",
    "let PATH=1; cat x",
    "getopts x PATH; cat x",
    "enable -f x cat; cat x",
    "shopt -s expand_aliases; cat x",
    "hash -p /tmp/x cat; cat x",
    "trap id EXIT; cat x",
    "exit; cat x",
  ])("that changes what the commands after it mean is asked about: %s", async (command) => {
    const allowed = command.split(/; | && | \| /);
    expect(await decisionOn(command, {}, { rows, allowed })).toBe("ask");
  });

  it.each(["printf -v PATH /tmp", "printf '%s' x | wc -l", "test -f x && cat x", "test a = b || cat x"])(
    "that changes nothing runs: %s",
    async (command) => expect(await decisionOn(command, { safeBins: ["wc"] }, { rows })).toBe("run"),
  );
});

describe.runIf(process.platform === "linux")("a program of this machine", () => {
  it("is known by its file to be able to start others", async () => {
    const place = { cwd: workspace, workspace, path: ["/usr/bin", "/bin"] };
    await writeFile(join(workspace, "script"), "#!/bin/sh\n", { mode: 0o755 });
    expect(await findProgram("cat", place)).not.toHaveProperty("startsOthers");
    for (const name of ["sh", "env", "./script", process.execPath])
      expect(await findProgram(name, place)).toMatchObject({ startsOthers: true });
  });
});

describe("a row of the approvals document", () => {
  it.each<[string, ExecRow, "run" | "ask"]>([
    ["rg x", path("/usr/bin/rg"), "run"],
    ["rg x", path("/usr/*/rg"), "run"],
    ["rg x", path("/usr/**"), "run"],
    ["rg x", path("/usr/*"), "ask"],
    ["rg x", path("/usr/bin/r?"), "run"],
    ["rg x", path("/USR/bin/rg"), "ask"],
    ["rg x", path("rg"), "run"],
    ["/usr/bin/rg x", path("rg"), "ask"],
    ["rg x", path("r*"), "ask"],
    ["rg x", path("/usr/bin/rg", "^x$"), "run"],
    ["rg x y", path("/usr/bin/rg", "^x$"), "ask"],
    ["rg 'x y'", path("/usr/bin/rg", "^x\\x00y\\x00$"), "ask"],
    ["rg x y", path("/usr/bin/rg", "^x\\x00y\\x00$"), "run"],
    ["rg x", path("/usr/bin/rg", "("), "ask"],
    ["python3 x.py", path("python3", "^x\\.py$"), "run"],
    ["python3 x.py", { ...path("python3", "^x\\.py$"), source: "allow-always" }, "ask"],
    ["npm run build", path("npm", "^run build$"), "run"],
    ["rg x | wc -l", path("rg"), "run"],
    ["rg x; rm y", path("rg"), "ask"],
    ["rg x", path("=command:0123456789abcdef"), "ask"],
  ])("%s with %j: %s", async (command, row, expected) => {
    expect(await decisionOn(command, { safeBins: ["wc"] }, { rows: [row] })).toBe(expected);
  });

  it("lets code on a command line run where its arguments match and strictInlineEval is off", async () => {
    const rows = [path("python3", "^-c 1$")];
    expect(await decisionOn("python3 -c 1", { strictInlineEval: false }, { rows })).toBe("run");
    expect(await decisionOn("python3 -c 2", { strictInlineEval: false }, { rows })).toBe("ask");
  });
});

describe("a profile of safeBinProfiles", () => {
  const profiled = (command: string) =>
    decisionOn(command, {
      safeBins: ["mytool", "tail"],
      safeBinProfiles: {
        mytool: {
          minPositional: 1,
          maxPositional: 2,
          allowedValueFlags: ["-n", "--lines"],
          deniedFlags: ["-x", "--extra"],
        },
        tail: { allowedValueFlags: ["-n", "-f"] },
      },
    });

  it.each([
    "mytool a",
    "mytool a b",
    "mytool -n 5 a",
    "mytool -n5 a",
    "mytool --lines=5 a",
    "mytool --lines 5 a",
    "tail -n 3",
  ])("allows %s", async (command) => expect(await profiled(command)).toBe("run"));

  it.each([
    "mytool",
    "mytool a b c",
    "mytool -x a",
    "mytool --ext a",
    "mytool -nx/y a",
    "mytool -n ../x a",
    "mytool a/b",
    "mytool .env",
    "mytool --other=1 a",
    "mytool -ab a",
    "mytool -o a",
    "mytool -- a",
    "tail -f 1",
  ])("asks about %s", async (command) => expect(await profiled(command)).toBe("ask"));
});

/** The tool on this machine, in a workspace where commands are asked about. */
function execIn(exec: Partial<ExecSettings>, context: Parameters<typeof toolContext>[1] = {}) {
  const settings = agentSettings(workspace, { exec: { security: "allowlist", ask: "on-miss", ...exec } });
  const tools = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [] });
  const tool = tools.find(({ name }) => name === "exec");
  return (input: unknown) => runTool(tool!, input, toolContext(workspace, context));
}

describe.runIf(process.platform !== "win32")("between the answer and the start", () => {
  it("a directory whose parent became a link is not entered", async () => {
    await mkdir(join(workspace, "work", "sub"), { recursive: true });
    await mkdir(join(workspace, "evil", "sub"), { recursive: true });
    const context = toolContext(workspace);
    const ask = async () => {
      await rename(join(workspace, "work"), join(workspace, "old"));
      await symlink(join(workspace, "evil"), join(workspace, "work"));
      return "allow-once" as const;
    };
    const settings = agentSettings(workspace, { exec: { security: "allowlist", ask: "on-miss" } });
    const tool = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [] }).find(
      ({ name }) => name === "exec",
    );
    const result = await runTool(tool!, { command: "touch made", cwd: "work/sub" }, { ...context, approvals: { ask } });
    expect(textOf(result)).toContain("its directory was moved or replaced");
    expect(await readFile(join(workspace, "evil", "sub", "made")).catch(() => "missing")).toBe("missing");
  });

  it("a program that another one took the place of is asked about again", async () => {
    const bin = join(workspace, "bin");
    await mkdir(bin);
    const put = (text: string) => writeFile(join(bin, "tool"), `#!/bin/sh\necho ${text}\n`, { mode: 0o755 });
    await put("first");
    const asked: string[] = [];
    const settings = agentSettings(workspace, { exec: { security: "allowlist", ask: "on-miss", pathPrepend: [bin] } });
    const tool = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [] }).find(
      ({ name }) => name === "exec",
    );
    const ask = async ({ reason }: { readonly reason: string }) => {
      asked.push(reason);
      if (asked.length === 1) await put("second");
      return asked.length === 1 ? ("allow-once" as const) : ("deny" as const);
    };
    const result = await runTool(tool!, { command: "tool" }, { ...toolContext(workspace), approvals: { ask } });
    expect(textOf(result)).toContain("A person refused");
    expect(asked[1]).toContain("Changed since the last question");
  });
});

describe.runIf(process.platform !== "win32")("a program of safeBins", () => {
  it("outside the trusted directories is asked about, though PATH leads to it first", async () => {
    const bin = join(workspace, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "wc"), "#!/bin/sh\necho fake\n", { mode: 0o755 });
    const asked: string[] = [];
    await execIn({ safeBins: ["wc"], pathPrepend: [bin] }, { asked })({ command: "wc -l" });
    expect(asked).toEqual(["wc -l"]);
    asked.length = 0;
    expect(textOf(await execIn({ safeBins: ["wc"] }, { asked })({ command: "wc -l" }))).toContain("[exit code 0]");
    expect(asked).toEqual([]);
  });
});

describe.runIf(process.platform !== "win32")("a listed program", () => {
  it("is started without a shell, also where only the approvals document asks for the list", async () => {
    const started: unknown[] = [];
    const tool = execTool({
      settings: agentSettings(workspace, { exec: { security: "full", ask: "off", safeBins: ["wc"] } }).exec,
      rules: { ...noRules, policy: async () => ({ rows: [], security: "allowlist" }) },
      hasOwnerRights: true,
      backend: {
        directory: async (path) => path,
        filesOf: async () => [],
        programOf: async (word) => ({ path: `/usr/bin/${word}`, real: `/usr/bin/${word}` }),
        async start({ argv }) {
          started.push(argv);
          throw new Error("nothing is started here");
        },
      },
    });
    for (const command of ["wc -l", "echo x | wc -l"]) await runTool(tool, { command }, toolContext(workspace));
    expect(started).toEqual([["/usr/bin/wc", "-l"], undefined]);
    expect(textOf(await runTool(tool, { command: "rm x" }, toolContext(workspace)))).toContain("exec-approvals.json");
  });
});

describe("a question that nobody answers", () => {
  it.each<[askFallback: "deny" | "allowlist" | "full", command: string, ends: string]>([
    ["deny", "echo ran", "Nobody answered"],
    ["allowlist", "echo ran", "[exit code 0]"],
    ["allowlist", "touch made", "Nobody answered"],
    ["full", "touch made", "[exit code 0]"],
  ])("with askFallback %s, %s: %s", async (askFallback, command, ends) => {
    const exec = execIn({ ask: "always", askFallback }, { answer: "timeout" });
    expect(textOf(await exec({ command }))).toContain(ends);
  });

  it.each<[askFallback: "deny" | "full", answer: Unasked, ends: string]>([
    ["deny", "no_owner", "commands.ownerAllowFrom"],
    ["deny", "unattended", "openclaw approvals allowlist add"],
    ["deny", "unshown", "script file"],
    ["full", "no_owner", "[exit code 0]"],
  ])("with askFallback %s, where nobody could: %s", async (askFallback, answer, ends) => {
    const exec = execIn({ ask: "always", askFallback }, { answer });
    expect(textOf(await exec({ command: "touch made" }))).toContain(ends);
  });
});

/** Programs that write their names and arguments into a file, and nothing else. */
async function stubs(names: readonly string[]): Promise<{ run(command: string): Promise<string> }> {
  const bin = join(workspace, "stubs");
  const log = join(workspace, "log");
  await mkdir(bin, { recursive: true });
  const text = `#!/bin/sh\n{ printf '%s' "\${0##*/}"; for a do printf '<%s>' "$a"; done; printf '\\n'; } >> ${log}\n`;
  for (const name of names) {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  }
  return {
    async run(command) {
      await writeFile(log, "");
      await promisify(execFile)("/bin/sh", ["-c", command], { cwd: bin, env: { PATH: bin } }).catch(() => undefined);
      return readFile(log, "utf8");
    },
  };
}

describe.runIf(process.platform !== "win32")("compared with what a real shell does", () => {
  const piece = fc.constantFrom(
    ..."a|b|-x|'|\"|\\|$|`|$X|${X}|$(evil)|`evil`|evil|e'vi'l|\"ev\"il|;|&|&&| \\| |\\|\\||\\||>|<|(|)|{|}|#|!|*|?|~|=|,|%|\n|\t| | | |$'evil'|[|]".split(
      /(?<!\\)\|/,
    ),
  );
  const command = fc
    .tuple(fc.constantFrom("show", "wc", "echo", "true"), fc.array(piece, { maxLength: 8 }))
    .map(([first, rest]) => `${first} ${rest.join("").replaceAll("\\|", "|")}`);

  it("a program that is on no list is never started without a question", async () => {
    const { run } = await stubs(["show", "wc", "evil", "a", "b"]);
    let started = 0;
    await fc.assert(
      fc.asyncProperty(command, async (text) => {
        if ((await decisionOn(text, { safeBins: ["wc"] }, { rows: [path("show")] })) !== "run") return;
        started += 1;
        expect(await run(text)).not.toMatch(/^(?:evil|a|b)\b/m);
      }),
      { numRuns: 500 },
    );
    expect(started).toBeGreaterThan(10);
  });

  it("the words of a plan are those that a shell gives to its programs", async () => {
    const { run } = await stubs(["show", "wc", "evil", "a", "b"]);
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(command, async (text) => {
        const parts = await commandPlan(text);
        const [only, ...others] = parts ?? [];
        if (only?.words[0] !== "show" || others.length > 0) return;
        compared += 1;
        expect(await run(text)).toBe(
          `show${only.words
            .slice(1)
            .map((word) => `<${word}>`)
            .join("")}\n`,
        );
      }),
      { numRuns: 500 },
    );
    expect(compared).toBeGreaterThan(10);
  });
});

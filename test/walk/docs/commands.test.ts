import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, CommanderError } from "commander";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { buildProgram } from "../../../src/app/cli/run/program.ts";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import { makeHome, PATIENCE, type Home } from "../../kit/gateway/process.ts";

const root = join(import.meta.dirname, "../../..");
const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && name !== "reference/config.md")
  .map((name) => join("docs", name));
const pages = ["README.md", "CONTRIBUTING.md", ...docs];
const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** The examples for a shell, each as its lines without comments. */
const examplesOf = (page: string): readonly (readonly string[])[] =>
  [...read(page).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = ""]) =>
    text
      .split("\n")
      .map((line) => line.replace(/(?:^|\s+)# .*$|(?:^|\s+)#$/, ""))
      .filter((line) => line.trim() !== ""),
  );

/** The words of a line as a shell reads them. */
function wordsOf(line: string): readonly string[] {
  const words = line.matchAll(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g);
  return [...words].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_all, one, two) => one ?? two ?? ""));
}

/** Arguments of one of our commands in a line; undefined for another program. */
function argsIn(line: string): readonly string[] | undefined {
  const words = wordsOf(line);
  const at = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  return /(?:^|\/)(?:openclaw|claw-gateway)$/.test(words[at] ?? "") ? words.slice(at + 1) : undefined;
}

function leaves(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

/** What the parser says of arguments; undefined when it takes them. */
async function wrongIn(args: readonly string[]): Promise<CommanderError | undefined> {
  const silent = { out: () => undefined, err: () => undefined, isTerminal: false, isErrTerminal: false };
  const io = { ...silent, contributions: bundledContributions(), env: {}, color: false, verbose: false };
  const { program } = buildProgram(io, "0");
  for (const leaf of leaves(program)) leaf.action(() => undefined);
  try {
    await program.parseAsync([...args], { from: "user" });
    return undefined;
  } catch (error) {
    return error as CommanderError;
  }
}

/** A sentence names a command without all that it needs. */
const INCOMPLETE = new Set([
  "commander.missingArgument",
  "commander.missingMandatoryOptionValue",
  "commander.optionMissingArgument",
  "commander.help",
  "commander.helpDisplayed",
  "commander.version",
]);

/** Without the words that stand for others. */
const filled = (args: readonly string[]): readonly string[] =>
  args.flatMap((word) => (/^\[.*\]?$|^…$|^\.\.\.$|\]$/.test(word) ? [] : [word.replace(/^<(?:count|n|ms)>$/, "5")]));

test.each(pages)("the command line takes each command that %s shows", async (page) => {
  const wrong: string[] = [];
  for (const line of examplesOf(page).flat()) {
    const args = argsIn(line);
    const error = args && (await wrongIn(args));
    if (error && error.exitCode !== 0) wrong.push(`${line}: ${error.message}`);
  }
  const prose = read(page).replaceAll(/^```[\s\S]*?^```$/gm, "");
  for (const [, text = ""] of prose.matchAll(/`((?:openclaw|claw-gateway) [^`\n]+)`/g)) {
    const args = argsIn(text);
    const error = args && (await wrongIn(filled(args)));
    // A channel may have flags of its own.
    const isOfPlugin =
      /^docs\/(?:plugins\/|contributing\/adapters)/.test(page) && error?.code === "commander.unknownOption";
    if (error && error.exitCode !== 0 && !INCOMPLETE.has(error.code) && !isOfPlugin)
      wrong.push(`${text}: ${error.message}`);
  }
  expect(wrong).toEqual([]);
});

/** Lines that a test cannot run, by what they need. */
const NEEDS: readonly (readonly [RegExp, string])[] = [
  [/…|<\w+>/, "a value of the reader's"],
  [
    /^npm (?:ci|start|test|run|install|pack)|^npx |_KEY=…|^node (?:-p|bin)|^cp "\$\(npm|npm start/,
    "a clone or a registry",
  ],
  [/gateway run/, "a terminal of its own"],
  [/--follow|--local/, "a terminal of its own"],
  [/^(?:curl|systemctl|loginctl|docker|printf 'FROM|signal-cli|sudo|brew)|^ +-|^ +docker/, "another program"],
  [/mcp log(?:in|out)|channels login|models auth login/, "an account elsewhere"],
  [/runs show 3f9c|openclaw why /, "a message of the reader's"],
  [/plugins install (?:npm:|git:|npm-pack:|\S*\.tgz|(?:-l )?\.\/my-plugin$)/, "a plugin of the reader's"],
  [/onboard --non-interactive|OPENAI_API_KEY/, "a key of the reader's"],
  [/^openclaw (?:onboard|configure)(?: --section \w+)?$/, "a person at a terminal"],
  [/onboard --adopt|(?:openclaw|claw-gateway) (?:import|export) /, "a directory of another program"],
  [/gateway (?:install|uninstall|start|restart)/, "a service manager"],
  [/openclaw update (?!status)|openclaw update *(?:#|$)/, "a registry and an installed package"],
  [/cp -a ~\/\.openclaw|config set (?:gateway\.port|channels\.telegram)/, "a second directory"],
];

const runnable = (line: string): boolean => !NEEDS.some(([lines]) => lines.test(line.trim()));
const runs = pages.flatMap((page) => {
  const lines = examplesOf(page).flat().filter(runnable);
  // What a page says in a sentence to make the files that its examples use.
  const makes = [...read(page).matchAll(/`(openclaw plugins init [\w-]+)`/g)].map(([, line = ""]) => line);
  return lines.some((line) => argsIn(line) !== undefined) ? [[page, [...makes, ...lines]] as const] : [];
});

/** A home that is no directory for everybody, since agents could write there. */
async function homeOutsideTemp(): Promise<Home> {
  const base = root.startsWith(tmpdir()) ? join(homedir(), ".cache") : join(root, "node_modules/.cache");
  mkdirSync(base, { recursive: true });
  const home = await makeHome({}, base);
  onTestFinished(() => home.remove());
  return home;
}

/** Runs lines of a shell; the first that fails ends them. */
async function shell(home: Home, lines: readonly string[]): Promise<{ code: number | null; output: string }> {
  const bin = join(home.dir, "programs");
  mkdirSync(bin, { recursive: true });
  for (const name of ["openclaw", "claw-gateway"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${join(root, "bin/openclaw.mjs")}" "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: home.dir, OPENCLAW_STATE_DIR: home.stateDir };
  const child = spawn("/bin/sh", ["-ex"], { cwd: home.dir, env, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
  child.stdin.end(`${lines.join("\n")}\n`);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

/** Nobody is there to say yes. */
const answered = (line: string): string => (/plugins install/.test(line) ? `${line} --yes` : line);

const job = z.object({
  id: z.string(),
  name: z.string(),
  payload: z.object({ kind: z.string() }),
  schedule: z.object({ kind: z.string() }),
  state: z.object({ lastError: z.string().optional(), lastRunStatus: z.string().optional() }),
});

describe("on a new installation", () => {
  test("most pages with commands are run", () => expect(runs.length).toBeGreaterThan(8));

  test.each(runs)("the commands of %s succeed, one after the other", async (page, lines) => {
    const home = await homeOutsideTemp();
    await home.start();
    const { code, output } = await shell(home, lines.map(answered));
    expect(code, `${page}\n${output}`).toBe(0);
  });

  test("the commands of the jobs in docs/guides/cron.md run", async () => {
    const home = await homeOutsideTemp();
    await home.start();
    await shell(home, examplesOf("docs/guides/cron.md").flat().filter(runnable));
    const entries = z.object({ jobs: z.array(job) });
    const jobs = async () =>
      entries.parse(JSON.parse((await home.run(["cron", "list", "--all", "--json"])).stdout)).jobs;
    const command = (await jobs()).find(({ payload }) => payload.kind === "command");
    const { code, stdout } = await home.run(["cron", "run", command?.id ?? "", "--wait"]);
    expect(code, stdout).toBe(0);
    const afterExit = async () => (await jobs()).find(({ schedule }) => schedule.kind === "on-exit");
    await vi.waitUntil(async () => (await afterExit())?.state.lastRunStatus !== undefined, PATIENCE);
    expect((await jobs()).map(({ name, state }) => `${name}: ${state.lastError ?? "no error"}`)).toEqual(
      (await jobs()).map(({ name }) => `${name}: no error`),
    );
  });
});

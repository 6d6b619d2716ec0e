import { readdirSync, existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import JSON5 from "json5";
import { checkConfig } from "../src/app/config/check.ts";
import { bundledContributions, contributedSchemas } from "../src/app/contributions/extensions.ts";
import { buildProgram } from "../src/app/cli/run/program.ts";
import type { Io } from "../src/app/cli/io.ts";
import { makeHome, type Home } from "./kit/gateway/process.ts";

const root = dirname(import.meta.dirname);
const SKIPPED = new Set(["node_modules", "dist", ".git", "coverage"]);

function markdownBelow(dir: string): readonly string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return markdownBelow(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

const files = markdownBelow(root);
const read = (name: string): string => readFileSync(join(root, name), "utf8");
const shortName = (path: string): string => relative(root, path);

/** Prose only: what stands in a fence or in code is an example. */
const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");

/** The anchor that GitHub makes of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

function brokenLinks(file: string): readonly string[] {
  const links = [...withoutCode(readFileSync(file, "utf8")).matchAll(/\]\(([^)\s]+)\)/g)].map(
    (match) => match[1] ?? "",
  );
  return links.filter((link) => !/^[a-z]+:/.test(link)).filter((link) => !isThere(file, link));
}

function isThere(file: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? file : join(dirname(file), path);
  if (!existsSync(target)) return false;
  const headings = anchor === undefined ? [] : [...readFileSync(target, "utf8").matchAll(/^#+ (.+)$/gm)];
  return anchor === undefined || headings.some((match) => anchorOf(match[1] ?? "") === anchor);
}

describe("links and names", () => {
  test.each(files.map(shortName))("%s leads only to what is there", (name) => {
    expect(brokenLinks(join(root, name))).toEqual([]);
  });

  test.each([
    "README.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    ...files.map(shortName).filter((name) => name.startsWith("docs/")),
  ])("%s names only files that are there", (name) => {
    const paths = [
      ...read(name).matchAll(/`((?:src|extensions|testing|test|scripts|bin|bench|docs|runtime|skills)\/[\w./-]*)`/g),
    ];
    expect(paths.map((match) => match[1] ?? "").filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("the tests that docs/ name as showing something are there", () => {
    const below = (dir: string) => readdirSync(join(root, dir), { recursive: true, encoding: "utf8" });
    const there = new Set(below("test").filter((path) => path.endsWith(".test.ts")));
    const isTest = (name: string) => [...there].some((path) => path === name || path.endsWith(`/${name}`));
    const pages = [
      "docs/concepts/security.md",
      "docs/concepts/reliability.md",
      ...below("docs/decisions").map((name) => `docs/decisions/${name}`),
    ];
    const named = pages.flatMap((page) => [
      ...read(page).matchAll(/`(?:test\/)?((?!extensions\/)[\w/-]+\.test\.ts)`/g),
    ]);
    expect(named.length).toBeGreaterThan(10);
    expect(named.map((match) => match[1] ?? "").filter((name) => !isTest(name))).toEqual([]);
  });

  test("every page of docs/ is in its index, every decision in theirs", () => {
    const pages = files.map(shortName).filter((name) => name.startsWith("docs/") && !name.endsWith("README.md"));
    const isListed = (name: string) => {
      const index = name.startsWith("docs/decisions/") ? "docs/decisions" : "docs";
      return read(`${index}/README.md`).includes(`(${relative(index, name)})`);
    };
    expect(pages.length).toBeGreaterThan(50);
    expect(pages.filter((name) => !isListed(name))).toEqual([]);
  });

  test("README lists every module", () => {
    const modules = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(modules.map(({ name }) => name).filter((name) => !read("README.md").includes(`\`src/${name}/\``))).toEqual(
      [],
    );
  });

  test("the architecture page begins with the table of steps, and each file has its symbol", () => {
    const [, first = ""] = read("docs/concepts/architecture.md").split(/^## /m);
    expect(first).toMatch(/^Where to find a step\n/);
    const rows = [...first.matchAll(/^\| [^|]+\? \| `([^`|]+)` \| `(\w+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(20);
    const isWrong = ([, file = "", symbol = ""]: RegExpMatchArray) => !new RegExp(`\\b${symbol}\\b`).test(read(file));
    expect(rows.filter(isWrong).map(([row]) => row)).toEqual([]);
  });

  test("error texts and comments name only pages that exist", () => {
    const code = ["src", "extensions", "testing", "scripts", "bin"].flatMap((dir) =>
      readdirSync(join(root, dir), { recursive: true, encoding: "utf8" })
        .filter((name) => /\.(?:ts|tsx|mjs)$/.test(name))
        .map((name) => join(dir, name)),
    );
    const named = code.flatMap((file) => [...read(file).matchAll(/(?<![\w/.])docs\/[\w/-]+\.(?:md|json)/g)]);
    expect(named.length).toBeGreaterThan(5);
    expect(named.map(([page]) => page).filter((page) => !existsSync(join(root, page)))).toEqual([]);
  });

  test("AGENTS.md stays below 60 lines", () => {
    expect(read("AGENTS.md").split("\n").length).toBeLessThan(60);
  });
});

const silent: Io = {
  contributions: bundledContributions(),
  env: {},
  out: () => undefined,
  err: () => undefined,
  isTerminal: false,
  isErrTerminal: false,
  color: false,
  verbose: false,
};

function leaves(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

/** Sections of docs/reference/cli.md by the command in their heading. */
function cliSections(): ReadonlyMap<string, string> {
  const parts = read("docs/reference/cli.md").split(/^## /m).slice(1);
  return new Map(parts.map((part) => [/^`(.+?)`/.exec(part)?.[1] ?? part, part]));
}

const flagsIn = (text: string): readonly string[] =>
  [...text.matchAll(/`(?:-\w, )?(--[a-z-]+)[^`]*`/g)].map((match) => match[1] ?? "");

describe("docs/reference/cli.md", () => {
  const commands = leaves(buildProgram(silent, "0.0.0").program);

  test("has a section for each command and for no other", () => {
    expect([...cliSections().keys()].toSorted()).toEqual(commands.map(nameOf).toSorted());
  });

  test.each(commands.map((command) => [nameOf(command), command] as const))(
    "%s: its flags and no others",
    (name, command) => {
      const section = (cliSections().get(name) ?? "")
        .replaceAll(/without `--to`.*$/gm, "")
        .replaceAll(/(?:of|with) `--[a-z-]+`/g, "");
      const shown = command.options.filter((option) => !option.hidden).map((option) => option.long ?? "");
      expect([...new Set(flagsIn(section))].toSorted()).toEqual(shown.toSorted());
    },
  );

  test("README and guides call only commands that are there", () => {
    const names = new Set(commands.map(nameOf));
    const groups = new Set(commands.flatMap((command) => (command.parent?.parent ? [nameOf(command.parent)] : [])));
    const called = [
      "README.md",
      ...files.map(shortName).filter((name) => name.startsWith("docs/") && name !== "docs/reference/config.md"),
    ].flatMap((name) =>
      [...read(name).matchAll(/(?<=[`\n] ?|^)openclaw ((?:[a-z][a-z-]* ?){1,2})/gm)].map((match) =>
        (match[1] ?? "").trim(),
      ),
    );
    const isKnown = (words: string) => {
      const [first = "", second = ""] = words.split(" ");
      return (
        names.has(`openclaw ${first}`) ||
        names.has(`openclaw ${first} ${second}`) ||
        groups.has(`openclaw ${first} ${second}`) ||
        (groups.has(`openclaw ${first}`) && second === "")
      );
    };
    expect(called.length).toBeGreaterThan(10);
    expect(called.filter((words) => words !== "help" && !isKnown(words))).toEqual([]);
  });
});

const hello = z.looseObject({
  payload: z.looseObject({ features: z.looseObject({ methods: z.array(z.string()), events: z.array(z.string()) }) }),
});

async function featuresOf(port: number, token: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const client = { id: "docs-test", version: "1", platform: "test", mode: "cli" };
  socket.on("error", reject);
  socket.on("message", (data: Buffer) => {
    const frame: unknown = JSON.parse(data.toString());
    if (typeof frame === "object" && frame !== null && "type" in frame && frame.type === "res") resolve(frame);
    else {
      const params = { minProtocol: 4, maxProtocol: 4, client, auth: { token } };
      socket.send(JSON.stringify({ type: "req", id: "1", method: "connect", params }));
    }
  });
  try {
    return hello.parse(await promise).payload.features;
  } finally {
    socket.close();
  }
}

/** Names in the first column of the table below a heading. */
function firstColumn(page: string, heading: string): readonly string[] {
  const [, part = ""] = read(page).split(`${heading}\n`);
  const [table = ""] = part.split(/^#/m);
  return table
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""));
}

describe("examples", () => {
  const examples = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^```json5\n([\s\S]*?)^```$/gm)].map(
      (match, index) => [`${shortName(file)} ${index + 1}`, match[1] ?? ""] as const,
    ),
  );

  test.each(examples)("the config of %s is taken without a word", async (_name, text) => {
    const contributions = bundledContributions();
    const { channelSchemas, ...schemas } = await contributedSchemas(contributions);
    const ids = contributions.channels.map(({ id }) => id);
    const { problems, warnings } = checkConfig(JSON5.parse(text), {
      ...schemas,
      channelSchemas: await channelSchemas(ids),
    });
    expect([...problems, ...warnings]).toEqual([]);
  });
});

describe("the running gateway", () => {
  let home: Home;
  let port = 0;
  let token = "";
  beforeAll(async () => {
    home = await makeHome({});
    const gateway = await home.start();
    ({ port, token } = gateway);
  });
  afterAll(() => home.remove());

  test("docs/reference/protocol.md lists its methods and its events", async () => {
    const features = await featuresOf(port, token);
    expect([...firstColumn("docs/reference/protocol.md", "### Methods")].toSorted()).toEqual(features.methods);
    const events = firstColumn("docs/reference/protocol.md", "### Events");
    expect([...events].toSorted()).toEqual(features.events.toSorted());
  });

  test("docs/reference/metrics.md lists its metrics", async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const there = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map((match) => match[1] ?? ""));
    const listed = firstColumn("docs/reference/metrics.md", "## All metrics");
    expect([...there].filter((name) => !listed.includes(name))).toEqual([]);
    // A gauge of channels is there only with a channel.
    expect(listed.filter((name) => !there.has(name) && !name.startsWith("openclaw_channel_"))).toEqual([]);
  });
});

// Fails on a value that src/ or an extension exports although no other file of theirs imports it. A use in a test does not
// count. Types are not checked, nor is the plugin SDK in src/api, which plugins import. Fails also on a name, of a value or a
// type, that two files export, because one exported name has one meaning: see shared-names.ts.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { sharedNamesIn } from "./shared-names.ts";

const root = path.dirname(import.meta.dirname);

const TABLE = "a table: tests go through its rows";

/** Exceptions: exports by file, each with the reason. An exception that no longer applies fails too. */
const EXCEPTIONS = {
  "extensions/discord/connect.ts": { createBot: "builds a connection's parts, for replays of recorded events" },
  "src/app/cli/run/run-cli.ts": { runCommand: "one command in the test's own process, with its own streams" },
  "src/app/cli/commands/plugins/templates/context-engine.ts": { createEngine: "a line of the file that it writes" },
  "src/dispatch/turn-kinds.ts": { MESSAGE: TABLE },
  "src/harness/failover/policy.ts": { POLICY: TABLE },
  "src/history/passes.ts": { HISTORY_PASSES: TABLE },
  "src/prompt/body.ts": { BODY_STAGES: TABLE },
  "src/prompt/system-prompt.ts": { SYSTEM_SECTIONS: TABLE },
  "src/providers/quirks.ts": { QUIRKS: TABLE },
  "src/types/run/run.ts": { FAILURE_KINDS: TABLE },
};

const EXPORT = /^export (?:async )?(?:function\*?|const|let|class) (\w+)/gm;
const IMPORT = /^(?:import|export)\s[^;"']*?\bfrom\s*"(\.[^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"(\.[^"]+)"/g;
/** An import or export of all names of a module. */
const ALL = /^(?:import|export)\s(?:type\s)?\*/;

const isTest = (file) => /(?:^|\/)test\//.test(file);

/** Paths from the root, with `/`. */
const sources = ["src", "extensions", "testing", "scripts", "bench"].flatMap((folder) =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((file) => /\.(?:ts|tsx|mjs)$/.test(file) && !isTest(file) && !file.includes("node_modules/")),
);

/** The imports of a file: for each target, the text that names what is imported. */
function* usesIn(file, text) {
  const target = (specifier) => path.posix.join(path.posix.dirname(file), specifier);
  for (const [statement, specifier] of text.matchAll(IMPORT)) yield { file: target(specifier), names: statement };
  // The names that a dynamic import uses can be anywhere in the file.
  for (const [, specifier] of text.matchAll(DYNAMIC)) yield { file: target(specifier), names: text };
}

/** Whether a file is an entry: the plugin SDK, an extension's entry and config, and programs are loaded by name. */
const isEntry = (file) =>
  /^src\/api\/|^extensions\/[^/]+\/(?:index|config)\.ts$/.test(file) || !/^(?:src|extensions)\//.test(file);

const texts = new Map(sources.map((file) => [file, fs.readFileSync(path.join(root, file), "utf8")]));

function unused() {
  const uses = Map.groupBy(
    [...texts].flatMap(([file, text]) => [...usesIn(file, text)]),
    (use) => use.file,
  );
  return [...texts].flatMap(([file, text]) => {
    if (isEntry(file)) return [];
    const taken = (uses.get(file) ?? []).map((use) => use.names);
    if (taken.some((names) => ALL.test(names))) return [];
    const words = new Set(taken.flatMap((names) => names.match(/\w+/g) ?? []));
    const names = [...text.matchAll(EXPORT)].map(([, name]) => name);
    return names.filter((name) => !words.has(name)).map((name) => ({ file, name }));
  });
}

const found = unused();
const breaches = found.filter(({ file, name }) => !EXCEPTIONS[file]?.[name]);
const stale = Object.entries(EXCEPTIONS).flatMap(([file, names]) =>
  Object.keys(names)
    .filter((name) => !found.some((one) => one.file === file && one.name === name))
    .map((name) => ({ file, name })),
);
for (const { file, name } of breaches) console.error(`exports: ${file}: no other file but tests imports ${name}`);
for (const { file, name } of stale) console.error(`exports: ${file}: the exception for ${name} is no longer needed`);
const named = [...texts].filter(([file]) => /^(?:src\/(?!api\/)|extensions\/)/.test(file));
const shared = sharedNamesIn(new Map(named));
for (const line of shared) console.error(`exports: ${line}`);
if (breaches.length + stale.length + shared.length > 0) process.exitCode = 1;
else console.log(`exports: ${sources.length} files export only what others import, and each name has one meaning`);

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { folder, write } from "../kit/plugins/sources.ts";

const WORD = `export const word: string = "plain";`;
const saying = (expression: string) =>
  `export default { register(api: { say(word: unknown): void }) { api.say(${expression}); } };`;

interface Typed {
  readonly what: string;
  readonly code: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly pack?: object;
  /** Below the folder of the plugins. */
  readonly at?: string;
  readonly said: unknown;
}

const NO_TYPESCRIPT = "this is no TypeScript";
const BUILT = `export default { register(api) { api.say("built"); } };`;

const PLUGINS: readonly Typed[] = [
  { what: "types alone", code: `import { word } from "./word.ts";\n${saying("word")}`, said: "plain" },
  { what: "an import without extension", code: `import { word } from "./word";\n${saying("word")}`, said: "plain" },
  {
    what: "an import of the JavaScript that it would become",
    code: `import { word } from "./word.js";\n${saying("word")}`,
    said: "plain",
  },
  { what: "an enum", code: `enum Colour { Red = "red" }\n${saying("Colour.Red")}`, said: "red" },
  {
    what: "an enum in another file",
    code: `import { Colour } from "./colour.ts";\n${saying("Colour.Red")}`,
    files: { "colour.ts": `export enum Colour { Red = "red" }` },
    said: "red",
  },
  {
    what: "parameter properties",
    code: `class Box { constructor(readonly inside: string) {} }\n${saying(`new Box("full").inside`)}`,
    said: "full",
  },
  {
    what: "decorators",
    code: `function named(target: any) { target.label = "hey!"; }
      @named class Voice { static label = ""; }\n${saying("Voice.label")}`,
    said: "hey!",
  },
  {
    what: "a type that is imported like a value",
    code: `import { type OpenClawPluginApi as Api, OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";
      export default { register(api: Api & OpenClawPluginApi) { (api as any).say("erased"); } };`,
    said: "erased",
  },
  { what: "a namespace", code: `namespace Words { export const one = "uno"; }\n${saying("Words.one")}`, said: "uno" },
  {
    what: "the SDK, beside types",
    code: `import { normalizeAccountId } from "openclaw/plugin-sdk/account-id";\n${saying(`normalizeAccountId("My Bot")`)}`,
    said: "my-bot",
  },
  {
    what: "the SDK, beside an enum",
    code: `import { normalizeAccountId } from "openclaw/plugin-sdk/account-id";
      import { definePluginEntry } from "openclaw/plugin-sdk";
      enum Kind { A = "My Bot" }
      export default definePluginEntry({ id: "typed", register(api: any) { api.say(normalizeAccountId(Kind.A)); } });`,
    said: "my-bot",
  },
  {
    what: "a module whose exports another one has",
    code: `import { readStringParam } from "openclaw/plugin-sdk/param-readers";\n${saying(`readStringParam({ a: " b " }, "a")`)}`,
    said: "b",
  },
  {
    what: "a module that the SDK lacks",
    code: `import { x } from "openclaw/plugin-sdk/no-such-module";\nenum Kind { A }\n${saying("x + Kind.A")}`,
    said: `it imports "openclaw/plugin-sdk/no-such-module", which this gateway does not have`,
  },
  {
    what: "a place in node_modules, and a dependency",
    at: "node_modules",
    code: `import { small } from "small";\nimport { word } from "./word";\n${saying("small + word")}`,
    files: {
      "node_modules/small/package.json": JSON.stringify({ name: "small", main: "index.js" }),
      "node_modules/small/index.js": `exports.small = "very ";`,
    },
    said: "very plain",
  },
  {
    what: "a built form that package.json names",
    code: NO_TYPESCRIPT,
    files: { "dist/index.js": BUILT },
    pack: { runtimeExtensions: ["./dist/index.js"] },
    said: "built",
  },
  {
    what: "a mistake",
    code: "export default {",
    said: expect.stringMatching(/^its code cannot be loaded: /),
  },
  {
    what: "a missing dependency",
    code: `import "nowhere-to-be-found";\n${saying("1")}`,
    said: `it imports "nowhere-to-be-found", which is not installed beside it`,
  },
];

/** A process of its own: the runner of the tests would compile the files itself. */
test("plugins in TypeScript are loaded, also where more than their types has to be compiled", async () => {
  const dir = folder();
  const folders = PLUGINS.map(({ code, files, pack, at = "" }, index) =>
    write(join(dir, at, `typed-${index}`), {
      "openclaw.plugin.json": JSON.stringify({ id: `typed-${index}`, configSchema: {} }),
      "package.json": JSON.stringify({ type: "module", openclaw: { extensions: ["./index.ts"], ...pack } }),
      "index.ts": code,
      "word.ts": WORD,
      // A place in which compilers keep what they have compiled.
      "node_modules/openclaw/package.json": "{}",
      ...files,
    }),
  );
  const before = readdirSync(dir, { recursive: true });
  const program = join(import.meta.dirname, "import-plugins.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...folders]);
  const said: unknown = JSON.parse(stdout);
  expect(PLUGINS.map(({ what }, index) => [what, Array.isArray(said) ? said[index] : said])).toEqual(
    PLUGINS.map(({ what, said: expected }) => [what, expected]),
  );
  expect(readdirSync(dir, { recursive: true })).toEqual(before);
});

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";

const root = dirname(dirname(import.meta.dirname));
const script = (name: string) => import(pathToFileURL(join(root, "scripts", name)).href);
const read = (name: string): Promise<string> => readFile(join(root, name), "utf8");

const entry = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  hasInstallScript: z.boolean().optional(),
  dev: z.boolean().optional(),
});
const lockShape = z.looseObject({ lockfileVersion: z.literal(3), packages: z.record(z.string(), entry) });

const component = z.looseObject({
  purl: z.string(),
  group: z.string().optional(),
  name: z.string(),
  version: z.string(),
  hashes: z.array(z.object({ alg: z.string(), content: z.string().regex(/^[0-9a-f]+$/) })).min(1),
  licenses: z.array(z.looseObject({})).length(1),
  properties: z.array(z.object({ name: z.string(), value: z.string() })),
});
type Component = z.output<typeof component>;
const sbomShape = z.looseObject({
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.6"),
  components: z.array(component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

const nameOf = ({ group, name }: Component): string => (group === undefined ? name : `${group}/${name}`);

let lock: z.output<typeof lockShape>;
let sbom: z.output<typeof sbomShape>;

beforeAll(async () => {
  lock = lockShape.parse(JSON.parse(await read("package-lock.json")));
  sbom = sbomShape.parse(JSON.parse(await read("dist/sbom.json")));
});

const delivered = (way: string): readonly Component[] =>
  sbom.components.filter(({ properties }) => properties.some(({ value }) => value === way));

describe("what the package says of the software in it", () => {
  test("the SBOM has each package once, in the version and with the hash of package-lock.json", () => {
    const locked = new Set(
      Object.entries(lock.packages).map(([place, { version = "", integrity = "" }]) => {
        const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
        return `${name}@${version} ${Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex")}`;
      }),
    );
    const listed = sbom.components.map((one) => `${nameOf(one)}@${one.version} ${one.hashes[0]?.content}`);
    expect(listed.filter((one) => !locked.has(one))).toEqual([]);
    expect(new Set(sbom.components.map(({ purl }) => purl)).size).toBe(sbom.components.length);
    const refs = new Set(["", ...sbom.components.map(({ purl }) => purl)]);
    const unknown = sbom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref));
    expect(unknown).toEqual([]);
  });

  test("server, page and agent are among what is bundled, and nothing under the GPL is", () => {
    const names = delivered("bundled").map(nameOf);
    expect(names).toEqual(expect.arrayContaining(["fastify", "ws", "undici", "grammy", "@mariozechner/pi-ai"]));
    expect(names).toEqual(expect.arrayContaining(["preact", "markdown-it"]));
    expect(names).not.toContain("libsignal");
    expect(delivered("fetched").map(nameOf)).toEqual(expect.arrayContaining(["@whiskeysockets/baileys", "libsignal"]));
    expect(delivered("installed").map(nameOf)).toEqual(["@vscode/ripgrep"]);
  });

  test("the notices name every bundled package, with its text where it has one", async () => {
    const notices = await read("dist/THIRD_PARTY_NOTICES");
    const missing = delivered("bundled").filter((one) => !notices.includes(`\n${nameOf(one)} ${one.version} (`));
    expect(missing.map(nameOf)).toEqual([]);
    const marked = (await read("node_modules/fastify/LICENSE")).trim().split("\n").at(-1) ?? "";
    expect(marked).not.toBe("");
    expect(notices).toContain(marked.trim());
  });

  test("the notices leave out no package that the bundle itself names", async () => {
    const files = (await readdir(join(root, "dist"), { recursive: true })).filter((name) => name.endsWith(".js"));
    const texts = await Promise.all(files.map((name) => read(join("dist", name))));
    const commonjs = texts.flatMap((text) => [...text.matchAll(/"node_modules\/((?:@[^/"]+\/)?[^/"]+)\//g)]);
    const notices = await read("dist/THIRD_PARTY_NOTICES");
    const missing = commonjs.map((match) => match[1] ?? "").filter((name) => !notices.includes(` ${name} `));
    expect(commonjs.length).toBeGreaterThan(10);
    expect(new Set(missing)).toEqual(new Set());
  });

  test.each([
    [undefined, "no license"],
    ["GPL-3.0", "the license GPL-3.0"],
    ["MPL-2.0", "the license MPL-2.0"],
  ])("a package with the license %s may not be bundled", async (license, words) => {
    const home = await mkdtemp(join(tmpdir(), "licenses-"));
    await mkdir(join(home, "node_modules/taken"), { recursive: true });
    const manifest = { name: "taken", version: "1.0.0", license };
    await writeFile(join(home, "node_modules/taken/package.json"), JSON.stringify(manifest));
    const { bundledPlaces, packageAt } = await script("licenses.mjs");
    const inputs = { "src/a.ts": { bytesInOutput: 5 }, "named:node_modules/taken/index.js": { bytesInOutput: 5 } };
    const unused = { "node_modules/types-only/index.js": { bytesInOutput: 0 } };
    const places = bundledPlaces([{ outputs: { "dist/main.js": { inputs: { ...inputs, ...unused } } } }], home);
    expect(places).toEqual(["node_modules/taken"]);
    expect(() => packageAt(places[0], home)).toThrow(`taken@1.0.0 has ${words}`);
    await rm(home, { recursive: true });
  });
});

test("a clone denies each install script, so that npm asks about none", async () => {
  const { packages } = lockShape.parse(JSON.parse(await read("package-lock.json")));
  const scripted = Object.keys(packages).filter((place) => packages[place]?.hasInstallScript);
  const names = new Set(
    scripted.map((place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length)),
  );
  expect(JSON.parse(await read("package.json")).allowScripts).toEqual(
    Object.fromEntries([...names].map((name) => [name, false])),
  );
});

describe("what users install", () => {
  test("is locked with its hashes, has nothing for development, and runs no install script", async () => {
    const { shrinkwrapOf } = await script("shrinkwrap.mjs");
    const part = lockShape.parse(shrinkwrapOf(root));
    const places = Object.keys(part.packages).filter((place) => place !== "");
    expect(places).toContain("node_modules/@vscode/ripgrep");
    expect(places.filter((place) => !/@vscode\/ripgrep|@lydell\/node-pty/.test(place))).toEqual([]);
    for (const place of places) {
      expect(part.packages[place]).toMatchObject({ integrity: expect.stringMatching(/^sha512-/) });
      expect(part.packages[place]).not.toHaveProperty("hasInstallScript");
    }
    expect(JSON.stringify(part)).not.toMatch(/"resolved"|https?:\/\/|"devDependencies"|"workspaces"/);
  });

  test("has a name of its own, beside the command and the import that other programs know", async () => {
    const { name, bin, exports } = JSON.parse(await read("package.json"));
    expect(name).toBe("claw-gateway");
    expect(bin).toEqual({ "claw-gateway": "bin/openclaw.mjs", openclaw: "bin/openclaw.mjs" });
    const sdk = JSON.parse(await read("src/api/package.json"));
    expect(sdk).toMatchObject({ name: "openclaw", private: true });
    const published = Object.keys(exports).filter((path) => path !== "./package.json");
    expect(Object.keys(sdk.exports)).toEqual(published);
    for (const path of published) expect(exports[path].source).toBe(`./src/api/${sdk.exports[path].slice(2)}`);
  });

  test("must not have an install script", async () => {
    const home = await mkdtemp(join(tmpdir(), "shrinkwrap-"));
    const manifest = { name: "app", version: "1.0.0", optionalDependencies: { late: "1.0.0" } };
    const packages = {
      "": {},
      "node_modules/late": { version: "1.0.0", integrity: "sha512-eA==", hasInstallScript: true },
    };
    await writeFile(join(home, "package.json"), JSON.stringify(manifest));
    await writeFile(join(home, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
    const { shrinkwrapOf } = await script("shrinkwrap.mjs");
    expect(() => shrinkwrapOf(home)).toThrow("have install scripts, which users would run: node_modules/late");
    await rm(home, { recursive: true });
  });

  test("WhatsApp's library has a lock of its own, without the name of any registry", async () => {
    const part = lockShape.parse(JSON.parse(await read("dist/libraries/whatsapp.package-lock.json")));
    const { "": own, ...others } = part.packages;
    expect(own).toMatchObject({ dependencies: { "@whiskeysockets/baileys": expect.stringMatching(/^\d/) } });
    expect(Object.keys(others)).toEqual(expect.arrayContaining(["node_modules/libsignal", "node_modules/protobufjs"]));
    expect(Object.values(others).filter(({ integrity }) => integrity === undefined)).toEqual([]);
    expect(Object.values(others).filter((one) => "resolved" in one)).toEqual([]);
  });

  test("is packed with its notices, SBOM and locks", async () => {
    const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const { stdout } = await promisify(execFile)("npm", args, { cwd: root, maxBuffer: 10 * 1_048_576 });
    const shape = z.union([
      z.array(z.looseObject({ files: z.array(z.looseObject({ path: z.string() })) })),
      z.record(z.string(), z.looseObject({ files: z.array(z.looseObject({ path: z.string() })) })),
    ]);
    const files = Object.values(shape.parse(JSON.parse(stdout))).flatMap((one) => one.files.map(({ path }) => path));
    const wanted = [
      "LICENSE",
      "dist/THIRD_PARTY_NOTICES",
      "dist/sbom.json",
      "dist/libraries/whatsapp.package-lock.json",
    ];
    expect(files).toEqual(expect.arrayContaining(wanted));
    const { files: listed, scripts } = JSON.parse(await read("package.json"));
    expect(listed).toContain("npm-shrinkwrap.json");
    expect(scripts).toMatchObject({
      prepack: expect.stringContaining("scripts/shrinkwrap.mjs"),
      postpack: "node scripts/shrinkwrap.mjs --remove",
    });
  });
});

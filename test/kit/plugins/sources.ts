import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { Header } from "tar/header";
import { onTestFinished } from "vitest";
import type { PluginStore } from "../../../src/plugins/install/store.ts";

/** A folder of the test's own, without links in its path, gone after it. */
export function folder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "openclaw-install-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function write(dir: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

export interface PluginShape {
  readonly id?: string;
  readonly version?: string;
  readonly manifest?: Readonly<Record<string, unknown>>;
  readonly package?: Readonly<Record<string, unknown>>;
  readonly files?: Readonly<Record<string, string>>;
}

/** The files of a context engine that could be loaded. */
export function pluginFiles(shape: PluginShape = {}): Readonly<Record<string, string>> {
  const { id = "toy", version = "1.0.0", manifest, files } = shape;
  const kind = manifest && "kind" in manifest ? manifest["kind"] : "context-engine";
  const codes = { "context-engine": engineCode(id), memory: "api.registerMemoryCapability({});" };
  const register = kind === "context-engine" || kind === "memory" ? codes[kind] : "";
  return {
    "openclaw.plugin.json": JSON.stringify({ id, kind: "context-engine", configSchema: {}, ...manifest }),
    "package.json": JSON.stringify({ ...packageOf(shape), ...shape.package }),
    "dist/index.js": `export default { id: "${id}", version: "${version}", register(api) { ${register} } };\n`,
    ...files,
  };
}

/** Code that registers a context engine that can be opened. */
export const engineCode = (id: string, info = id): string =>
  `api.registerContextEngine("${id}", () => ({ info: { id: "${info}", name: "Toy" }, ingest() {}, assemble() {}, compact() {} }));`;

export const packageOf = ({ id = "toy", version = "1.0.0" }: PluginShape) => ({
  name: id,
  version,
  type: "module",
  license: "MIT",
  openclaw: { extensions: ["./dist/index.js"], compat: { pluginApi: ">=2026.5.28" } },
});

export const makePlugin = (dir: string, shape: PluginShape = {}): string => write(dir, pluginFiles(shape));

/** A store in a folder, with programs that are not there unless they are given. */
export const storeIn = (dir: string, programs: Partial<PluginStore["programs"]> = {}): PluginStore => ({
  extensions: join(dir, "extensions"),
  records: join(dir, "plugins", "installs.json"),
  packageRoot: join(dir, "host"),
  programs: { npm: ["no-such-npm"], git: ["no-such-git"], env: { PATH: process.env["PATH"] }, ...programs },
});

export interface TarEntry {
  readonly path: string;
  readonly type?: ConstructorParameters<typeof Header>[0] extends infer T
    ? T extends { type?: infer U }
      ? U
      : never
    : never;
  readonly linkpath?: string;
  readonly text?: string;
  /** Where the header says another size than there is. */
  readonly size?: number;
  readonly mode?: number;
}

/** A tar archive with exactly these headers, whatever they say. */
export function archiveOf(entries: readonly TarEntry[], isPacked = true): Buffer {
  const blocks = entries.flatMap(({ path, type = "File", linkpath, text = "", size, mode = 0o644 }) => {
    const body = Buffer.from(text);
    const header = Buffer.alloc(512);
    new Header({
      path,
      type,
      mode,
      size: size ?? body.length,
      uid: 0,
      gid: 0,
      ...(linkpath !== undefined && { linkpath }),
    } as ConstructorParameters<typeof Header>[0]).encode(header);
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  const tar = Buffer.concat([...blocks, Buffer.alloc(1024)]);
  return isPacked ? gzipSync(tar) : tar;
}

export const asEntries = (files: Readonly<Record<string, string>>, top = "package/"): readonly TarEntry[] =>
  Object.entries(files).map(([path, text]) => ({ path: `${top}${path}`, text }));

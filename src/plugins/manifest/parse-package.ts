import { posix } from "node:path";
import { z } from "zod";
import type { PluginPackage } from "../../types/plugin/manifest.ts";
import { defined } from "../../utils/defined.ts";
import type { Parsed } from "./parse-manifest.ts";

const text = z.string().max(10_000);
const texts = z.array(text).max(100).optional().catch(undefined);
const optionalText = text.optional().catch(undefined);
const table = z.record(z.string(), z.unknown()).optional().catch(undefined);

const packageShape = z.lazy(() =>
  z.looseObject({
    name: optionalText,
    version: optionalText,
    description: optionalText,
    author: z
      .union([text, z.looseObject({ name: text }).transform(({ name }) => name)])
      .optional()
      .catch(undefined),
    license: optionalText,
    main: optionalText,
    dependencies: table,
    scripts: table,
    openclaw: z
      .looseObject({
        extensions: texts,
        runtimeExtensions: texts,
        compat: z.looseObject({ pluginApi: optionalText }).optional().catch(undefined),
        install: z.looseObject({ minHostVersion: optionalText }).optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
  }),
);

/** npm runs these when it installs a package of the registry. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepare"];

/** Reads the parsed JSON of a plugin's `package.json`. Entries are still unchecked paths. */
export function parsePackage(json: unknown): Parsed<PluginPackage> {
  const parsed = packageShape.safeParse(json);
  if (!parsed.success) return { kind: "broken", why: "its package.json holds no object" };
  const { name, version, description, author, license, main, openclaw, dependencies, scripts } = parsed.data;
  const pluginApi = openclaw?.compat?.pluginApi ?? openclaw?.install?.minHostVersion;
  return {
    kind: "ok",
    value: {
      ...defined({ name, version, description, author, license, pluginApi }),
      entries: entriesOf(openclaw, main),
      dependencies: Object.keys(dependencies ?? {}),
      installScripts: INSTALL_SCRIPTS.filter((script) => typeof scripts?.[script] === "string"),
    },
  };
}

/** Built JavaScript first; each source is followed by the places where its built form usually is. */
function entriesOf(openclaw: z.output<typeof packageShape>["openclaw"], main: string | undefined): readonly string[] {
  const sources = openclaw?.extensions ?? (main === undefined ? [] : [main]);
  const built = sources.flatMap((source) => (/\.[cm]?ts$/.test(source) ? builtFormsOf(source) : []));
  const all = [...(openclaw?.runtimeExtensions ?? []), ...built, ...sources];
  return [...new Set(all.map((path) => posix.normalize(path)))];
}

function builtFormsOf(source: string): readonly string[] {
  const plain = source.replace(/\.([cm]?)ts$/, ".$1js");
  return [`dist/${plain}`, `dist/${plain.replace(/^src\//, "")}`, plain];
}

import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { defined } from "../../utils/defined.ts";
import type { TreeEntry } from "./tree.ts";

/** Where a staged plugin comes from, as far as that can be known. */
export interface StagedOrigin {
  /** A sentence part: `the folder /x/y`, `npm: name@1.0.0`. */
  readonly from: string;
  readonly publisher?: string;
  readonly maintainers?: readonly string[];
  readonly integrity?: string;
  readonly resolvedCommit?: string;
}

/** Facts that a person sees before a plugin is installed; all of them without running the plugin's code. */
export interface PluginFacts {
  readonly id: string;
  readonly name?: string;
  readonly version?: string;
  readonly description?: string;
  readonly license?: string;
  readonly author?: string;
  readonly origin: StagedOrigin;
  readonly size: { readonly files: number; readonly bytes: number };
  readonly contributes: Contributes;
  readonly risks: Risks;
}

/** Contributions in the manifest; hooks, services and routes are known only when the plugin runs. */
export interface Contributes {
  readonly kinds: readonly string[];
  readonly tools: readonly string[];
  readonly channels: readonly string[];
  readonly providers: readonly string[];
  readonly cliCommands: readonly string[];
  readonly skills: readonly string[];
}

export interface Risks {
  /** Native code: `*.node` files, and what npm would compile. */
  readonly native: readonly string[];
  /** Scripts that npm would run for the plugin itself: names of its `package.json`. */
  readonly installScripts: readonly string[];
  readonly dependencies: readonly string[];
  /** Dependencies, also indirect ones, with install scripts: `name@version`. */
  readonly scriptedDependencies: readonly string[];
}

export function stagedFacts(plugin: FoundPlugin, entries: readonly TreeEntry[], origin: StagedOrigin): PluginFacts {
  const { manifest, package: own } = plugin;
  const files = entries.filter((entry) => entry.kind === "file");
  return {
    id: manifest.id,
    ...defined({
      name: manifest.name ?? own.name,
      version: versionOf(plugin),
      description: manifest.description ?? own.description,
      license: own.license,
      author: own.author,
    }),
    origin,
    size: { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) },
    contributes: contributesOf(plugin),
    risks: {
      native: files.map(({ path }) => path).filter((path) => /\.node$|(?:^|\/)binding\.gyp$/.test(path)),
      installScripts: own.installScripts,
      dependencies: own.dependencies,
      scriptedDependencies: [],
    },
  };
}

/** The package says which version it is; the manifest where there is no package. */
export const versionOf = ({ manifest, package: own }: FoundPlugin): string | undefined =>
  own.version ?? manifest.version;

export const contributesOf = ({ manifest }: FoundPlugin): Contributes => ({
  kinds: manifest.kinds,
  tools: manifest.tools ?? [],
  channels: manifest.channels.map(({ id }) => id),
  providers: manifest.providers,
  cliCommands: manifest.cliCommands,
  skills: manifest.skills,
});

/** Folders of a plugin that the gateway reads, relative to the plugin's folder. */
interface PluginFolders {
  /** Folders of skills. */
  readonly skills: readonly string[];
  /** Folders of hooks. */
  readonly hooks: readonly string[];
}

/**
 * Content of a plugin's `openclaw.plugin.json`: known without running the plugin's code. Unknown keys, kinds and
 * contracts are ignored, because plugins are written for other versions too.
 */
export interface PluginManifest extends PluginFolders {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  /** `memory`, `context-engine`, and others that this gateway does not know. */
  readonly kinds: readonly string[];
  /** JSON Schema of `plugins.entries.<id>.config`. */
  readonly configSchema: Readonly<Record<string, unknown>>;
  /**
   * `contracts.tools`: the tools that the plugin may register. Unset: the manifest has no such list, and the plugin may
   * register none.
   */
  readonly tools?: readonly string[];
  /** Channels that the plugin registers, each with the JSON Schema of its config where it has one. */
  readonly channels: readonly { readonly id: string; readonly schema?: Readonly<Record<string, unknown>> }[];
  readonly providers: readonly string[];
  /** Commands of the command line that the plugin registers. */
  readonly cliCommands: readonly string[];
  /** Ids that the plugin had before. */
  readonly legacyIds: readonly string[];
}

/** Content of a plugin's `package.json`. */
export interface PluginPackage {
  readonly name?: string;
  readonly version?: string;
  readonly description?: string;
  readonly author?: string;
  readonly license?: string;
  /** Entry files relative to the plugin's folder, the preferred form first: built JavaScript, then sources. */
  readonly entries: readonly string[];
  /** Range of SDK versions that the plugin needs, such as `>=2026.5.28`. */
  readonly pluginApi?: string;
  /** Names of the packages that the plugin needs at run time. */
  readonly dependencies: readonly string[];
  /** Scripts that npm would run when it installs the package. */
  readonly installScripts: readonly string[];
}

/** Where a plugin was found. `config`: a path of `plugins.load.paths`; `global`: `extensions/` of the state directory. */
export type PluginOrigin = "config" | "workspace" | "global";

/** A folder with a valid manifest. */
export interface FoundPlugin {
  readonly manifest: PluginManifest;
  readonly package: PluginPackage;
  /** Absolute path of the plugin's folder, without links. */
  readonly root: string;
  readonly origin: PluginOrigin;
  /** Context engines that the plugin registered when its code was last tried. Their ids need not be the plugin's. */
  readonly engines: readonly string[];
}

/** A folder that should hold a plugin, and why it does not. */
export interface BrokenPlugin {
  /** The id of the folder's manifest, or the name of the folder. */
  readonly id: string;
  readonly root: string;
  readonly origin: PluginOrigin;
  readonly why: string;
}

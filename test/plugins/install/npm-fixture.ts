import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test as base } from "vitest";
import { Registry, type Published } from "../../fakes/npm-registry.ts";
import { run, type Ended } from "../../kit/gateway/cli.ts";
import { folder, packageOf, pluginFiles, type PluginShape } from "../../kit/plugins/sources.ts";

export const SCRIPTS = {
  preinstall: "touch ran",
  install: "touch ran",
  postinstall: "touch ran",
  prepare: "touch ran",
};
const HELPER = { name: "helper", version: "1.0.0", main: "index.js", scripts: SCRIPTS };

/** A registry on loopback, and the commands of plugins with the npm of this machine. */
export class Npm {
  readonly dir: string;
  readonly state: string;
  readonly registry: Registry;
  readonly #env: Record<string, string>;

  constructor(dir: string, registry: Registry) {
    this.dir = dir;
    this.state = join(dir, "state");
    this.registry = registry;
    this.#env = {
      PATH: process.env["PATH"] ?? "",
      HOME: dir,
      OPENCLAW_STATE_DIR: this.state,
      npm_config_registry: registry.url,
      npm_config_cache: join(dir, "cache"),
      npm_config_fetch_retries: "0",
      // What a user may have set for everything else.
      npm_config_ignore_scripts: "false",
    };
  }

  publishHelper(): Promise<Published> {
    return this.registry.publish(HELPER, { "index.js": "" });
  }

  publish(shape: PluginShape = {}): Promise<Published> {
    const { "package.json": _own, ...files } = pluginFiles(shape);
    const manifest = { ...packageOf(shape), scripts: SCRIPTS, dependencies: { helper: "^1.0.0" }, ...shape.package };
    return this.registry.publish(manifest, { ...files, ...shape.files });
  }

  plugins(...args: string[]): Promise<Ended> {
    return run(["plugins", ...args], this.#env);
  }

  /** From now on there is no program on the `PATH`. */
  emptyPath(): void {
    this.#env["PATH"] = join(this.dir, "empty");
    mkdirSync(this.#env["PATH"]);
  }

  plugin(path = ""): string {
    return join(this.state, "extensions/toy", path);
  }

  get installed(): readonly string[] {
    return readdirSync(join(this.state, "extensions"));
  }

  get records() {
    return JSON.parse(readFileSync(join(this.state, "plugins/installs.json"), "utf8")).installRecords;
  }

  /** The files that install scripts wrote. */
  get ranScripts(): readonly string[] {
    return readdirSync(join(this.state, "extensions"), { recursive: true, encoding: "utf8" }).filter((name) =>
      /(?:^|\/)ran$/.test(name),
    );
  }
}

export const test = base.extend<{ npm: Npm }>({
  // eslint-disable-next-line no-empty-pattern
  npm: async ({}, use) => {
    const dir = folder();
    const registry = new Registry(join(dir, "registry"));
    await registry.start();
    await use(new Npm(dir, registry));
    await registry.stop();
  },
});

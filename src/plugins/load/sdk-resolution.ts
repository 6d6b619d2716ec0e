import { registerHooks } from "node:module";

/** The file URL of a path below `openclaw/plugin-sdk`, the empty text for the package itself; undefined where it has no such module. */
export type SdkUrls = (subpath: string) => string | undefined;

const SPECIFIER = /^openclaw\/plugin-sdk(?:\/(.+?))?(?:\.js)?$/;

/**
 * Makes `openclaw/plugin-sdk/…` resolve to this gateway for `import`, `import()` and `require` of this process,
 * whatever file imports it. The returned function ends that.
 */
export function resolveSdk(urlOf: SdkUrls): () => void {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = SPECIFIER.exec(specifier);
      if (!found) return next(specifier, context);
      const url = urlOf(found[1] ?? "");
      if (url === undefined) throw new SdkModuleMissing(specifier, context.parentURL);
      return { url, shortCircuit: true };
    },
  });
  return () => hooks.deregister();
}

/** A plugin imports a module of the SDK that this gateway does not have. */
export class SdkModuleMissing extends Error {
  override readonly name = "SdkModuleMissing";
  readonly code = "ERR_MODULE_NOT_FOUND";
  readonly specifier: string;

  /** `importer`: the URL of the file that imports it. */
  constructor(specifier: string, importer?: string) {
    super(`this gateway has no ${specifier}${importer === undefined ? "" : `, which ${importer} imports`}`);
    this.specifier = specifier;
  }
}

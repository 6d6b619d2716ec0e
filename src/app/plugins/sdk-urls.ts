import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packageRoot } from "../package-root.ts";
import { own } from "../../utils/own.ts";
import type { SdkUrls } from "../../plugins/load/sdk-resolution.ts";

/** Modules of OpenClaw's plugin SDK whose exports another module has too. */
const PART_OF: Readonly<Record<string, string>> = {
  "channel-actions": "core",
  "channel-core": "core",
  "param-readers": "core",
  "tool-results": "core",
  "tool-send": "core",
  "provider-auth-api-key": "provider-entry",
  "provider-catalog-shared": "provider-entry",
  "text-runtime": "reply-runtime",
  "media-runtime": "infra-runtime",
};

/** The modules of the plugin SDK that belong to this process: of the bundle, or of the sources where those run. */
export function sdkUrls(): SdkUrls {
  const isBundle = fileURLToPath(import.meta.url).startsWith(join(packageRoot, "dist"));
  return (subpath) => {
    if (!/^[a-z0-9-]*$/.test(subpath)) return undefined;
    const name = subpath === "" ? "plugin-sdk" : (own(PART_OF, subpath) ?? subpath);
    const inBundle = subpath === "" ? "plugin-sdk.js" : `plugin-sdk/${name}.js`;
    const file = isBundle ? join(packageRoot, "dist", inBundle) : join(packageRoot, "src", "api", `${name}.ts`);
    return existsSync(file) ? pathToFileURL(file).href : undefined;
  };
}

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { accountConfig } from "../../src/channels/config.ts";
import { keysBelow, type SchemaKey } from "../../src/app/config/keys/schema-keys.ts";
import { describeSchema } from "../../src/app/config/schema/schema.ts";

/** The keys that a bundled adapter adds below `channels.<name>`: every `<name>Config` of `extensions/<name>/config.ts`. */
export async function channelKeys(root: string): Promise<readonly SchemaKey[]> {
  const names = readdirSync(join(root, "extensions")).filter((name) =>
    existsSync(join(root, "extensions", name, "config.ts")),
  );
  return (await Promise.all(names.toSorted().map((name) => keysOf(root, name)))).flat();
}

async function keysOf(root: string, name: string): Promise<readonly SchemaKey[]> {
  const file = join(root, "extensions", name, "config.ts");
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(file).href);
  const schema = module[`${name}Config`];
  if (!(schema instanceof z.ZodObject)) return [];
  const cores = new Set(keysBelow(describeSchema(accountConfig), []).map(({ path }) => path.join(".")));
  return keysBelow(describeSchema(schema), ["channels", name]).filter(
    ({ path }) => !cores.has(path.slice(2).join(".")),
  );
}

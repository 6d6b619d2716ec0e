import { resolvePaths } from "../../../config/paths.ts";
import { jsonSchema } from "../../../config/schema/schema.ts";
import { writeJson, type Io } from "../../io.ts";

export async function printConfigSchema(io: Io): Promise<number> {
  writeJson(io, jsonSchema());
  return 0;
}

export async function configFile(io: Io, { json }: { readonly json?: boolean }): Promise<number> {
  const { configPath } = resolvePaths(io.env);
  if (json === true) writeJson(io, { path: configPath });
  else io.out(`${configPath}\n`);
  return 0;
}

import { resolvePaths } from "../../../config/paths.ts";
import { jsonSchema } from "../../../config/schema.ts";
import { writeJson, type Io } from "../../io.ts";

export async function configSchema(io: Io): Promise<number> {
  writeJson(io, jsonSchema());
  return 0;
}

export async function configFile(io: Io): Promise<number> {
  io.out(`${resolvePaths(io.env).configPath}\n`);
  return 0;
}

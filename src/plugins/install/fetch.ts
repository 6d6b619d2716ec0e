import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { defined } from "../../utils/defined.ts";
import { unpackArchive } from "./archive.ts";
import { copyFolder } from "./copy.ts";
import type { Origin } from "./facts.ts";
import { fetchGit } from "./git.ts";
import { fetchArchive, viewPackage } from "./npm.ts";
import type { Programs } from "./programs.ts";
import type { PluginSource } from "./source.ts";

export interface Job {
  readonly draft: string;
  readonly source: Exclude<PluginSource, { kind: "link" }>;
}

interface Fetched {
  /** The folder of the plugin in the draft. */
  readonly folder: string;
  readonly origin: Origin;
}

/** Brings a source into a draft. Throws `PLUGIN_INVALID`, `PLUGIN_UNSAFE` and `PLUGIN_FETCH`. */
export async function fetchSource(
  programs: Programs,
  { draft, source }: Job,
  step: (label: string) => void,
): Promise<Fetched> {
  const unpacked = join(draft, "unpacked");
  switch (source.kind) {
    case "path":
      await copyFolder(source.path, unpacked);
      return { folder: unpacked, origin: { from: `the folder ${source.path}` } };
    case "archive": {
      const folder = await unpackArchive(source.path, unpacked);
      return { folder, origin: { from: `the archive ${source.path}`, integrity: await integrityOf(source.path) } };
    }
    case "git": {
      step(`Fetching ${source.url} with git`);
      const resolvedCommit = await fetchGit(programs, source, unpacked);
      return {
        folder: unpacked,
        origin: { from: `the repository ${source.url}, commit ${resolvedCommit}`, resolvedCommit },
      };
    }
    case "npm":
      step(`Fetching ${source.spec} with npm`);
      return fetchNpm(programs, source.spec, draft);
  }
}

async function fetchNpm(programs: Programs, spec: string, draft: string): Promise<Fetched> {
  const archive = join(draft, "archive");
  const file = await fetchArchive(programs, spec, archive);
  const folder = await unpackArchive(file, join(draft, "unpacked"));
  const { publisher, maintainers } = await viewPackage(programs, spec, archive);
  const origin = { from: `npm: ${spec}`, integrity: await integrityOf(file), maintainers, ...defined({ publisher }) };
  return { folder, origin };
}

async function integrityOf(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defined } from "../../utils/defined.ts";
import { runNpm, type Programs } from "./programs.ts";
import { notFetched } from "./refusals.ts";

/** Fetches the archive of a package into a new folder and returns its path. npm checks its hash. Throws `PLUGIN_FETCH`. */
export async function fetchArchive(programs: Programs, spec: string, into: string): Promise<string> {
  const at = { cwd: into, what: `npm could not fetch ${spec}` };
  await mkdir(into, { recursive: true, mode: 0o700 });
  // npm takes its settings from the folder with the nearest package.json.
  await writeFile(
    join(into, "package.json"),
    JSON.stringify({ name: "plugin-archive", version: "0.0.0", private: true }),
  );
  await runNpm(programs, ["pack", spec, "--ignore-scripts", "--pack-destination", into], at);
  const name = (await readdir(into)).find((file) => file.endsWith(".tgz"));
  if (name === undefined) throw notFetched(`${at.what}: npm wrote no archive.`, undefined);
  return join(into, name);
}

/** Entry of a registry for one version of a package. */
export interface Published {
  readonly version: string;
  /** `name <address>` of the person who published this version. */
  readonly publisher?: string;
  readonly maintainers: readonly string[];
  /** `sha512-<base64>` of the version's archive. */
  readonly integrity?: string;
}

const person = z.union([z.string(), z.looseObject({ name: z.string() }).transform(({ name }) => name)]);
const people = z.union([person.transform((one) => [one]), z.array(person)]);
const viewShape = z.looseObject({
  version: z.string(),
  maintainers: people.optional().catch(undefined),
  _npmUser: person.optional().catch(undefined),
  "dist.integrity": z.string().optional().catch(undefined),
});

/** Asks the registry about a package; the newest version where several fit. Throws `PLUGIN_FETCH`. */
export async function viewPackage(programs: Programs, spec: string, cwd: string): Promise<Published> {
  const what = `npm could not read about ${spec}`;
  const fields = ["version", "maintainers", "_npmUser", "dist.integrity"];
  const output = await runNpm(programs, ["view", spec, ...fields, "--json"], { cwd, what });
  const answer = parseJson(output);
  const parsed = viewShape.safeParse(Array.isArray(answer) ? answer.at(-1) : answer);
  if (!parsed.success) throw notFetched(`${what}: its answer has another form.`, parsed.error);
  const { version, maintainers, _npmUser: publisher, "dist.integrity": integrity } = parsed.data;
  return { version, maintainers: maintainers ?? [], ...defined({ publisher, integrity }) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // npm prints nothing when no version fits: the caller says so.
    return undefined;
  }
}

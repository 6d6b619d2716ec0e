import { createHash } from "node:crypto";
import { join } from "node:path";
import { readCredential, type Credential, writeCredential } from "../../../providers/auth/credential.ts";
import { Credentials, CREDENTIALS_FILE } from "../../../providers/auth/credentials.ts";
import { parseApprovals } from "../../../store/exec-approvals-read.ts";
import { writeAtomic } from "../../../store/disk.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import type { AgentId } from "../../../types/ids.ts";
import { isFields, isSameData, type Fields } from "../../../utils/fields.ts";
import type { ImportKind, Item, KindPlan, Left, OpenTarget } from "../frame/kind.ts";
import type { ItemOutcome } from "../frame/receipts.ts";
import type { ImportSource, SourceAgent } from "../frame/source.ts";
import { givenJson, readSourceText, SMALL_BYTES } from "../frame/source-file.ts";

/** Stored keys of models. Logins stay behind: a provider ends a login that two programs renew. */
export const modelKeysKind: ImportKind = {
  id: "keys",
  title: "Keys of models",
  async plan(from, to): Promise<KindPlan> {
    const items: Item[] = [];
    const left: Left[] = [];
    for (const agent of await holdersOf(from, to.defaultAgent))
      for (const [id, value] of Object.entries(await profilesOf(agent, from, agent.id === to.defaultAgent))) {
        const name = `${agent.id}: ${id}`;
        const credential = readCredential(value);
        if (credential?.type === "oauth") left.push({ name, why: LOGIN });
        else if (!credential)
          left.push({ name, why: "it has no key of its own, such as a reference to another store" });
        else items.push(keyItem(agent.id, id, credential, agent.id === to.defaultAgent));
      }
    return { items, left };
  },
};

const LOGIN = "its token may be renewed in one place only; log in here with: openclaw models auth login";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Keys of the default agent are those of all agents here, as they are in OpenClaw. */
function keyItem(agent: string, id: string, credential: Credential, isShared: boolean): Item {
  const written = writeCredential(credential);
  return {
    id: `${agent}/${id}`,
    name: `${agent}: ${id}`,
    version: hashOf(JSON.stringify(written)),
    async take({ paths }, before): Promise<ItemOutcome> {
      const dir = isShared ? paths.credentials : join(paths.stateDir, "agents", agent, "agent");
      const keys = new Credentials(dir);
      const there = (await keys.read()).profiles.get(id);
      const mark = there && hashOf(JSON.stringify(writeCredential(there)));
      const isOther = there !== undefined && !isSameData(writeCredential(there), written) && mark !== before?.mark;
      if (isOther) return { left: "there is another key of this name already" };
      await keys.put(id, credential);
      return { made: id, mark: hashOf(JSON.stringify(written)) };
    },
  };
}

/** The agents, and the default agent in any case: keys of all agents are in the shared database of later versions. */
async function holdersOf(from: ImportSource, defaultAgent: AgentId): Promise<readonly SourceAgent[]> {
  if (from.agents.some(({ id }) => id === defaultAgent)) return from.agents;
  const own = join(from.dir, "agents", defaultAgent, "agent");
  return [...from.agents, { id: defaultAgent, own, sessions: join(own, "..", "sessions"), database: undefined }];
}

/** The profiles of an agent: of its file, else of its database. */
async function profilesOf({ own, database }: SourceAgent, from: ImportSource, isFirst: boolean): Promise<Fields> {
  const stores = [
    await readSourceText(join(own, CREDENTIALS_FILE), from.dir, SMALL_BYTES),
    await storeIn(database, "auth_profile_store", from),
    ...(isFirst ? [await sharedStore(from)] : []),
  ];
  return Object.assign({}, ...stores.map(profilesIn));
}

/** A text of the only row of a table, whose column has changed its name over the versions. */
async function storeIn(
  path: string | undefined,
  table: string,
  { databases }: ImportSource,
): Promise<string | undefined> {
  const db = path === undefined ? undefined : await databases.open(path);
  if (db?.has(table) !== true) return undefined;
  const [row] = [...db.rows(`SELECT * FROM ${table} LIMIT 1`)];
  return Object.values(row ?? {}).find((value): value is string => typeof value === "string" && value.startsWith("{"));
}

async function sharedStore({ database, databases }: ImportSource): Promise<string | undefined> {
  const db = database === undefined ? undefined : await databases.open(database);
  if (db?.has("config_machine_state", "state_key", "value_json") !== true) return undefined;
  const [row] = [...db.rows("SELECT value_json FROM config_machine_state WHERE state_key = 'authProfiles.store'")];
  return typeof row?.["value_json"] === "string" ? row["value_json"] : undefined;
}

function profilesIn(text: string | undefined): Fields {
  const value = givenJson(text);
  const profiles: unknown = isFields(value) ? value["profiles"] : undefined;
  return isFields(profiles) ? profiles : {};
}

const PROPOSED = "exec-approvals.proposed.json";

/** Rules for commands come as a proposal: what the other gateway allowed, a person has to allow here. */
export const approvalsKind: ImportKind = {
  id: "approvals",
  title: "Rules for commands",
  async plan(from): Promise<KindPlan> {
    const text = await rulesOf(from);
    if (text === undefined) return { items: [], left: [] };
    const read = parseApprovals(text);
    if (read.kind !== "read")
      return {
        items: [],
        left: [{ name: EXEC_APPROVALS_FILE, why: read.kind === "broken" ? read.why : "it is not there" }],
      };
    const { socket: _socket, ...document } = read.document;
    const content = `${JSON.stringify(document, null, 2)}\n`;
    const item: Item = {
      id: EXEC_APPROVALS_FILE,
      name: EXEC_APPROVALS_FILE,
      version: hashOf(content),
      notes: [`not in force; read ${PROPOSED} in the state directory, then: openclaw approvals set --file <it>`],
      take: (to) => propose(content, to),
    };
    const isEmpty = Object.values(document.agents).every(({ allowlist }) => allowlist.length === 0);
    return isEmpty && Object.keys(document.defaults).length === 0
      ? { items: [], left: [] }
      : { items: [item], left: [] };
  },
};

async function propose(content: string, { paths }: OpenTarget): Promise<ItemOutcome> {
  await writeAtomic(join(paths.stateDir, PROPOSED), content);
  return { made: PROPOSED };
}

async function rulesOf(from: ImportSource): Promise<string | undefined> {
  const db = from.database === undefined ? undefined : await from.databases.open(from.database);
  if (db?.has("exec_approvals_config", "raw_json") === true) {
    const [row] = [...db.rows("SELECT raw_json FROM exec_approvals_config LIMIT 1")];
    if (typeof row?.["raw_json"] === "string") return row["raw_json"];
  }
  return readSourceText(join(from.dir, EXEC_APPROVALS_FILE), from.dir, SMALL_BYTES);
}

import { readApprovalsFile } from "../../store/exec-approvals-read.ts";
import type { ExecRow } from "../../tools/exec/rules/document.ts";
import type { Paired, PairingRequest } from "../../types/answers/pairing.ts";
import { Credentials } from "../../providers/auth/credentials.ts";
import { writeCredential } from "../../providers/auth/credential.ts";
import type { Fields } from "../../utils/fields.ts";

/** Something that stays behind, or is other than here, and why. */
export interface LeftItem {
  readonly what: string;
  readonly why: string;
}

/** Files of a directory of OpenClaw by their names, what they have in them, and what is not in them. */
export interface Records {
  readonly files: Readonly<Record<string, Fields>>;
  readonly count: number;
  readonly left: readonly LeftItem[];
}

/** The people who were let in, and those who wait with a code, by channel and account. Pure. */
export function peopleFor(paired: readonly Paired[], waiting: readonly PairingRequest[]): Records {
  const files: Record<string, Fields> = {};
  for (const [, people] of Map.groupBy(paired, ({ channel, account }) => `${channel}\n${account}`)) {
    const [first] = people;
    if (!first) continue;
    const name = `credentials/${fileKey(first.channel)}-${fileKey(first.account)}-allowFrom.json`;
    files[name] = { version: 1, allowFrom: people.map(({ senderId }) => senderId) };
  }
  for (const [channel, requests] of Map.groupBy(waiting, (one) => one.channel))
    files[`credentials/${fileKey(channel)}-pairing.json`] = { version: 1, requests: requests.map(requestFor) };
  return { files, count: paired.length, left: [] };
}

const requestFor = ({ senderId, code, createdAt, account, name }: PairingRequest): Fields => {
  const at = new Date(createdAt).toISOString();
  const meta = { accountId: account, ...(name !== undefined && { name }) };
  return { id: senderId, code, createdAt: at, lastSeenAt: at, meta };
};

/** A channel or an account as a part of a file's name. */
const fileKey = (id: string): string =>
  id
    .trim()
    .toLowerCase()
    .replaceAll(/[\\/:*?"<>|]/g, "_")
    .replaceAll("..", "_");

/** The rules for commands. An allowed command that holds in one folder only stays behind: there it would hold everywhere. */
export function approvalsFor(path: string): Records {
  const found = readApprovalsFile(path);
  if (found.kind === "missing") return { files: {}, count: 0, left: [] };
  if (found.kind === "broken")
    return { files: {}, count: 0, left: [{ what: "exec-approvals.json", why: `it cannot be used: ${found.why}` }] };
  const { defaults, agents } = found.document;
  const all = Object.entries(agents);
  const rows = all.flatMap(([, { allowlist }]) => allowlist);
  const kept = rows.filter(isEverywhere).length;
  const left = rows.length - kept;
  const file = {
    version: 1,
    defaults,
    agents: Object.fromEntries(
      all.map(([id, agent]) => [id, { ...agent, allowlist: agent.allowlist.filter(isEverywhere) }]),
    ),
  };
  return {
    files: { "exec-approvals.json": file },
    count: kept,
    left:
      left === 0
        ? []
        : [
            {
              what: `${left} allowed commands`,
              why: "they hold in one folder only, and in OpenClaw they would hold everywhere",
            },
          ],
  };
}

const isEverywhere = ({ cwd, binding }: ExecRow): boolean => cwd === undefined && binding === undefined;

/** Stored keys of models, as the file of one agent. Logins stay behind: a provider ends both when two programs renew one. */
export async function modelKeysFor(dirs: readonly string[], agent: string): Promise<Records> {
  const profiles: Record<string, Fields> = {};
  const order: Record<string, readonly string[]> = {};
  const left: LeftItem[] = [];
  for (const dir of dirs) {
    const keys = await new Credentials(dir).read();
    Object.assign(order, keys.order);
    for (const [id, credential] of keys.profiles) {
      if (credential.type === "oauth") left.push({ what: `the login ${id}`, why: LOGIN });
      else profiles[id] = writeCredential(credential);
    }
    for (const id of keys.odd) left.push({ what: `the key ${id}`, why: "it cannot be read" });
  }
  const count = Object.keys(profiles).length;
  if (count === 0) return { files: {}, count, left };
  const known = Object.entries(order).map(([provider, ids]) => [
    provider,
    ids.filter((id) => profiles[id] !== undefined),
  ]);
  const name = `agents/${agent.toLowerCase()}/agent/auth-profiles.json`;
  return { files: { [name]: { version: 1, profiles, order: Object.fromEntries(known) } }, count, left };
}

const LOGIN = "its token may be renewed in one place only; log in there";

import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isFields } from "../../utils/fields.ts";
import { makePrivateDir, writeAtomic } from "../disk.ts";
import { lockFile } from "./lock-file.ts";
import { readTextFile } from "../text-file.ts";

/** Facts about one state directory that no other program reads: `state/instance.json`. */
export interface Instance {
  /** Random. A copy has the id of its original until it takes one of its own. */
  readonly id: string;
  /** Whether a person has said that channels may start although another program wrote the directory last. */
  readonly isAdopted: boolean;
  /** Where its content came from, when another gateway may still use it: channels start once it is adopted. */
  readonly origin?: "import" | "backup" | undefined;
}

/** Where the facts are. */
export const instancePath = (stateDir: string): string => join(stateDir, "state", "instance.json");

/** Undefined before the first start, and when the file is damaged. Rejects when it cannot be read. */
export async function readInstance(stateDir: string): Promise<Instance | undefined> {
  const text = await readTextFile(instancePath(stateDir));
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isFields(value) || typeof value["id"] !== "string" || value["id"] === "") return undefined;
    const { adopted, imported, restored } = value;
    const origin = restored === true ? "backup" : "import";
    return {
      id: value["id"],
      isAdopted: adopted === true,
      ...((imported === true || restored === true) && { origin }),
    };
  } catch {
    // A damaged file is made anew; channels then stay off in a directory of another program until a person adopts it again.
    return undefined;
  }
}

/** The facts with these changes; an id is made where there is none. Throws DISK_FULL or DISK_WRITE. */
export async function changeInstance(stateDir: string, changes: Partial<Instance>): Promise<Instance> {
  const path = instancePath(stateDir);
  await makePrivateDir(dirname(path));
  const release = await lockFile(path);
  try {
    const known = await readInstance(stateDir);
    const made = { id: randomUUID(), isAdopted: false, ...known, ...changes };
    const { id, isAdopted, origin } = made;
    const from = origin && (origin === "backup" ? { restored: true } : { imported: true });
    const written = { id, ...(isAdopted && { adopted: true }), ...from };
    await writeAtomic(path, `${JSON.stringify(written)}\n`);
    return made;
  } finally {
    await release();
  }
}

/** Gives the directory an id if it has none. */
export async function ensureInstance(stateDir: string): Promise<void> {
  if ((await readInstance(stateDir)) === undefined) await changeInstance(stateDir, {});
}

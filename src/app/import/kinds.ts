/**
 * What an import takes, in the order in which it is taken. To add a kind: write `kinds/<name>.ts` with an `ImportKind`, and put it
 * into the table below.
 *
 * - `plan` finds the items in the source (`from.agents`, `from.value`, `from.databases.open(…)` for a private copy of a database) and
 *   names what stays behind in `left`, with a reason. It writes nothing and shows no secrets. It reads every era: look with
 *   `database.has(table, …columns)`, never at a version.
 * - An item's `id` is a name that stays when the source is moved (no path above the source). Its `version` changes with its content. The runner
 *   passes over an item that has a receipt with this version.
 * - `take` makes the item durable here and resolves with an `ItemOutcome`; the receipt is written after it. A kill may come at any moment, so the
 *   next `take` of the same item must give the same result: write through `writeAtomic` or one transaction of `to.journal`. It keeps what
 *   the target has of its own: resolve with `left` and the reason instead of replacing it.
 * - A test imports a small source through the command (`test/app/import/`).
 */
import type { ImportKind } from "./frame/kind.ts";
import { configKind } from "./kinds/config.ts";
import { foldersKind } from "./kinds/folders.ts";
import { devicesKind } from "./kinds/devices.ts";
import { jobsKind } from "./kinds/jobs.ts";
import { positionsKind, whatsappKind } from "./kinds/links.ts";
import { neverKind } from "./kinds/never.ts";
import { peopleKind } from "./kinds/people.ts";
import { approvalsKind, modelKeysKind } from "./kinds/secrets.ts";
import { sessionsKind } from "./kinds/sessions.ts";

export const IMPORT_KINDS: readonly ImportKind[] = [
  configKind,
  sessionsKind,
  peopleKind,
  positionsKind,
  whatsappKind,
  devicesKind,
  modelKeysKind,
  approvalsKind,
  jobsKind,
  foldersKind,
  neverKind,
];

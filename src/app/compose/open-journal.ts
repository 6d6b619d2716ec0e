import { randomUUID } from "node:crypto";
import { openJournal, type OpenJournal } from "../../store/journal/journal.ts";
import type { Log } from "../../types/log.ts";
import { journalPath } from "../config/paths.ts";
import type { Live } from "./live.ts";

/** Opens the journal of the state directory, whose lock the caller holds. */
export const journalOf = ({ paths, config }: Live, log: Log): Promise<OpenJournal> =>
  openJournal({ path: journalPath(paths), bootId: randomUUID(), sync: config.journal.fsync, log });

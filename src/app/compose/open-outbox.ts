import { gapText } from "../../dispatch/notices/chat-texts.ts";
import { Outbox } from "../../outbox/deliver.ts";
import type { Links } from "../../outbox/ports.ts";
import type { Clock } from "../../types/clock.ts";
import type { OpenClawError } from "../../types/errors.ts";
import type { OutboxJournal } from "../../types/journal.ts";
import type { HookRunner } from "../../types/hook/hooks.ts";
import type { Log } from "../../types/log.ts";
import type { Peer } from "../../types/chat/message.ts";
import { accountOf } from "../accounts/accounts.ts";
import type { Live } from "../live.ts";

interface Sources {
  readonly journal: OutboxJournal;
  readonly links: Links;
  readonly log: Log;
  readonly hooks?: HookRunner;
  readonly clock: Clock;
  readonly onSent?: ((to: Peer) => void) | undefined;
  /** See `OutboxDeps`. */
  readonly onDiskError?: ((error: OpenClawError) => void) | undefined;
}

/** The outbox; it reads the current config at each use. */
export function openOutbox(live: Live, { onSent, onDiskError, ...sources }: Sources): Outbox {
  return new Outbox({
    ...sources,
    maxAgeMs: () => live.config.messages.recovery.maxAgeHours * HOUR_MS,
    gapText: (gaps) => gapText(gaps, (at) => showTime(at, live.defaultAgent.timezone)),
    labelsRepeats: () => live.config.messages.labelRepeats,
    pacing: (to) => ({ ...live.config.messages.pacing, ...accountOf(live.config, to).pacing }),
    ...(onSent && { onSent }),
    ...(onDiskError && { onDiskError }),
  });
}

const HOUR_MS = 3_600_000;

const showTime = (at: number, timeZone: string): string =>
  new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });

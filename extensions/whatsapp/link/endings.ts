/** Consequence of the end of a connection. `again`: connect at once. `pause`: retry with growing pauses. */
export type Ending =
  | { readonly kind: "again"; readonly reason: string }
  | Pause
  | { readonly kind: "dead"; readonly reason: string; readonly fix: string };

/** `fix`: the step that the operator can take, when the problem does not pass on its own. */
interface Pause {
  readonly kind: "pause";
  readonly reason: string;
  readonly fix?: string;
  readonly firstMs?: number;
  readonly longestMs?: number;
}

const LINK = "Link the account again: `openclaw channels login whatsapp`.";
const MINUTE = 60_000;

/** Endings by the code of WhatsApp's server or of the library (Baileys: `DisconnectReason`). */
const ENDINGS: Readonly<Record<number, Ending>> = {
  401: { kind: "dead", reason: "WhatsApp has ended this link; the device was logged out", fix: LINK },
  402: {
    kind: "dead",
    reason: "WhatsApp has suspended this number for some time",
    fix: "Open WhatsApp on the phone: it shows for how long. Restart the channel afterwards.",
  },
  403: {
    kind: "dead",
    reason: "WhatsApp forbids this number",
    fix: "Open WhatsApp on the phone and follow what it says; a banned number cannot be linked.",
  },
  405: {
    kind: "pause",
    reason: "WhatsApp refuses this version",
    fix: "Set channels.whatsapp.waVersion to a newer version of WhatsApp Web, or upgrade.",
    firstMs: MINUTE,
    longestMs: 30 * MINUTE,
  },
  408: { kind: "pause", reason: "the connection to WhatsApp was lost" },
  411: {
    kind: "dead",
    reason: "the phone's version of WhatsApp is too old for linked devices",
    fix: `Update WhatsApp on the phone. ${LINK}`,
  },
  419: { kind: "dead", reason: "WhatsApp has ended this link", fix: LINK },
  428: { kind: "pause", reason: "WhatsApp closed the connection" },
  // An immediate reconnect would end the other program's connection, which would then end ours.
  440: {
    kind: "pause",
    reason: "another program uses the same link",
    fix: "Stop it, or link it as a separate device.",
    firstMs: MINUTE,
    longestMs: 30 * MINUTE,
  },
  500: { kind: "pause", reason: "WhatsApp could not continue this session", fix: `If this persists: ${LINK}` },
  503: { kind: "pause", reason: "WhatsApp's server is not available" },
  515: { kind: "again", reason: "WhatsApp asked for a new connection" },
};

const MOST_IMMEDIATE = 3;

/** `failures`: how many connections before this one ended early, without a lasting one between. */
export function endingOf(code: number | undefined, failures: number): Ending {
  const ending = (code === undefined ? undefined : ENDINGS[code]) ?? other(code);
  if (ending.kind === "again" && failures >= MOST_IMMEDIATE) return { kind: "pause", reason: ending.reason };
  return ending;
}

const other = (code: number | undefined): Ending => ({
  kind: "pause",
  reason: `the connection to WhatsApp ended${code === undefined ? "" : ` (${code})`}`,
});

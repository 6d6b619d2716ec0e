/** What is done when a connection has ended. `pause`: try again, the longer the oftener it happened. */
export type Ending =
  | { readonly kind: "again"; readonly reason: string }
  | Pause
  | { readonly kind: "dead"; readonly reason: string; readonly fix: string };

/** `fix`: what the operator can do, where time alone does not mend it. */
interface Pause {
  readonly kind: "pause";
  readonly reason: string;
  readonly fix?: string;
  readonly firstMs?: number;
  readonly longestMs?: number;
}

const LINK = "Link the account again: `openclaw channels login whatsapp`.";
const MINUTE = 60_000;

/** By the code that WhatsApp's server, or the library for it, gives (Baileys: `DisconnectReason`). */
const ENDINGS: Readonly<Record<number, Ending>> = {
  401: { kind: "dead", reason: "WhatsApp has ended this link; the device was logged out", fix: LINK },
  402: {
    kind: "dead",
    reason: "WhatsApp has suspended this number for some time",
    fix: "Open WhatsApp on the phone: it tells for how long. Restart the channel afterwards.",
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
    reason: "the phone does not use WhatsApp's linked devices as they are today",
    fix: `Update WhatsApp on the phone. ${LINK}`,
  },
  419: { kind: "dead", reason: "WhatsApp has ended this link", fix: LINK },
  428: { kind: "pause", reason: "WhatsApp closed the connection" },
  // Coming back at once would throw the other one out, and it us.
  440: {
    kind: "pause",
    reason: "another program uses the same link",
    fix: "Stop it, or give it a link of its own.",
    firstMs: MINUTE,
    longestMs: 30 * MINUTE,
  },
  500: { kind: "pause", reason: "WhatsApp could not go on with this session", fix: `If it stays so: ${LINK}` },
  503: { kind: "pause", reason: "WhatsApp's server is not available" },
  515: { kind: "again", reason: "WhatsApp asked for a new connection" },
};

const AT_ONCE = 3;

/** `failures`: how many connections in a row have ended before this one without lasting. */
export function endingOf(code: number | undefined, failures: number): Ending {
  const ending = (code === undefined ? undefined : ENDINGS[code]) ?? other(code);
  if (ending.kind === "again" && failures >= AT_ONCE) return { kind: "pause", reason: ending.reason };
  return ending;
}

const other = (code: number | undefined): Ending => ({
  kind: "pause",
  reason: `the connection to WhatsApp ended${code === undefined ? "" : ` (${code})`}`,
});

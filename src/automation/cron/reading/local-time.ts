/** A date and time without an offset. */
const LOCAL = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?$/;
const HAS_OFFSET = /(?:Z|[+-]\d{2}:?\d{2})$/i;
const DAY_MS = 86_400_000;

/**
 * Epoch milliseconds of an ISO 8601 text. A text without an offset is read in the zone; a time that occurs twice, as
 * summer time ends, means its first occurrence. Throws an `Error` for a text that is no time, and for a time that the
 * zone leaves out.
 */
export function readTime(text: string, timeZone: string): number {
  const given = text.trim();
  if (HAS_OFFSET.test(given)) {
    const time = Date.parse(given);
    if (Number.isNaN(time)) throw new Error(`"${text}" is no time; write it as 2026-12-24T18:00:00+01:00`);
    return time;
  }
  const match = LOCAL.exec(given);
  const wall = match ? wallTime(match) : Number.NaN;
  if (Number.isNaN(wall)) throw new Error(`"${text}" is no time; write it as 2026-12-24T18:00`);
  // The zone's offset a day before and a day after: one of them applies at that time.
  const instants = [wall - DAY_MS, wall + DAY_MS].map((time) => wall - offsetAt(time, timeZone));
  const found = instants.filter((time) => time + offsetAt(time, timeZone) === wall);
  if (found.length === 0) throw new Error(`${given} does not exist in ${timeZone}: clocks are put forward over it`);
  return Math.min(...found);
}

/** Epoch milliseconds of the same date and time in UTC; `NaN` when there is no such day or time. */
function wallTime([, year, month, day, hour = "00", minute = "00", second = "00"]: RegExpExecArray): number {
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const time = Date.parse(iso);
  // JavaScript reads 30 February as a day in March.
  return !Number.isNaN(time) && new Date(time).toISOString() === iso ? time : Number.NaN;
}

/** Milliseconds that the zone's clocks are ahead of UTC. */
function offsetAt(time: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(time);
  return Date.parse(`${parts.replace(" ", "T")}Z`) - Math.floor(time / 1000) * 1000;
}

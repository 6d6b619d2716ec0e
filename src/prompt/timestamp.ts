import { localMinute, localZone } from "../utils/time/local-time.ts";

const formats = new Map<string, Intl.DateTimeFormat>();

// The Swedish way of writing a date is `YYYY-MM-DD HH:MM:SS`.
function makeFormat(timeZone: string): Intl.DateTimeFormat {
  const fields = { dateStyle: "short", timeStyle: "medium", hourCycle: "h23" } as const;
  try {
    return new Intl.DateTimeFormat("sv-SE", { ...fields, timeZone });
  } catch {
    // An unknown zone is reported when the config is checked. A message must not fail because of an unknown zone.
    return new Intl.DateTimeFormat("sv-SE", { ...fields, timeZone: "UTC" });
  }
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/** The last answer and its minute by time zone: a day begins with a minute in every zone. */
const days = new Map<string, { readonly minute: number; readonly day: string }>();
const MINUTE_MS = 60_000;

/** The weekday and the date, as `Sunday, 2026-11-22`, in an IANA time zone; in UTC when the zone is unknown. */
export function dayOf(at: number, timeZone: string): string {
  const minute = Math.floor(at / MINUTE_MS);
  const known = days.get(timeZone);
  if (known?.minute === minute) return known.day;
  const date = timestamp(at, timeZone).slice(0, 10);
  // The date is one of the zone already: its weekday is that of the same date in UTC.
  const day = `${WEEKDAYS[new Date(`${date}T00:00Z`).getUTCDay()]}, ${date}`;
  days.set(timeZone, { minute, day });
  return day;
}

/** `YYYY-MM-DD HH:MM:SS` in an IANA time zone; in UTC when the zone is unknown. `at` is epoch milliseconds. */
export function timestamp(at: number, timeZone: string): string {
  const minute = Math.floor(at / MINUTE_MS);
  const known = minutes.get(timeZone);
  const text = known?.minute === minute ? known.text : inMinutes(minute, timeZone);
  const seconds = Math.floor(at / 1000) - minute * 60;
  return `${text}:${String(seconds).padStart(2, "0")}`;
}

/** The last answer of `inMinutes`, by time zone. */
const minutes = new Map<string, { readonly minute: number; readonly text: string }>();

/** `YYYY-MM-DD HH:MM`. Since 1972 no zone differs from UTC by a part of a minute. */
function inMinutes(minute: number, timeZone: string): string {
  const at = minute * MINUTE_MS;
  // The machine's own zone needs none of the engine's language data.
  const text = timeZone === localZone() ? localMinute(at) : formatIn(timeZone).format(at).slice(0, -3);
  minutes.set(timeZone, { minute, text });
  return text;
}

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const format = formats.get(timeZone) ?? makeFormat(timeZone);
  formats.set(timeZone, format);
  return format;
}

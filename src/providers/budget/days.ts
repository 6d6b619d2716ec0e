import { localMinute, localZone } from "../../utils/time/local-time.ts";

/** The day and month of a moment, in the zone of the budgets. */
export interface Days {
  /** As `2026-11-27`. */
  readonly day: string;
  /** First and last day that the month can have; as texts they enclose its days. */
  readonly monthStart: string;
  readonly monthEnd: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** `zone`: an IANA name; that of the machine when undefined. Throws for a name that is no zone. */
export function daysAt(at: number, zone: string | undefined): Days {
  const day = dayAt(at, zone);
  const month = day.slice(0, 7);
  return { day, monthStart: `${month}-01`, monthEnd: `${month}-31` };
}

/** As `2026-11-27`. */
export function dayAt(at: number, zone: string | undefined): string {
  if (zone === undefined || zone === localZone()) return localMinute(at).slice(0, 10);
  // Making a format takes a hundred times as long as its use.
  const format = formats.get(zone) ?? new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeZone: zone });
  formats.set(zone, format);
  return format.format(at);
}

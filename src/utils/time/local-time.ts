import { existsSync, readlinkSync } from "node:fs";

let zone: string | undefined;

/**
 * The IANA name of the machine's time zone, as `Europe/Berlin`. It is read from `TZ` or `/etc/localtime` where these have a name:
 * asking `Intl` reads the engine's language data, 17 ms and 8 MB.
 */
export const localZone = (): string => (zone ??= namedZone(process.env["TZ"]) ?? zoneOfIntl());

/**
 * Zone of `Intl`. For a `TZ` that is empty or no zone, `Intl` has no name that it accepts itself, and the clock is that
 * of UTC.
 */
function zoneOfIntl(): string {
  const timeZone: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return timeZone === undefined || timeZone === "Etc/Unknown" ? "UTC" : timeZone;
}

const DATABASE = "/usr/share/zoneinfo";
/** Matches the target of the link `/etc/localtime`, with the name of the zone. */
const LINK = /\/zoneinfo\/(?:posix\/)?([^.]+)$/;
const NAME = /^[A-Z][A-Za-z_]*(?:\/[A-Z][\w+-]*)+$/;
/** Names of one zone; `Intl` knows it by the first. */
const UTC = ["UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu"];

/** The zone that `TZ` names, else the zone of the system; undefined where neither is a plain name of the database. */
function namedZone(variable: string | undefined): string | undefined {
  const name = variable === undefined ? linkedZone() : variable.replace(/^:/, "");
  if (name === undefined) return undefined;
  if (UTC.includes(name)) return "UTC";
  return NAME.test(name) && existsSync(`${DATABASE}/${name}`) ? name : undefined;
}

function linkedZone(): string | undefined {
  try {
    return LINK.exec(readlinkSync("/etc/localtime"))?.[1];
  } catch {
    // The link is missing, or is a copy of the zone's file.
    return undefined;
  }
}

const two = (value: number): string => String(value).padStart(2, "0");

/** `YYYY-MM-DD HH:MM` in the machine's time zone. `at` is epoch milliseconds, within the years 1000 to 9999. */
export function localMinute(at: number): string {
  const time = new Date(at);
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

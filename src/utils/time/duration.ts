const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const PART = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)/;

/** Milliseconds of `500ms`, `90s`, `5m`, `1h30m`, `2d`; a number without a unit counts minutes. Undefined when it is none. */
export function readDuration(text: string): number | undefined {
  const given = text.trim().toLowerCase();
  if (/^\d+(?:\.\d+)?$/.test(given)) return Math.round(Number(given) * 60_000);
  let rest = given;
  let total = 0;
  while (rest !== "") {
    const [part, amount = "", unit = ""] = PART.exec(rest) ?? [];
    const size = UNITS[unit];
    if (part === undefined || size === undefined) return undefined;
    total += Number(amount) * size;
    rest = rest.slice(part.length);
  }
  return given === "" ? undefined : Math.round(total);
}

const SHOWN_UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;

/** `3 min`, `2 h`: one unit, rounded down. */
export function showDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [unit, size] = SHOWN_UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

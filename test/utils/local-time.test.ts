import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const MODULE = join(import.meta.dirname, "../../src/utils/time/local-time.ts");
const YEAR_MS = 365 * 86_400_000;
/** Prints the zone, and a year of minutes by the module and by `Intl`. */
const PROGRAM = `
  const { localZone, localMinute } = await import(${JSON.stringify(MODULE)});
  const timeZone = localZone();
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const wrong = [];
  for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2026, 0, 1) + ${YEAR_MS}; at += 1_741_000)
    if (localMinute(at) !== format.format(at)) wrong.push([at, localMinute(at), format.format(at)]);
  console.log(JSON.stringify({ timeZone, own, wrong: wrong.slice(0, 3) }));
`;

function inZone(zone: string | undefined): { timeZone: string; own: string; wrong: unknown[] } {
  const { TZ: _own, ...env } = process.env;
  const args = ["--input-type=module", "--disable-warning=ExperimentalWarning", "-e", PROGRAM];
  return JSON.parse(
    execFileSync(process.execPath, args, {
      env: { ...env, ...(zone !== undefined && { TZ: zone }) },
      encoding: "utf8",
    }),
  );
}

describe("the machine's time zone", () => {
  it.each(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Argentina/Ushuaia"])(
    "is %s, and its times are those of Intl",
    (zone) => expect(inZone(zone)).toMatchObject({ timeZone: zone, wrong: [] }),
  );

  it.each([
    [":Europe/Berlin", "Europe/Berlin"],
    ["UTC", "UTC"],
    ["Etc/UTC", "UTC"],
    ["", "UTC"],
    ["UTC0", "UTC"],
    ["Nowhere/Land", "UTC"],
    ["../../etc/passwd", "UTC"],
  ])("is that of TZ=%s", (variable, timeZone) => expect(inZone(variable)).toMatchObject({ timeZone, wrong: [] }));

  it("is the system's without TZ", () => {
    const found = inZone(undefined);
    expect(found).toMatchObject({ timeZone: found.own, wrong: [] });
  });
});

/** What a field may become; `undefined` is a field that is missing. The last one is what a large number of a file becomes. */
const VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => 5,
  () => [],
  () => [null],
  () => ({}),
  () => ({ type: "text" }),
  () => true,
  () => "",
  () => "x".repeat(50_000),
  () => Number.POSITIVE_INFINITY,
  () => -1e300,
];

/** Every field of an entry at any depth, as the way to it. */
function waysIn(value: unknown, way: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return way.length === 0 ? [] : [way];
  const inner = Object.entries(value).flatMap(([name, one]) =>
    waysIn(one, [...way, Array.isArray(value) ? Number(name) : name]),
  );
  return way.length === 0 ? inner : [way, ...inner];
}

function changed(value: unknown, way: readonly (string | number)[], to: unknown): unknown {
  const [name, ...rest] = way;
  if (name === undefined) return to;
  if (Array.isArray(value)) return value.map((one: unknown, at) => (at === name ? changed(one, rest, to) : one));
  return Object.fromEntries(
    Object.entries(value ?? {}).flatMap(([key, one]) => {
      if (key !== String(name)) return [[key, one]];
      const next = changed(one, rest, to);
      return next === undefined ? [] : [[key, next]];
    }),
  );
}

/** As JSON. An infinite number is written as the figure that is read as one. */
export const written = (entry: unknown): string =>
  JSON.stringify(entry, (_name, value: unknown) => (value === Number.POSITIVE_INFINITY ? "\u0000" : value)).replaceAll(
    String.raw`"\u0000"`,
    "1e999",
  );

/**
 * The values with one or two of their fields, at any depth, of another type. `first`: the place of the first one that may be changed.
 * `at`: the place of the one that was changed last; `name` says what was, for whoever reads a failure.
 */
export function mutate(below: (most: number) => number, given: readonly unknown[], first = 0) {
  const ways = given.flatMap((value, at) => (at < first ? [] : waysIn(value).map((way) => ({ at, way }))));
  const values = [...given];
  const names: string[] = [];
  let last = first;
  for (let times = below(4) === 0 ? 2 : 1; times > 0; times -= 1) {
    const { at, way } = ways[below(ways.length)] ?? { at: first, way: ["type"] };
    const to = VALUES[below(VALUES.length)]?.();
    values[at] = changed(values[at], way, to);
    names.push(`${at}.${way.join(".")} = ${to === undefined ? "missing" : written(to).slice(0, 40)}`);
    last = at;
  }
  return { name: names.join(", "), values, at: last };
}

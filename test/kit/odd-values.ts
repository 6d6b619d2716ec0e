import { random } from "../faults/random.ts";

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

const shuffled = <T>(given: readonly T[], below: (most: number) => number): readonly T[] =>
  given
    .map((one) => ({ one, at: below(1_000_000) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);

interface Mutant {
  /** What was changed, for whoever reads a failure. */
  readonly name: string;
  readonly values: readonly unknown[];
  /** The place of the value that was changed last. */
  readonly at: number;
}

/**
 * The values without end, each time with one or two of their fields, at any depth, of another type: each field with each other type once,
 * in an order that the seed decides, and then all over again. Every field comes once before any comes twice. `first`: the place of the
 * first value that may be changed.
 */
export function* mutants(seed: number, given: readonly unknown[], first = 0): Generator<Mutant> {
  const below = random(seed);
  const fields = given.flatMap((value, at) =>
    at < first ? [] : waysIn(value).map((way) => ({ at, way, values: shuffled(VALUES, below) })),
  );
  const changes = VALUES.flatMap((_, round) =>
    shuffled(fields, below).flatMap(({ at, way, values }) =>
      values.slice(round, round + 1).map((make) => ({ at, way, make })),
    ),
  );
  for (let number = 0; changes.length > 0; number = (number + 1) % changes.length) {
    const chosen = changes.slice(number, number + 1);
    if (below(4) === 0) chosen.push(...changes.slice(below(changes.length)).slice(0, 1));
    const values = [...given];
    const names = chosen.map(({ at, way, make }) => {
      const to = make();
      values[at] = changed(values[at], way, to);
      return `${at}.${way.join(".")} = ${to === undefined ? "missing" : written(to).slice(0, 40)}`;
    });
    yield { name: names.join(", "), values, at: chosen.at(-1)?.at ?? first };
  }
}

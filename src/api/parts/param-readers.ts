/** Parameters of tools as models write them. */

type Params = Readonly<Record<string, unknown>>;

interface ReadOptions {
  /** Throws when there is no value. */
  readonly required?: boolean;
  /** Name of the parameter in the error; the key when unset. */
  readonly label?: string;
}

/** Models write `snake_case` where `camelCase` was asked for. */
function valueOf(params: Params, key: string): unknown {
  if (Object.hasOwn(params, key)) return params[key];
  const snake = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(params, snake) ? params[snake] : undefined;
}

function orMissing<T>(
  value: T | undefined,
  key: string,
  { required = false, label = key }: ReadOptions,
): T | undefined {
  if (value === undefined && required) throw new Error(`${label} required`);
  return value;
}

/** A text, trimmed unless `trim` is false; undefined for an empty one unless `allowEmpty`. */
export function readStringParam(
  params: Params,
  key: string,
  options: ReadOptions & { readonly trim?: boolean; readonly allowEmpty?: boolean } = {},
): string | undefined {
  const raw = valueOf(params, key);
  const text = typeof raw === "string" && options.trim !== false ? raw.trim() : raw;
  const isUsable = typeof text === "string" && (text !== "" || options.allowEmpty === true);
  return orMissing(isUsable ? text : undefined, key, options);
}

/** A number, also one that was written as text; whole with `integer`. */
export function readNumberParam(
  params: Params,
  key: string,
  options: ReadOptions & { readonly integer?: boolean } = {},
): number | undefined {
  const raw = valueOf(params, key);
  const number = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
  const isUsable = typeof number === "number" && Number.isFinite(number);
  const whole = isUsable && options.integer === true ? Math.trunc(number) : number;
  return orMissing(isUsable && typeof whole === "number" ? whole : undefined, key, options);
}

/** Texts that are not empty; one text is a list of one. Undefined for an empty list. */
export function readStringArrayParam(params: Params, key: string, options: ReadOptions = {}): string[] | undefined {
  const raw = valueOf(params, key);
  const list: readonly unknown[] = Array.isArray(raw) ? raw : [raw];
  const texts = list.flatMap((item) => (typeof item === "string" && item.trim() !== "" ? [item.trim()] : []));
  return orMissing(texts.length > 0 ? texts : undefined, key, options);
}

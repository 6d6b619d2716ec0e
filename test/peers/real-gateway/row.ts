/** One request of the list. It is only data, so that both gateways get the same. */
export interface Row {
  readonly method: string;
  /** Distinguishes the rows of one method. */
  readonly about?: string;
  /** A text `{name:path}` in it is replaced by a value of an earlier answer: of the row with that name, at that path. */
  readonly params?: Params;
  /**
   * What happens before the next row is sent: the run that the request starts ends; a second answer comes; nothing beside the answer.
   * When unset, no frame comes for a while.
   */
  readonly until?: "run" | "second answer" | "answer";
}

export type Params = { readonly [key: string]: Param };
type Param = string | number | boolean | null | readonly Param[] | Params;

/** The answers of earlier rows, by the names of the rows. */
export type Answers = ReadonlyMap<string, unknown>;

export const nameOf = ({ method, about }: Row): string => (about === undefined ? method : `${method} (${about})`);

/** Stands for a value that an earlier answer does not have: the gateway refused that request, or answered in another shape. */
export const ABSENT = "absent";

const REFERENCE = /^\{([^:{}]+):([^{}]+)\}$/;

/** The params with the values of earlier answers in them. */
export function fill(params: Param, answers: Answers): unknown {
  if (typeof params === "string") return fillText(params, answers);
  if (Array.isArray(params)) return params.map((item: Param) => fill(item, answers));
  if (typeof params !== "object" || params === null) return params;
  return Object.fromEntries(Object.entries(params).map(([key, value]: [string, Param]) => [key, fill(value, answers)]));
}

function fillText(text: string, answers: Answers): unknown {
  const [, name, path] = REFERENCE.exec(text) ?? [];
  if (name === undefined || path === undefined) return text;
  let value: unknown = answers.get(name);
  for (const key of path.split(".")) value = isRecord(value) ? value[key] : undefined;
  return value ?? ABSENT;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

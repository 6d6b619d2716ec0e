import { OpenClawError, type ErrorCode } from "../../../types/errors.ts";

export type KeyPath = readonly (string | number)[];

/** A remark about one key for a person; contains no value of the file. */
export interface ConfigNote {
  /** The key as a person writes it: `agents.list[0].model`. */
  readonly key: string;
  readonly message: string;
  /** Line from 1; unset when the place is not in the file. */
  readonly line?: number;
  readonly column?: number;
  /** The whole note in one line: `openclaw.json:12: gateway.prt: …`. */
  readonly text: string;
  /** True when the key prevents an agent or a channel from starting. */
  readonly isStop?: true;
}

/** A note before its place in the file is known. `at: "name"` points to the key, else to its value. */
export interface RawNote {
  readonly path: KeyPath;
  readonly message: string;
  readonly at?: "name";
  readonly code?: "SECRET_MISSING";
  /** What to do, as a sentence; that of the whole error when unset. */
  readonly fix?: string;
  readonly isStop?: true;
}

/** The config as a whole cannot be used, because of its `problems`. */
export class ConfigError extends OpenClawError {
  readonly problems: readonly ConfigNote[];

  constructor(
    code: ErrorCode,
    problem: { message: string; fix: string; cause?: unknown; problems?: readonly ConfigNote[] },
  ) {
    super(code, problem);
    this.problems = problem.problems ?? [];
  }
}

/** A path as text: `["agents", "list", 0, "id"]` as `agents.list[0].id`; other names in brackets and quotes. */
export function showPath(path: KeyPath): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === "number") return `${text}[${segment}]`;
    if (!/^[\w$-]+$/.test(segment)) return `${text}[${JSON.stringify(segment)}]`;
    return text === "" ? segment : `${text}.${segment}`;
  }, "");
}

/** The reverse of `showPath`; `agents.list.0.id` works too. Throws `USAGE` on text that is no path. */
export function readPath(text: string): KeyPath {
  const path: (string | number)[] = [];
  const part = /\.?([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  while (part.lastIndex < text.length) {
    const found = part.exec(text);
    if (!found)
      throw new OpenClawError("USAGE", {
        message: `"${text}" is no key path.`,
        fix: "Write it as gateway.port or agents.list[0].id.",
      });
    path.push(segmentOf(found));
  }
  return path;
}

function segmentOf(found: RegExpExecArray): string | number {
  const [, name, index, quoted] = found;
  if (quoted !== undefined) return String(JSON.parse(quoted));
  return index === undefined ? (name ?? "") : Number(index);
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.getPrototypeOf(value) === Object.prototype;

/** The value at a path of plain data, or undefined. */
export function valueAt(root: unknown, path: KeyPath): unknown {
  let node = root;
  for (const segment of path) {
    if (Array.isArray(node)) node = node[Number(segment)];
    else if (isRecord(node) && Object.hasOwn(node, segment)) node = node[segment];
    else return undefined;
  }
  return node;
}

/** The paths of plain data that a key has; `*` as a part of it stands for any name or index. */
export function pathsLike(value: unknown, [first, ...rest]: readonly string[], path: KeyPath = []): readonly KeyPath[] {
  if (first === undefined) return [path];
  if (Array.isArray(value))
    return first === "*" ? value.flatMap((item: unknown, at) => pathsLike(item, rest, [...path, at])) : [];
  if (!isRecord(value)) return [];
  const names = first === "*" ? Object.keys(value) : [first].filter((name) => Object.hasOwn(value, name));
  return names.flatMap((name) => pathsLike(valueAt(value, [name]), rest, [...path, name]));
}

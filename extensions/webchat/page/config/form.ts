import { list, fields, readJsonText, stringOr } from "../model/json.ts";
import { changesBetween, rebased, keyValue, withoutKey, withValue, type KeyChange } from "./draft.ts";
import type { ConfigPath } from "./shape.ts";

/** What a person typed into the field of a key, where the value alone does not show it. */
export interface Typed {
  readonly text: string;
  /** Why it cannot be the value; the draft then keeps the value before. */
  readonly problem?: string | undefined;
}

/** The config as the gateway gave it. */
export interface ReadConfig {
  readonly value: unknown;
  readonly hash: string;
}

/** The form: the config that was read, the draft, and what belongs to single keys, by `keyOf` their paths. */
export interface FormState {
  readonly base: unknown;
  readonly hash: string;
  readonly draft: unknown;
  readonly typed: ReadonlyMap<string, Typed>;
  /** Why the gateway refused the draft. */
  readonly issues: ReadonlyMap<string, string>;
  /** Changed keys that somebody else changed meanwhile. */
  readonly clashes: ReadonlyMap<string, KeyChange>;
}

/** The path in the form in which the gateway names it. */
export const keyOf = (path: ConfigPath): string => path.join(".");

/** The path of a key as the gateway writes it for people, such as `agents.list[0].tools.deny`; empty when it is none. */
export function pathOfKey(key: string): ConfigPath {
  const parts = [...key.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]"]+)/g)];
  return parts.map(([, index, quoted, name = ""]) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? name : stringOr(readJsonText(quoted));
  });
}

const NOTHING = {
  typed: new Map<string, Typed>(),
  issues: new Map<string, string>(),
  clashes: new Map<string, KeyChange>(),
};

export const begun = ({ value, hash }: ReadConfig): FormState => ({ base: value, draft: value, hash, ...NOTHING });

/** Sets the value of a key; `undefined` takes it out. */
export function withTyped(state: FormState, path: ConfigPath, value: unknown, typed?: Typed): FormState {
  const key = keyOf(path);
  const draft = value === undefined ? withoutKey(state.draft, path, state.base) : withValue(state.draft, path, value);
  // What was typed below this key belongs to another value now.
  const others = [...state.typed].filter(([one]) => !isWithin(one, key));
  return {
    ...state,
    draft,
    typed: new Map(typed === undefined ? others : [...others, [key, typed]]),
    issues: new Map([...state.issues].filter(([one]) => one !== key)),
  };
}

/** Keeps a text that cannot be the value of its key. */
export function withProblem(state: FormState, path: ConfigPath, typed: Typed): FormState {
  return { ...state, typed: new Map(state.typed).set(keyOf(path), typed) };
}

/** The value of a key as it is in the file. */
export const undone = (state: FormState, path: ConfigPath): FormState =>
  withTyped(state, path, keyValue(state.base, path));

/** Makes the draft one of the config as it is now; what was typed stays. */
export function reloaded(state: FormState, { value, hash }: ReadConfig): FormState {
  if (hash === state.hash) return state;
  const { draft, clashes } = rebased(state.base, state.draft, value);
  const changes = changesBetween(value, draft);
  const all = [...state.clashes.values(), ...clashes].filter(({ path }) => changes.some(isAt(path)));
  const isKept = ([key, { problem }]: readonly [string, Typed]): boolean =>
    problem !== undefined || changes.some(({ path }) => isWithin(keyOf(path), key));
  return {
    ...state,
    base: value,
    hash,
    draft,
    typed: new Map([...state.typed].filter(isKept)),
    clashes: new Map(all.map((clash) => [keyOf(clash.path), clash])),
  };
}

const isWithin = (key: string, above: string): boolean => key === above || key.startsWith(`${above}.`);

const isAt =
  (path: ConfigPath) =>
  (change: KeyChange): boolean =>
    isWithin(keyOf(change.path), keyOf(path));

/** The problems that the gateway names in the details of a refusal, by key. */
export function keyIssues(details: unknown): ReadonlyMap<string, string> {
  const issues = list(fields(details)["issues"]).map((one) => {
    const { path, message } = fields(one);
    return [stringOr(path), stringOr(message)] as const;
  });
  return new Map(issues);
}

/** The form with the problems of a refusal at their keys. */
export const refused = (state: FormState, details: unknown): FormState => ({ ...state, issues: keyIssues(details) });

/** The texts that cannot be values, with their keys. */
export const problemsIn = ({ typed }: FormState): readonly (readonly [key: string, problem: string])[] =>
  [...typed].flatMap(([key, { problem }]) => (problem === undefined ? [] : [[key, problem] as const]));

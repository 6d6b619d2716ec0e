import type { Answers } from "openclaw/plugin-sdk/answers";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { changesBetween, patchBetween, keyValue, type KeyChange } from "../../config/draft.ts";
import {
  begun,
  keyOf,
  problemsIn,
  refused,
  reloaded,
  undone,
  withProblem,
  withTyped,
  type FormState,
  type Typed,
} from "../../config/form.ts";
import { keyAt, type ConfigPath, type SchemaNode } from "../../config/shape.ts";
import { refusalBehind } from "../../model/connection.ts";
import { isRecord } from "../../model/json.ts";
import { useAnswer, type Read, type ViewProps } from "./view-parts.tsx";
import { t } from "../../words/words.ts";

/** What the fields of the form read and do. */
export interface ConfigForm {
  readonly schema: SchemaNode;
  readonly state: FormState;
  readonly changes: readonly KeyChange[];
  /** Texts in fields that cannot be values, by key. */
  readonly problems: readonly (readonly [key: string, problem: string])[];
  /** The key that the address names; its groups are open, and it has the focus. */
  readonly sought?: ConfigPath;
  readonly valueOf: (path: ConfigPath) => unknown;
  readonly isSecret: (path: ConfigPath) => boolean;
  readonly isChanged: (path: ConfigPath) => boolean;
  readonly set: (path: ConfigPath, value: unknown, typed?: Typed) => void;
  readonly setProblem: (path: ConfigPath, typed: Typed) => void;
  readonly undo: (path: ConfigPath) => void;
}

/** The config as it is read, the form about it, and its saving. */
export interface ReadForm {
  readonly config: Read<Answers["config.get"]>;
  readonly problem: string | undefined;
  readonly form: ConfigForm | undefined;
  readonly discard: () => void;
  readonly save: () => Promise<Saved>;
}

/** Whether the config was written, and whether a key of it waits for a restart. */
export type Saved = { readonly restart: boolean } | { readonly problem: string };

const CHANGED = { changedBy: ["config.changed"] };

export function useConfig(view: ViewProps): ReadForm {
  const config = useAnswer(view, { method: "config.get", ...CHANGED });
  const schema = useAnswer(view, { method: "config.schema" });
  const [state, setState] = useState<FormState>();
  const { answer } = config;
  useEffect(() => {
    if (!answer) return;
    const read = readOf(answer);
    setState((before) => (before ? reloaded(before, read) : begun(read)));
  }, [answer]);
  const form = useForm(schema.answer, state, setState);
  const discard = (): void => setState((before) => before && begun({ value: before.base, hash: before.hash }));
  const save = async (): Promise<Saved> => {
    if (!state || !isRecord(state.draft)) return { problem: t("The config has not been read yet.") };
    try {
      const patch = patchBetween(state.base, state.draft);
      const written = await view.chat.ask("config.patch", { patch, baseHash: state.hash });
      setState(begun({ value: written.config, hash: written.hash }));
      return { restart: written.sentinel?.payload.stats.requiresRestart === true };
    } catch (error) {
      const refusal = refusalBehind(error);
      setState((before) => before && refused(before, refusal?.details));
      if (refusal?.detail !== "CONFIG_CHANGED") return { problem: error instanceof Error ? error.message : "" };
      config.again();
      return { problem: t("The file changed meanwhile. Your changes are kept: look at them again, then save.") };
    }
  };
  return { config, problem: schema.problem, form, discard, save };
}

const readOf = ({ parsed, hash }: Answers["config.get"]) => ({ value: isRecord(parsed) ? parsed : {}, hash });

type SetState = (change: (before: FormState | undefined) => FormState | undefined) => void;

function useForm(
  answer: Answers["config.schema"] | undefined,
  state: FormState | undefined,
  setState: SetState,
): ConfigForm | undefined {
  const changes = useMemo(() => (state ? changesBetween(state.base, state.draft) : []), [state?.base, state?.draft]);
  const changed = useMemo(() => new Set(changes.flatMap(({ path }) => prefixes(path))), [changes]);
  const act = useCallback(
    <Rest extends readonly unknown[]>(change: (before: FormState, ...rest: Rest) => FormState) =>
      (...rest: Rest): void =>
        setState((before) => before && change(before, ...rest)),
    [setState],
  );
  return useMemo(() => {
    const schema = answer?.schema;
    if (!state || !answer || !isRecord(schema)) return undefined;
    const { uiHints } = answer;
    return {
      schema,
      state,
      changes,
      problems: problemsIn(state),
      valueOf: (path: ConfigPath) => keyValue(state.draft, path),
      isSecret: (path: ConfigPath) => uiHints[keyAt(schema, path).pattern]?.sensitive === true,
      isChanged: (path: ConfigPath) => changed.has(keyOf(path)),
      set: act(withTyped),
      setProblem: act(withProblem),
      undo: act(undone),
    };
  }, [answer, state, changes, changed, act]);
}

const prefixes = (path: ConfigPath): readonly string[] => path.map((_name, at) => keyOf(path.slice(0, at + 1)));

interface Saving {
  readonly isBusy: boolean;
  readonly problem?: string;
  /** The last write, until the next change is looked at. */
  readonly saved?: { readonly restart: boolean };
}

/** Runs a write of the config and keeps its outcome; `done` is called after one that succeeded. */
export function useSaving(save: () => Promise<Saved>, done: () => void) {
  const [saving, setSaving] = useState<Saving>({ isBusy: false });
  const begin = async (): Promise<void> => {
    setSaving({ isBusy: true });
    const outcome = await save();
    if ("problem" in outcome) return setSaving({ isBusy: false, problem: outcome.problem });
    setSaving({ isBusy: false, saved: outcome });
    done();
  };
  return { ...saving, save: () => void begin(), forget: () => setSaving({ isBusy: false }) };
}

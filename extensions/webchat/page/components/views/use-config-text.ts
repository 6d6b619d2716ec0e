import type { Answers } from "openclaw/plugin-sdk/answers";
import { useEffect, useMemo, useState } from "preact/hooks";
import { changesBetween, type KeyChange } from "../../config/draft.ts";
import { keyIssues } from "../../config/form.ts";
import { readText, type TextProblem } from "../../config/text.ts";
import { refusalBehind } from "../../model/connection.ts";
import type { Read, ViewProps } from "./view-parts.tsx";
import type { Saved } from "./use-config.ts";

interface TextState {
  readonly hash: string;
  /** The text of the file, and what the person made of it. */
  readonly base: string;
  readonly text: string;
  /** The file as somebody else wrote it meanwhile. */
  readonly newer?: { readonly text: string; readonly hash: string } | undefined;
  /** Why the gateway refused the text, by key. */
  readonly issues: ReadonlyMap<string, string>;
}

/** The text of the config file, as a person edits it. */
export interface ConfigText {
  readonly text: string;
  readonly isChanged: boolean;
  /** Where the text is no JSON5. */
  readonly problem: TextProblem | undefined;
  readonly issues: ReadonlyMap<string, string>;
  readonly changes: readonly KeyChange[];
  /** The keys that somebody else changed meanwhile; undefined where nobody did. */
  readonly meanwhile: readonly KeyChange[] | undefined;
  readonly write: (text: string) => void;
  /** Takes the text of the file. */
  readonly discard: () => void;
  /** Keeps the own text in place of what somebody else wrote. */
  readonly keep: () => void;
  readonly save: () => Promise<Saved>;
}

const NO_ISSUES: ReadonlyMap<string, string> = new Map();

/** Undefined until the file was read, and where the gateway does not show its text. */
export function useConfigText(view: ViewProps, config: Read<Answers["config.get"]>): ConfigText | undefined {
  const [state, setState] = useState<TextState>();
  const { answer } = config;
  useEffect(() => {
    if (answer) setState((before) => afterRead(before, answer));
  }, [answer]);
  const { base = "", text = "", newer } = state ?? {};
  const read = useMemo(() => readText(text), [text]);
  const changes = useMemo(() => changesOf(base, text), [base, text]);
  const meanwhile = useMemo(() => newer && changesOf(base, newer.text), [base, newer]);
  if (!state || answer?.raw === null) return undefined;
  const change = (next: Partial<TextState>): void => setState((before) => before && { ...before, ...next });
  const save = async (): Promise<Saved> => {
    try {
      const { hash, sentinel } = await view.chat.ask("config.apply", { raw: text, baseHash: state.hash });
      change({ hash, base: text, issues: NO_ISSUES });
      config.again();
      return { restart: sentinel.payload.stats.requiresRestart };
    } catch (error) {
      const refusal = refusalBehind(error);
      change({ issues: keyIssues(refusal?.details) });
      if (refusal?.detail === "CONFIG_CHANGED") config.again();
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  };
  return {
    text,
    isChanged: text !== base,
    problem: "problem" in read ? read.problem : undefined,
    issues: state.issues,
    changes,
    meanwhile,
    write: (next) => change({ text: next, issues: NO_ISSUES }),
    discard: () =>
      change({
        ...newer,
        base: newer?.text ?? base,
        text: newer?.text ?? base,
        newer: undefined,
        issues: NO_ISSUES,
      }),
    keep: () => newer && change({ base: newer.text, hash: newer.hash, newer: undefined }),
    save,
  };
}

function afterRead(before: TextState | undefined, { raw, hash }: Answers["config.get"]): TextState {
  const text = raw ?? "";
  if (before === undefined || before.text === before.base) return { base: text, text, hash, issues: NO_ISSUES };
  if (hash === before.hash) return { ...before, newer: undefined };
  return { ...before, newer: { text, hash } };
}

/** The keys that differ between two texts; none where one is no JSON5. */
function changesOf(before: string, after: string): readonly KeyChange[] {
  const [from, to] = [readText(before), readText(after)];
  if (!("value" in to)) return [];
  return changesBetween("value" in from ? from.value : {}, to.value);
}

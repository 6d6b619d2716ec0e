import { useEffect, useState } from "preact/hooks";
import { completionsAt, isTyped, type CommandRow, type Completion, type Completions } from "../../model/commands.ts";

/** Effect of a key on the list of completions. */
export type KeyEffect =
  | { readonly kind: "none" | "moved" | "closed" }
  | { readonly kind: "chosen"; readonly item: Completion };

/** The completions of a draft, as a list from which the keyboard chooses. */
export interface Completing {
  /** The list, while it is open. */
  readonly found: Completions | undefined;
  /** Position of the item that Enter inserts; -1 for none. */
  readonly active: number;
  readonly activate: (index: number) => void;
  readonly press: (key: string) => KeyEffect;
}

const NOTHING: KeyEffect = { kind: "none" };

/** Keeps the list of completions of a draft; `cursor` is undefined while nothing may be offered. */
export function useCompletion(draft: string, cursor: number | undefined, commands: readonly CommandRow[]): Completing {
  const [chosen, setChosen] = useState({ place: "", index: 0 });
  const [closedAt, setClosedAt] = useState("");
  useEffect(() => {
    if (draft === "") setClosedAt("");
  }, [draft]);
  const all = cursor === undefined ? undefined : completionsAt(draft, cursor, commands);
  const word = `${all?.kind} ${all?.from}`;
  const found = word === closedAt ? undefined : all;
  const place = `${word} ${all?.typed}`;
  const first = firstOf(found);
  const active = chosen.place === place ? chosen.index : first;
  const activate = (index: number): void => setChosen({ place, index });
  const press = (key: string): KeyEffect => {
    if (found === undefined) return NOTHING;
    if (key === "Escape") return (setClosedAt(word), { kind: "closed" });
    if (key === "ArrowDown") return (activate((active + 1) % found.items.length), { kind: "moved" });
    if (key === "ArrowUp") return (activate((active <= 0 ? found.items.length : active) - 1), { kind: "moved" });
    const item = itemFor(key, active, found);
    return item === undefined ? NOTHING : { kind: "chosen", item };
  };
  return { found, active, activate, press };
}

/**
 * Index of the first choice. Nothing is chosen before a person has begun to write a word: Enter then sends the command
 * as it is.
 */
const firstOf = (found: Completions | undefined): number => (found?.kind === "choice" && found.typed === "" ? -1 : 0);

/** Enter sends a word that is written in full; Tab adds what may follow it. */
function itemFor(key: string, active: number, found: Completions): Completion | undefined {
  if (key === "Tab") return found.items[Math.max(active, 0)];
  const item = key === "Enter" ? found.items[active] : undefined;
  return item !== undefined && isTyped(found, item) ? undefined : item;
}

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { loadPart } from "../../browser/parts.ts";

/** The time in milliseconds since 1970, updated at the given interval while it is enabled. */
export function useNow(interval: number, wanted = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!wanted) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval, wanted]);
  return now;
}

/** Whether the window is so narrow that the session list is a drawer. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia("(max-width: 760px)").matches);
  useEffect(() => {
    const query = matchMedia("(max-width: 760px)");
    const changed = (): void => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

/** A part of the page whose code is loaded when it is wanted first. The page tells when that fails; `failed` is called after that. */
export function useLoaded<Part>(isWanted: boolean, load: () => Promise<Part>, failed?: () => void): Part | undefined {
  const [loaded, setLoaded] = useState<{ readonly part: Part }>();
  useEffect(() => {
    return isWanted && loaded === undefined ? loadPart(load, (part) => setLoaded({ part }), failed) : undefined;
  }, [isWanted, loaded]);
  return loaded?.part;
}

/** Acts at Ctrl+Shift and a letter (on a Mac also ⌘+Shift), unless a dialog waits for an answer. */
export function useShiftKey(letter: string, act: () => unknown): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const isMeant = (event.ctrlKey || event.metaKey) && event.shiftKey && !event.altKey && !event.repeat;
      if (!isMeant || event.key.toLowerCase() !== letter || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [letter]);
}

/** Gives the node with which the same thing was drawn before, until one of `deps` changes: Preact passes over such a node. */
export function useKnownNodes<Thing extends object>(deps: readonly unknown[]): (thing: Thing, node: VNode) => VNode {
  const nodes = useMemo(() => new WeakMap<Thing, VNode>(), deps);
  return (thing, node) => {
    const known = nodes.get(thing);
    if (known !== undefined && known.key === node.key) return known;
    nodes.set(thing, node);
    return node;
  };
}

/** Scrolls the conversation, and nothing around it, so that the place is in its middle. */
export function showInLog(place: Element): void {
  const log = place.closest(".log");
  const { top, height } = log?.getBoundingClientRect() ?? { top: 0, height: 0 };
  const at = place.getBoundingClientRect();
  log?.scrollBy({ top: at.top + at.height / 2 - top - height / 2 });
}

/** Moves the focus to an element when it appears (in a form, to its first field), and back when it disappears. */
export function useFocus(to: { readonly current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    const field = to.current?.querySelector<HTMLElement>("select, input");
    (field ?? to.current)?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [to]);
}

/** Keeps the page when a file is dropped beside the composer: the browser would open the file in its place. */
export function useFileDropsIgnored(): void {
  useEffect(() => {
    const keep = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault();
    };
    window.addEventListener("dragover", keep);
    window.addEventListener("drop", keep);
    return () => {
      window.removeEventListener("dragover", keep);
      window.removeEventListener("drop", keep);
    };
  }, []);
}

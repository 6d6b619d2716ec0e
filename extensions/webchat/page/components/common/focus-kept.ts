import { useEffect } from "preact/hooks";

/** What the Tab key reaches. */
const REACHED = [
  ...["button", "input", "select", "textarea"].map((name) => `${name}:not(:disabled)`),
  "a[href]",
  "summary",
  '[tabindex="0"]',
].join();

/** Milliseconds to wait for a disabled element to be enabled again before the focus moves. */
const BUSY_MS = 1500;

/** An element above the focus, and the place of the focus among its children. */
interface Step {
  readonly element: Element;
  readonly at: number;
}

/**
 * Keeps the focus where the person is when the element that has it disappears or is disabled by what was done: on the same element
 * once it is enabled, else on what has taken its place, else on what is next to it. A person who leaves all elements alone, by a
 * click beside them, is left alone.
 */
export function useFocusKept(): void {
  useEffect(() => {
    let steps: readonly Step[] = [];
    let timer = 0;
    const remember = ({ target }: FocusEvent): void => {
      clearTimeout(timer);
      steps = target instanceof Element ? stepsTo(target) : [];
    };
    const leave = (): void => {
      steps = [];
    };
    const mend = (isLate: boolean): void => {
      const [last] = steps;
      if (last === undefined || !isLost()) return;
      const { element } = last;
      if (isReached(element)) return element.focus();
      if (!isLate && element.isConnected && element.matches(":disabled")) {
        clearTimeout(timer);
        timer = window.setTimeout(() => mend(true), BUSY_MS);
        return;
      }
      nearest(steps)?.focus();
    };
    // The page draws several changes one after the other.
    const changed = (): void => {
      if (steps.length > 0 && isLost()) queueMicrotask(() => mend(false));
    };
    const watcher = new MutationObserver(changed);
    watcher.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled", "hidden"] });
    document.addEventListener("focusin", remember);
    document.addEventListener("pointerdown", leave);
    return () => {
      clearTimeout(timer);
      watcher.disconnect();
      document.removeEventListener("focusin", remember);
      document.removeEventListener("pointerdown", leave);
    };
  }, []);
}

const isLost = (): boolean => {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || !isShown(activeElement);
};

const isShown = (element: Element): boolean => element.isConnected && element.getClientRects().length > 0;

const isReached = (element: Element): element is HTMLElement =>
  element instanceof HTMLElement && isShown(element) && (element.matches(REACHED) || element.tabIndex >= 0);

function stepsTo(target: Element): readonly Step[] {
  const steps: Step[] = [{ element: target, at: 0 }];
  for (let child = target; child.parentElement !== null; child = child.parentElement) {
    steps.push({ element: child.parentElement, at: [...child.parentElement.children].indexOf(child) });
  }
  return steps;
}

/** Looks in the nearest ancestor that is still in the page: the element now at that place, else the next one, else the one before. */
function nearest(steps: readonly Step[]): HTMLElement | undefined {
  for (const { element, at } of steps.slice(1)) {
    if (!element.isConnected) continue;
    const children = [...element.children];
    const near = [...children.slice(Math.max(at, 0)), ...children.slice(0, Math.max(at, 0)).toReversed()];
    const found = near.flatMap((child) => [child, ...child.querySelectorAll(REACHED)]).find(isOwnStop);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isOwnStop = (element: Element): element is HTMLElement => element.matches(REACHED) && isReached(element);

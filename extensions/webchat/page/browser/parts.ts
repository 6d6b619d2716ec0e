/** Why the page is not whole: it is older than its gateway, or lacks its texts or another part. */
export type Lack = "newer" | "texts" | "part";

/** The first of them is told: a reload ends the others too. */
const ORDER: readonly Lack[] = ["newer", "texts", "part"];
const lacks = new Set<Lack>();
const listeners = new Set<(lack: Lack | undefined) => void>();
/** What could not be loaded and is still wanted. */
const waiting = new Set<() => void>();

/** Calls back with what the page lacks, now and after each change. */
export function onLack(heard: (lack: Lack | undefined) => void): void {
  listeners.add(heard);
  heard(ORDER.find((one) => lacks.has(one)));
}

/** Tells the person what the page lacks, or that it does not any more. */
export function tellLack(lack: Lack, isLacking = true): void {
  if (isLacking) lacks.add(lack);
  else lacks.delete(lack);
  const told = ORDER.find((one) => lacks.has(one));
  for (const heard of listeners) heard(told);
}

/**
 * Loads code of the page and hands it over; when that fails, also after `loadAgain`. `failed` is called after each failure, of which
 * the person is told here. Returns what ends it.
 */
export function loadPart<Part>(
  load: () => Promise<Part>,
  loaded: (part: Part) => void,
  failed?: () => void,
): () => void {
  let isWanted = true;
  const attempt = (): void => {
    load().then(
      (part) => {
        if (isWanted) loaded(part);
      },
      (error: unknown) => {
        if (!isWanted) return;
        console.warn("a part of the page could not be loaded", error);
        waiting.add(attempt);
        tellLack("part");
        failed?.();
      },
    );
  };
  attempt();
  return () => {
    isWanted = false;
    waiting.delete(attempt);
  };
}

/** Loads what could not be loaded before. */
export function loadAgain(): void {
  tellLack("part", false);
  const attempts = [...waiting];
  waiting.clear();
  for (const attempt of attempts) attempt();
}

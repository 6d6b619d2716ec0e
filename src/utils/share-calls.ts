/** Calls of the same name share the result of the one that is running. */
export function shareCalls<T>(): (name: string, call: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return (name, call) => {
    const known = running.get(name);
    if (known) return known;
    const begun = call().finally(() => running.delete(name));
    running.set(name, begun);
    return begun;
  };
}

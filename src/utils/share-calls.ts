/** Calls of the same name share the result of the call that is running. */
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

/** The same function, but called once for each object: later calls return the first result. */
export function once<K extends WeakKey, V>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const found = known.get(key);
    if (found) return found.value;
    const value = make(key);
    known.set(key, { value });
    return value;
  };
}

/** The same function, but called again only when one of its arguments has changed. */
export function whenChanged<A extends readonly unknown[], V>(make: (...given: A) => V): (...given: A) => V {
  let last: { readonly given: A; readonly value: V } | undefined;
  return (...given) => {
    if (last?.given.every((one, at) => Object.is(one, given[at])) === true) return last.value;
    const value = make(...given);
    last = { given, value };
    return value;
  };
}

/** The same function, but called once: later calls return the first result. After a failure the next call tries again. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

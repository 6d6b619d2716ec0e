/** `openclaw/plugin-sdk/runtime-store`. */

/** Keeps the runtime that a plugin got at its registration, for its other modules. `getRuntime` throws `message` before that. */
export function createPluginRuntimeStore<T>(message: string | { readonly errorMessage?: string }) {
  const text = typeof message === "string" ? message : (message.errorMessage ?? "the plugin is not registered yet");
  let runtime: T | undefined;
  return {
    setRuntime(next: T): void {
      runtime = next;
    },
    clearRuntime(): void {
      runtime = undefined;
    },
    tryGetRuntime: (): T | null => runtime ?? null,
    getRuntime(): T {
      if (runtime === undefined) throw new Error(text);
      return runtime;
    },
  };
}

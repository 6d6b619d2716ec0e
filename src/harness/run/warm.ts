let loading: ReturnType<typeof load> | undefined;

/**
 * The agent SDK. It is loaded before the first run, which would otherwise wait for it, and kept: Node takes some time to look up
 * a module that it has loaded already.
 */
export function loadAgentSdk(): ReturnType<typeof load> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

const load = () => import("@mariozechner/pi-agent-core");

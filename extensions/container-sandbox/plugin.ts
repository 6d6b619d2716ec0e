import type { Contributor, EnginePlace } from "openclaw/plugin-sdk";

/** Registers docker and podman as backends of the sandbox. Their code is loaded when the config names one. */
export const contributor: Contributor = {
  id: "container-sandbox",
  register(registry) {
    for (const backend of ["docker", "podman"] as const) {
      const open = async (place: EnginePlace) => (await import("./engine.ts")).openContainerEngine(backend, place);
      registry.addSandboxEngine({ backend, open });
    }
  },
};

import { loadOnce } from "../../utils/share-calls.ts";

/**
 * The agent SDK. It is loaded before the first run, which would otherwise wait for it, and kept: Node takes some time to look up
 * a module that it has loaded already.
 */
export const loadAgentSdk = loadOnce(() => import("@mariozechner/pi-agent-core"));

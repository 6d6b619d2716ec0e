import type { Reports } from "../../server/options.ts";
import { healthOf, readyOf } from "./health.ts";
import { tailLogs } from "./methods/log-tail.ts";
import { metricsText } from "./metrics.ts";
import type { Parts } from "./parts.ts";
import { statusOf } from "./status.ts";

/** What this gateway reports about itself through the server. */
export const reportsOf = (parts: Parts): Reports => ({
  status: () => statusOf(parts),
  health: () => healthOf(parts),
  ready: () => readyOf(parts),
  snapshot: () => ({ stateDir: parts.live.paths.stateDir }),
  metrics: () => metricsText(parts),
  tailLogs: (request) => tailLogs(parts.log.file(), request),
});

import type { Row } from "../row.ts";
import { agentRows } from "./agents.ts";
import { chatRows } from "./chat.ts";
import { configRows } from "./config.ts";
import { cronRows } from "./cron.ts";
import { machineRows } from "./machine.ts";
import { sessionRows } from "./sessions.ts";

/** The list of requests in the order in which they are sent: the last ones change the config. */
export const ROWS: readonly Row[] = [
  ...chatRows,
  ...sessionRows,
  ...agentRows,
  ...cronRows,
  ...machineRows,
  ...configRows,
];

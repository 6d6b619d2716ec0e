import JSON5 from "json5";
import type { DispatchPorts } from "../../dispatch/ports.ts";
import { isRestartOf, noteRestart } from "../../dispatch/resume/restart-notice.ts";
import { OpenClawError, withFix } from "../../types/errors.ts";
import type { ConfigEdit, GatewayActs } from "../../types/gateway-acts.ts";
import { patchLeaves, wholeLeaves } from "../config/edit/patch.ts";
import { writeConfigValues } from "../config/edit/write.ts";
import { schemaKeys, schemaKeysBelow } from "../config/keys/schema-keys.ts";
import { isRecord, readPath, valueAt, type KeyPath } from "../config/schema/problem.ts";
import { shownConfig } from "../config/shown.ts";
import { requireSlots } from "../plugins/select.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";
import type { Live } from "../live.ts";

/** Acts of the tool `gateway`. They call `ports` when they are used, not before. */
export function gatewayActs(live: Live, ports: () => DispatchPorts): GatewayActs {
  return {
    config: async (path) => explained(async () => configAt(live, readPath(path))),
    schema: async (path) => explained(async () => schemaAt(readPath(path))),
    edits: async (text, { whole }) => editsIn(text, whole, live),
    async write(edits, baseHash) {
      const done = await explained(async () => {
        await requireSlots(live, edits);
        await writeConfigValues(await loadOptionsFor(live.contributions, live.paths), edits, baseHash);
        return {};
      });
      return typeof done === "string" ? done : undefined;
    },
    restart: (asked) => restart(asked, ports()),
  };
}

/** Runs the work. An error that the operator or the model must mend comes back as a sentence; others are thrown. */
async function explained<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OpenClawError) return withFix(error);
    throw error;
  }
}

function configAt(live: Live, path: KeyPath) {
  const value = shownConfig(valueAt(live.config, path), path);
  return value === undefined ? "There is no value at this path." : { hash: live.loaded.hash, value };
}

function schemaAt(path: KeyPath): Readonly<Record<string, unknown>> | string {
  const below = schemaKeysBelow(path);
  if (path.length === 0) return { keys: below };
  const names = path.map(String);
  const found = schemaKeys().find(
    (key) => key.path.length === names.length && key.path.every((name, index) => fits(name, names[index])),
  );
  if (!found) return "The schema has no key at this path.";
  const { properties: _below, ...node } = found.node;
  return { ...node, ...(below.length > 0 && { keys: below }) };
}

const fits = (name: string, segment: string | undefined): boolean =>
  name === segment || name === "*" || (name === "[]" && segment !== undefined && /^\d+$/.test(segment));

function editsIn(text: string, whole: boolean, live: Live): readonly ConfigEdit[] | string {
  const read = parsed(text);
  if (!isRecord(read)) return "`raw` is not a JSON object.";
  return whole ? wholeLeaves(live.config, read) : patchLeaves(live.config, read);
}

function parsed(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    // The caller refuses everything but an object.
    return undefined;
  }
}

const NOTE = "The gateway restarted, as you asked.";

async function restart(
  { runId, sessionKey, note, delayMs }: Parameters<GatewayActs["restart"]>[0],
  { program: { desks }, storage: { journal }, clock }: DispatchPorts,
): Promise<string | undefined> {
  const desk = desks.get("restart");
  if (!desk) return "this process is no daemon.";
  const rows = await journal.inbox.ofRun(runId);
  for (const { message } of rows)
    if (await isRestartOf(message, journal.values)) return "it was restarted for this message already.";
  const why = await desk.whyNot();
  if (why !== undefined) return why;
  const at = clock.now();
  for (const { message } of rows) await noteRestart({ message, key: sessionKey, at }, journal.values);
  await journal.events.add(sessionKey, note === undefined ? NOTE : `${NOTE} ${note}`);
  if (delayMs === 0) desk.begin();
  else clock.after(delayMs, () => desk.begin());
  return undefined;
}

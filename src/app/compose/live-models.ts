import { join } from "node:path";
import { Credentials } from "../../providers/auth/credentials.ts";
import { openCooldowns } from "../../providers/auth/cooldowns-file.ts";
import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import { providerAbsence } from "../../plugins/found/provider-absence.ts";
import { Reservations } from "../../providers/call/reservations.ts";
import { SeenWindows } from "../../providers/call/windows.ts";
import { createModels, type Models } from "../../providers/catalog.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { SpendLedger } from "../../types/spend/ledger.ts";
import { openBudgets, type OpenBudgets } from "../../providers/budget/budgets.ts";
import type { Live } from "./live.ts";

export interface LiveModels extends Models {
  readonly budgets: OpenBudgets;
  /** What the last answers told of the limits of their keys. */
  readonly windows: SeenWindows;
  /** Settles the current calls, and writes the state of the keys. Never rejects. */
  close(): Promise<void>;
}

interface ModelPorts {
  readonly log: Log;
  readonly clock: Clock;
  readonly ledger: SpendLedger;
}

/** The models that `current` gives at each call. */
function following(current: () => Models): Models {
  return {
    find: (ref, profileId) => current().find(ref, profileId),
    choose: () => current().choose(),
    list: (which) => current().list(which),
    profiles: (ref) => current().profiles(ref),
    keys: {
      order: (ref, wish) => current().keys.order(ref, wish),
      rotations: (kind) => current().keys.rotations(kind),
      backoffMs: (kind) => current().keys.backoffMs(kind),
      succeeded: (ref, id) => current().keys.succeeded(ref, id),
      failed: (ref, id, failure) => current().keys.failed(ref, id, failure),
      released: (ref, id) => current().keys.released(ref, id),
    },
    of: (agent) => following(() => current().of(agent)),
  };
}

/** Models by the current config: a new key or provider applies from the next run, and cooldowns are kept. */
export async function openLiveModels(live: Live, { log, clock, ledger }: ModelPorts): Promise<LiveModels> {
  const abandoned = await ledger.resolveAbandoned();
  if (abandoned > 0) log.warn("model calls of an earlier process count at their highest cost", { calls: abandoned });
  const budgets = openBudgets({ ledger, clock, log, config: () => live.config.budgets });
  const reservations = new Reservations(budgets.meter);
  live.meter = reservations;
  const windows = new SeenWindows(clock);
  const { paths } = live;
  const credentials = new Credentials(paths.credentials);
  const { cooldowns, close } = await openCooldowns(join(paths.stateSub, "auth-rests.json"), clock, log);
  let made: { config: unknown; revision: number; models: Models } | undefined;
  const current = () => {
    const { config } = live;
    const { revision, modelProviders } = live.contributions;
    if (made?.config !== config || made.revision !== revision) {
      const ownCredentials = ownCredentialsOf(live.agents);
      const options = { ...config.models, env: process.env, auth: config.auth, credentials, ownCredentials };
      made = {
        config,
        revision,
        models: createModels(
          { ...options, cooldowns, clock, log, windows, meter: reservations },
          {
            contributed: modelProviders,
            absenceOf: (provider) => providerAbsence(live.loaded.plugins, config.plugins, provider),
          },
        ),
      };
    }
    return made.models;
  };
  return {
    ...following(current),
    budgets,
    windows,
    async close() {
      reservations.close();
      await budgets.meter.flushed();
      await close();
    },
  };
}

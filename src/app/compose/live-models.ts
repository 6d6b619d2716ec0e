import { Credentials } from "../../providers/auth/credentials.ts";
import { type Cooldowns, refusedKeys } from "../../providers/auth/cooldowns.ts";
import { openCooldowns } from "../../providers/auth/cooldowns-file.ts";
import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import { providerAbsence } from "../../plugins/found/absence.ts";
import { Reservations } from "../../providers/call/reservations.ts";
import { SeenWindows } from "../../providers/usage-windows.ts";
import { createModels, type Models } from "../../providers/catalog.ts";
import { cooldownsPath } from "../config/paths.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { SpendLedger } from "../../types/spend/ledger.ts";
import { openBudgets, type OpenBudgets } from "../../providers/budget/budgets.ts";
import { pluginScene, type Live } from "../live.ts";

export interface LiveModels extends Models {
  readonly budgets: OpenBudgets;
  /** The limits of keys, as the last answers of their providers gave them. */
  readonly windows: SeenWindows;
  /** The keys that cool down at models. */
  readonly cooldowns: Pick<Cooldowns, "snapshot">;
  /** Keys that their providers refuse now, as sentences for the operator. */
  refused(): readonly string[];
  /** Settles the current calls, and writes the state of the keys. Never rejects. */
  close(): Promise<void>;
}

interface ModelPorts {
  readonly log: Log;
  readonly clock: Clock;
  readonly ledger: SpendLedger;
}

/** Models whose every call goes to the models that `current` gives. */
class FollowingModels implements Models {
  readonly keys: Models["keys"] = {
    order: (ref, wish) => this.#current().keys.order(ref, wish),
    rotations: (kind) => this.#current().keys.rotations(kind),
    backoffMs: (kind) => this.#current().keys.backoffMs(kind),
    succeeded: (ref, id) => this.#current().keys.succeeded(ref, id),
    failed: (ref, id, failure) => this.#current().keys.failed(ref, id, failure),
    released: (ref, id) => this.#current().keys.released(ref, id),
  };
  readonly #current: () => Models;
  /** Made once for each agent, since each turn asks for its agent's models. */
  readonly #ofAgents = new Map<string, Models>();

  constructor(current: () => Models) {
    this.#current = current;
  }

  find(ref: ModelRef, profileId?: string): ReturnType<Models["find"]> {
    return this.#current().find(ref, profileId);
  }

  choose(): ReturnType<Models["choose"]> {
    return this.#current().choose();
  }

  list(which?: "usable" | "all"): ReturnType<Models["list"]> {
    return this.#current().list(which);
  }

  profiles(ref: ModelRef): ReturnType<Models["profiles"]> {
    return this.#current().profiles(ref);
  }

  of(agent: string): Models {
    const known = this.#ofAgents.get(agent) ?? new FollowingModels(() => this.#current().of(agent));
    this.#ofAgents.set(agent, known);
    return known;
  }
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
  const { cooldowns, close } = await openCooldowns(cooldownsPath(paths), clock, log);
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
            absenceOf: (provider) => providerAbsence(pluginScene(live), provider),
          },
        ),
      };
    }
    return made.models;
  };
  return Object.assign(new FollowingModels(current), {
    budgets,
    windows,
    cooldowns,
    refused: () => refusedKeys(cooldowns.snapshot(), clock.now()),
    async close() {
      reservations.close();
      await budgets.meter.flushed();
      await close();
    },
  });
}

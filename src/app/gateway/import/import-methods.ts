import { z } from "zod";
import { importAnswers } from "../../../types/answers/import.ts";
import type { RestartDesk } from "../../../types/desks.ts";
import type { Log } from "../../../types/log.ts";
import { asRefusal, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { defined } from "../../../utils/defined.ts";
import type { StatePaths } from "../../config/paths.ts";
import { lastImport, wishImport, type MovingIn } from "./moving-in.ts";

interface ImportScene {
  readonly movingIn: MovingIn;
  readonly paths: StatePaths;
  readonly log: Log;
  readonly restart: () => RestartDesk | undefined;
}

/** The protocol's methods that show what OpenClaw has left on this machine, and take it over at a restart. */
export const importMethods = ({ movingIn, paths, log, restart }: ImportScene): readonly Method[] => [
  defineMethod({
    name: "openclaw.import.detect",
    scope: "operator.admin",
    mayWait: true,
    params: z.looseObject({
      /** False for the last import alone: a look reads all of what is there. */
      look: z.boolean().default(true),
    }),
    result: importAnswers.detect,
    run: async ({ look }) =>
      defined({ found: look ? await looked(movingIn) : undefined, last: await lastImport(paths) }),
  }),
  defineMethod({
    name: "openclaw.import.start",
    scope: "operator.admin",
    mayWait: true,
    params: z.looseObject({ dir: z.string().min(1).max(4096) }),
    result: importAnswers.start,
    async run({ dir }) {
      const found = await looked(movingIn);
      // Only what was found and shown: a client names no other directory.
      if (found?.dir !== dir) throw new MethodError("NOT_FOUND", `Nothing is to be imported from ${dir}.`);
      const desk = restart();
      const why = desk ? await desk.whyNot() : "It was not started to be restarted.";
      if (!desk || why !== undefined)
        throw new MethodError(
          "UNAVAILABLE",
          `The gateway cannot restart: ${why} Stop it, then run: openclaw import ${dir}`,
        );
      await wishImport(paths, dir);
      log.info("an import is asked for, the gateway restarts for it", { dir });
      desk.begin();
      return { ok: true as const, dir };
    },
  }),
];

const looked = (movingIn: MovingIn) =>
  movingIn.look().catch((error: unknown) => {
    throw asRefusal(error);
  });

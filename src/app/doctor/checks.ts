import { channelChecks } from "../../channels/checks.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { keyChecks } from "../../providers/auth/checks.ts";
import { Credentials } from "../../providers/auth/credentials.ts";
import { checks as sessionChecks } from "../../sessions/checks.ts";
import { checks as storeChecks } from "../../store/checks.ts";
import type { Check } from "../../types/check.ts";
import type { CheckContribution, CheckScene } from "../../types/contribution.ts";
import { accountsIn } from "../accounts/channel-accounts.ts";
import { loadConfig } from "../config/load.ts";
import { journalPath, resolvePaths } from "../config/paths.ts";
import { appChecks } from "./app-checks.ts";
import { enginesOf } from "./engine-check.ts";
import { modelCheck } from "./model-check.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";

/** The checks of every module. With an invalid config, those that need it are left out; the config's own check says why. */
export async function collectChecks(
  contributions: Contributions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<readonly Check[]> {
  const paths = resolvePaths(env);
  const load = await loadOptionsFor(contributions, paths, env);
  const config = await loadConfig(load).then(
    (loaded) => loaded.config,
    () => undefined,
  );
  return [
    ...appChecks({ paths, load, config }),
    ...storeChecks({ stateDir: paths.stateDir, journal: journalPath(paths) }),
    ...sessionChecks({ dir: paths.sessionsDir, journal: journalPath(paths) }),
    ...(config ? keyChecks({ dir: paths.credentials, auth: config.auth }) : []),
    ...(config
      ? [
          modelCheck(config, env, new Credentials(paths.credentials)),
          ...enginesOf(config, contributions, journalPath(paths)),
          ...channelChecks(await accountsIn({ config, contributions })),
        ]
      : []),
    ...contributions.checks.flatMap((contributed) => checksOf(contributed, { stateDir: paths.stateDir, config })),
  ];
}

/** A contributor that cannot make its checks is reported by one that fails. */
function checksOf({ id, checks }: CheckContribution, scene: CheckScene): readonly Check[] {
  try {
    return checks(scene);
  } catch (error) {
    return [{ id, title: id, run: () => Promise.reject(error) }];
  }
}

import { isFields } from "../../../utils/fields.ts";
import { own } from "../../../utils/own.ts";
import { revealSecrets } from "../../../utils/secrets/reveal.ts";
import type { Config } from "../../config/schema.ts";
import { shownConfig } from "../../config/shown.ts";

/** The config with the hook's own settings as they are, and all other secrets masked. */
export function shownForHook(config: Config, key: string): unknown {
  const shown = shownConfig(config);
  if (!isFields(shown)) return shown;
  const { hooks, ...rest } = shown;
  const internal = isFields(hooks) ? hooks["internal"] : undefined;
  const entries = isFields(internal) ? internal["entries"] : undefined;
  const mine = own(config.hooks.internal.entries, key);
  return {
    ...rest,
    hooks: {
      ...(isFields(hooks) && hooks),
      internal: {
        ...(isFields(internal) && internal),
        entries: { ...(isFields(entries) && entries), ...(mine && { [key]: revealSecrets(mine) }) },
      },
    },
  };
}

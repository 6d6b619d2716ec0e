import type { Check } from "../../../types/check.ts";
import type { Config } from "../../config/schema.ts";
import { ownerGap } from "../../accounts/owner-gap.ts";

/** Whether any sender of a channel is an owner. */
export function ownerCheck(config: Config): Check {
  return {
    id: "app.owner",
    title: "Owners",
    run: async () => {
      const gap = ownerGap(config);
      const count = config.commands.ownerAllowFrom.length;
      const known = count === 0 ? "No channel is set up; the page and the command line are yours." : `${count} named.`;
      return [gap ? { status: "warn", ...gap } : { status: "ok", message: known }];
    },
  };
}

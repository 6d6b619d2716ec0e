import { channelAccounts } from "../../channels/config.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { Config } from "../config/schema.ts";

/** Who may talk to the agent, and what strangers could then do. */
export function policyCheck(config: Config): Check {
  return {
    id: "app.policy",
    title: "Who may write",
    run: async () => {
      const open = Object.entries(config.channels)
        .filter(([, channel]) => channel.enabled)
        .flatMap(([id, channel]) =>
          channelAccounts(channel).flatMap((account) => lookAt(`${id}/${account.id}`, account.config)),
        );
      const found = [...open, ...(open.length > 0 ? whatStrangersCan(config) : [])];
      return found.length > 0 ? found : [{ status: "ok", message: "Strangers are not answered." }];
    },
  };
}

type Account = ReturnType<typeof channelAccounts>[number]["config"];

function lookAt(name: string, account: Account): CheckResult[] {
  if (!account.enabled) return [];
  const isOpen = account.dmPolicy === "open" || (account.dmPolicy !== "disabled" && account.allowFrom.includes("*"));
  const direct: CheckResult = {
    status: "warn",
    message: `${name}: everybody who finds the bot may write to it.`,
    fix: 'Set dmPolicy to "pairing" and take "*" out of allowFrom.',
  };
  const groups: CheckResult = {
    status: "warn",
    message: `${name}: everybody may put the bot into a group and use it there.`,
    fix: 'Set groupPolicy to "allowlist" and list the groups.',
  };
  const named = listsOf(account).filter((entry) => /(?:^|:)@/.test(entry));
  const names: CheckResult = {
    status: "warn",
    message: `${name}: ${named.join(", ")} may be heard, but whoever gives a username up lets the next one have it.`,
    fix: "Put the numeric id in its place; it stands in the log line of the person's next message.",
  };
  return [
    ...(isOpen ? [direct] : []),
    ...(account.groupPolicy === "open" ? [groups] : []),
    ...(named.length > 0 ? [names] : []),
  ];
}

function listsOf({ allowFrom, groupAllowFrom = [], groups }: Account): readonly string[] {
  return [...allowFrom, ...groupAllowFrom, ...Object.values(groups).flatMap((group) => group.allowFrom ?? [])];
}

function whatStrangersCan(config: Config): CheckResult[] {
  const { exec } = config.tools;
  const runs: CheckResult = {
    status: "fail",
    message: "Those strangers can run any command on this machine without a question.",
    fix: "Run: openclaw config unset tools.exec.security",
  };
  const shares: CheckResult = {
    status: "fail",
    message: "Those strangers share one session and read each other's messages.",
    fix: "Run: openclaw config set session.dmScope per-channel-peer",
  };
  return [
    ...(exec.security === "full" && exec.ask === "off" ? [runs] : []),
    ...(config.session.dmScope === "main" ? [shares] : []),
  ];
}

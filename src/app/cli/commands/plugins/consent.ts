import { contributesOf, type PluginFacts } from "../../../../plugins/install/facts.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import { canAsk, confirmed } from "../../ask.ts";
import type { Io } from "../../io.ts";
import { pairs } from "../../table.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

/** Each of them is a yes. */
export type ConsentFlags = Readonly<Partial<Record<"yes" | "force" | "acceptCapabilities", boolean>>>;

/** Asks at a terminal, else needs a flag. False for a no. Throws `USAGE` where nobody can be asked. */
export async function hasConsent(io: Io, flags: ConsentFlags, question: string): Promise<boolean> {
  if (flags.yes === true || flags.force === true || flags.acceptCapabilities === true) return true;
  if (canAsk(io)) return confirmed(question);
  throw new OpenClawError("USAGE", {
    message: "Nobody can be asked here whether this may be installed.",
    fix: "Read what it is, then repeat the command with --yes.",
  });
}

/** Shows what a plugin is before it is installed. `before`: the version that it replaces. */
export function showFacts(io: Io, facts: PluginFacts, before?: string): void {
  const { origin, contributes, risks } = facts;
  const version = facts.version ?? "without a version";
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["plugin", facts.name === undefined || facts.name === facts.id ? facts.id : `${facts.id} (${facts.name})`],
    ["version", before === undefined ? version : `${version}, in place of ${before}`],
    ["about", facts.description],
    ["from", origin.from],
    ["publisher", origin.publisher],
    ["maintainers", listed(origin.maintainers ?? [])],
    ["author", facts.author],
    ["license", facts.license ?? "not stated"],
    ["integrity", origin.integrity],
    ["size", `${showSize(facts.size.bytes)} in ${facts.size.files} files`],
    ["kind", listed(contributes.kinds)],
    ["tools", listed(contributes.tools)],
    ["channels", listed(contributes.channels)],
    ["providers", listed(contributes.providers)],
    ["commands", listed(contributes.cliCommands)],
    ["skills", listed(contributes.skills)],
    ["native code", listed(risks.native)],
    ["install scripts", listed([...risks.installScripts, ...risks.scriptedDependencies])],
    ["dependencies", listed(risks.dependencies)],
  ];
  io.err(pairs(io, rows));
  io.err(
    "A plugin runs with all rights of the gateway. Its hooks may read conversations only where the config allows it.\n",
  );
}

/** Shows what a new version contributes that the installed one does not. */
export function showNews(io: Io, facts: PluginFacts, before: FoundPlugin | undefined): void {
  if (!before) return;
  const old = contributesOf(before);
  const news = CONTRIBUTED.flatMap((what) => {
    const added = facts.contributes[what].filter((name) => !old[what].includes(name));
    return added.length === 0 ? [] : [`${what}: ${added.join(", ")}`];
  });
  if (news.length > 0) io.err(`New in this version: ${withoutTerminalControls(news.join("; "))}\n`);
}

const CONTRIBUTED = ["kinds", "tools", "channels", "providers", "cliCommands", "skills"] as const;

const MOST_LISTED = 12;

export function listed(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const shown = names.slice(0, MOST_LISTED).join(", ");
  return names.length > MOST_LISTED ? `${shown} and ${names.length - MOST_LISTED} more` : shown;
}

export function showSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

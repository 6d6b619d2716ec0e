import { OpenClawError } from "../../../../types/errors.ts";
import type { Env } from "../../../../utils/env.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import type { InstallPolicy } from "../../../config/schema/base.ts";
import { isRecord } from "../../../config/schema/problem.ts";
import { outputOfTrusted, FaultWithFix } from "../../../config/trusted-program.ts";
import { packageVersion } from "../../../package-root.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

const PROTOCOL = 1;
const TIMEOUT_MS = 10_000;
/** Most characters of a reason that are shown. */
const MOST_SHOWN = 1000;

interface Decision {
  readonly decision: "allow" | "warn" | "block";
  readonly reason: string;
}

interface Asking {
  readonly env: Env;
  /** Whether the operator has said that a warning is no obstacle. */
  readonly isAcknowledged: boolean;
}

/**
 * Asks the program of `security.installPolicy` about an installation. Throws `PLUGIN_BLOCKED` when it does not allow it,
 * and when it cannot be asked: an installation must not slip through.
 */
export async function requireInstallPolicy(
  { enabled, targets, exec }: InstallPolicy,
  request: { readonly targetType: "plugin" | "skill"; readonly targetName: string } & Readonly<Record<string, unknown>>,
  { env, isAcknowledged }: Asking,
): Promise<void> {
  if (!enabled || targets?.includes(request.targetType) === false) return;
  if (!exec)
    throw blocked(
      "security.installPolicy is on and names no program, so nothing is installed.",
      "Add security.installPolicy.exec.command, or set security.installPolicy.enabled to false.",
    );
  const input = JSON.stringify({ protocolVersion: PROTOCOL, openclawVersion: packageVersion(), ...request });
  const output = await outputOfTrusted(exec, { input, env, timeoutMs: TIMEOUT_MS }).catch((error: unknown) => {
    const fix = error instanceof FaultWithFix ? error.fix : "Mend the program of security.installPolicy.exec.";
    throw blocked(`The program of security.installPolicy could not be asked: ${errorText(error)}.`, fix);
  });
  const { decision, reason } = decisionIn(output);
  if (decision === "allow" || (decision === "warn" && isAcknowledged)) return;
  const shown = withoutTerminalControls(reason).slice(0, MOST_SHOWN);
  if (decision === "block")
    throw blocked(
      `security.installPolicy does not allow ${request.targetName}: ${shown}`,
      "Ask whoever wrote the policy.",
    );
  throw blocked(
    `security.installPolicy warns of ${request.targetName}: ${shown}`,
    "If that is no obstacle, repeat the command with --acknowledge-install-policy-warning.",
  );
}

const blocked = (message: string, fix: string): OpenClawError => new OpenClawError("PLUGIN_BLOCKED", { message, fix });

/** The answer of the program. Anything that is no answer blocks. */
function decisionIn(output: string): Decision {
  const answer = parsed(output);
  const { protocolVersion, decision, reason } = isRecord(answer) ? answer : {};
  const text = typeof reason === "string" ? reason.trim() : "";
  const isKnown = decision === "allow" || ((decision === "warn" || decision === "block") && text !== "");
  if (protocolVersion === PROTOCOL && isKnown) return { decision, reason: text };
  throw blocked(
    `The program of security.installPolicy gave no decision with protocolVersion ${PROTOCOL}.`,
    'Let it print {"protocolVersion": 1, "decision": "allow"}, or "block" with a reason.',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Text that is no JSON is no decision.
    return undefined;
  }
}

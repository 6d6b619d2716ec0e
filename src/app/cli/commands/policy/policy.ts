import { homedir } from "node:os";
import { wireKey } from "../../../../sessions/keys.ts";
import { SandboxMachine } from "../../../../tools/sandbox/machine.ts";
import type { StageAnswer } from "../../../../types/tool-policy.ts";
import { Live } from "../../../live.ts";
import { explainPolicy, type PlacedVerdict, type PolicyExplanation } from "../../../compose/policy/explain.ts";
import type { PolicyAsk } from "../../../compose/policy/subject.ts";
import { loadConfig } from "../../../config/load.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";
import { table } from "../../table.ts";

export type PolicyFlags = PolicyAsk & { readonly json?: boolean };

/**
 * Explains who has a tool and why: each step of the policy with the key that says it and its place in the file. All tools in
 * short without a name. Reads the config alone, so it works while the gateway runs or not.
 */
export async function policyExplain(io: Io, tool: string | undefined, flags: PolicyFlags): Promise<number> {
  const { load, paths } = await loadOptions(io);
  const live = new Live(paths, io.env["HOME"] ?? homedir(), await loadConfig(load), io.contributions);
  const machine = new SandboxMachine({ env: io.env, dir: paths.stateSub, contributions: io.contributions });
  const explanation = await explainPolicy(live, machine, { ...flags, tool });
  const session = wireKey(explanation.of.sessionKey, live.defaultAgent.id);
  if (flags.json === true) {
    const { of, verdicts } = explanation;
    const { agent, confined, leftOut } = of;
    writeJson(io, { agent: agent.id, session, sandboxed: confined.files, verdicts, leftOut });
    return 0;
  }
  const { verdicts } = explanation;
  const [only] = verdicts;
  const text =
    tool !== undefined && only
      ? oneText(io, only, explanation)
      : table(io, ["TOOL", "ALLOWED", "BECAUSE"], verdicts.map(shortLine));
  io.out(`${text}${notesOf(explanation, session)}`);
  return 0;
}

function notesOf({ of: { confined, leftOut }, isWithoutModel }: PolicyExplanation, session: string): string {
  const notes = [
    ...(confined.files ? [`The tools of ${session} are confined to a sandbox.`] : []),
    ...(isWithoutModel
      ? ["Rules about models (byProvider) are left out; add --model provider/model to see them."]
      : []),
    ...(leftOut.length > 0
      ? [
          `Rules by a name that was not given are left out: ${leftOut.join(", ")}; add --username, --name, or a phone ` +
            "number as the sender to see them.",
        ]
      : []),
  ];
  return notes.map((note) => `${note}\n`).join("");
}

const ANSWERS: Readonly<Record<StageAnswer["answer"], string>> = {
  allowed: "allows",
  denied: "denies",
  unlisted: "does not list it",
};

const saying = ({ answer, entry }: StageAnswer): string =>
  entry === undefined ? ANSWERS[answer] : `${ANSWERS[answer]} ("${entry}")`;

function oneText(io: Io, { tool, isAllowed, trace }: PlacedVerdict, { of }: PolicyExplanation): string {
  const { agent, peer, sender } = of;
  const place = peer ? ` in ${peer.channel}:${peer.chat.id}` : "";
  const who = sender ? ` for ${sender.channel}:${sender.id}` : " for operators";
  const rows = trace.map((one) => [one.stage, saying(one), one.key, one.place ?? ""]);
  const steps =
    rows.length === 0 ? "No rule of the config is about it.\n" : table(io, ["STEP", "SAYS", "KEY", "WHERE"], rows);
  return `The agent "${agent.id}" ${isAllowed ? "may" : "may not"} use ${tool}${who}${place}.\n${steps}`;
}

function shortLine({ tool, isAllowed, trace }: PlacedVerdict): readonly string[] {
  const against = trace.find(({ answer }) => answer !== "allowed");
  const because = against ? `${against.key} ${saying(against)} ${against.place ?? ""}` : "";
  return [tool, isAllowed ? "yes" : "no", because];
}

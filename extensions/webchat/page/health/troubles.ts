import type { Answers } from "openclaw/plugin-sdk/answers";
import { lasting, timeOfDay } from "../model/format.ts";
import type { PageView } from "../model/state.ts";
import { t } from "../words/words.ts";

type Status = Answers["status"];

/** Something that a person should look at, and what helps. */
export interface Trouble {
  readonly what: string;
  readonly fix?: string | undefined;
  /** For a terminal on the gateway's machine. */
  readonly command?: string | undefined;
  readonly view?: PageView;
  /** The conversation that it is about. */
  readonly sessionKey?: string;
}

/** Longer than a run may take by default. */
const LATE_MS = 15 * 60_000;

/** The problems of the gateway, the gravest first; those of accounts are with the accounts. */
export function troublesOf(status: Status, now: number): readonly Trouble[] {
  return [
    ...ofStart(status),
    ...ofConfig(status),
    ...ofReadiness(status),
    ...ofModel(status),
    ...ofWork(status, now),
    ...ofMessages(status, now),
    ...(status.plugins?.problems ?? []).map((what): Trouble => ({ what, view: "plugins" })),
    ...(status.sandboxes ?? []).filter(({ works }) => works === false).map(ofSandbox),
    ...ofProcess(status),
  ];
}

const ofStart = ({ safeMode }: Status): readonly Trouble[] =>
  safeMode === undefined
    ? []
    : [
        {
          what: t(
            "The gateway is in safe mode: channels and jobs are off, because several starts of five minutes ended without a stop.",
          ),
          fix: t("See in the log why they ended. Then start it with everything on:"),
          command: "openclaw gateway restart --normal",
          view: "logs",
        },
      ];

const ofConfig = ({ config }: Status): readonly Trouble[] =>
  (config?.problems ?? []).map(({ message, fix }) => ({ what: message, fix, command: commandAtEnd(fix) }));

/** What `ready` alone tells: the problems of the config, the start and the accounts have places of their own. */
function ofReadiness({ ready, config, safeMode, channels = [] }: Status): readonly Trouble[] {
  const told = [
    ...(config?.problems ?? []).map(({ message }) => message),
    ...(safeMode === undefined ? [] : [safeMode]),
    ...channels.flatMap(({ lastError }) => lastError ?? []),
  ];
  return (ready?.problems ?? [])
    .filter((text) => !told.some((one) => text.includes(one)))
    .map((what) => ({
      what: what.replace(/; see openclaw [^;]+$/, ""),
      command: commandAtEnd(what),
      ...(what.startsWith("The key ") && { view: "models" as const }),
    }));
}

function ofModel({ model, failing }: Status): readonly Trouble[] {
  const unusable = model?.problem === undefined ? [] : [{ what: model.problem, view: "models" as const }];
  if (failing === undefined) return unusable;
  const what = t("The latest run failed ({kind}).|The latest {n} runs failed ({kind}).", {
    n: failing.runs,
    kind: failing.kind.replaceAll("_", " "),
  });
  return [...unusable, { what, command: "openclaw runs list --failed", view: "models" }];
}

const ofWork = ({ stuck = [] }: Status, now: number): readonly Trouble[] =>
  stuck.map(({ session, doing, forMs }) => ({
    what: t("A conversation makes no progress: {doing}, for {time}.", { doing, time: lasting(forMs) }),
    sessionKey: session,
    fix: t("Since {time}. Its answer can be stopped there.", {
      time: timeOfDay(now - forMs),
    }),
  }));

function ofMessages({ journal }: Status, now: number): readonly Trouble[] {
  if (journal === undefined) return [];
  const { oldestInboxAt, staleLastDay = 0, failedOutboxLastDay = 0, unknownOutbox } = journal;
  const age = oldestInboxAt === undefined ? 0 : now - oldestInboxAt;
  return [
    ...(age < LATE_MS
      ? []
      : [{ what: t("A message has no answer for {time}.", { time: lasting(age) }), command: "openclaw inbox list" }]),
    ...(staleLastDay === 0
      ? []
      : [
          {
            what: t(
              "{n} message of the last day came too late to be answered, after an outage.|{n} messages of the last day came too late to be answered, after an outage.",
              { n: staleLastDay },
            ),
            command: "openclaw inbox list --all",
          },
        ]),
    ...(failedOutboxLastDay + unknownOutbox === 0
      ? []
      : [
          {
            what: t(
              "{n} part of answers did not arrive, or may not have arrived.|{n} parts of answers did not arrive, or may not have arrived.",
              { n: failedOutboxLastDay + unknownOutbox },
            ),
            view: "needs" as const,
          },
        ]),
  ];
}

const ofSandbox = ({ agent }: { readonly agent: string }): Trouble => ({
  what: t("The sandbox of the agent {agent} does not work.", { agent }),
  command: "openclaw doctor",
});

function ofProcess({ eventLoop, upkeep }: Status): readonly Trouble[] {
  const reasons = (eventLoop?.reasons ?? []).join(", ").replaceAll("_", " ");
  return [
    ...(eventLoop?.degraded === true
      ? [
          {
            what:
              reasons === ""
                ? t("The process is too busy: answers may come late.")
                : t("The process is too busy ({reasons}): answers may come late.", { reasons }),
            view: "logs" as const,
          },
        ]
      : []),
    ...(upkeep?.overBudget === true
      ? [
          {
            what: t("The conversations take more room on the disk than session.maintenance allows."),
            command: "openclaw sessions cleanup --dry-run",
          },
        ]
      : []),
  ];
}

/** The command at the end of an advice; undefined when it ends with none, or with signs that begin another command. */
export const commandAtEnd = (text: string): string | undefined =>
  /(?:: |; see |[Rr]un )(openclaw [^,;:|&$`\n]+?)\.?$/.exec(text)?.[1];

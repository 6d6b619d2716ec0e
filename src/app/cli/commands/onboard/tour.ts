import { OpenClawError } from "../../../../types/errors.ts";
import { placeFrom } from "../agents/list.ts";
import { dashboard } from "../gateway/dashboard.ts";
import { gatewayRun } from "../gateway/gateway-run.ts";
import { messageSend } from "../message/message.ts";
import { ensureGatewayToken } from "../../../config/gateway-login.ts";
import type { Io } from "../../io.ts";
import { channelStep, type SetUpChannel } from "./channel-step.ts";
import { Companion } from "./companion.ts";
import { isOn, flagText, type Flags } from "./flags.ts";
import { awaitHealth } from "./health.ts";
import { modelStep } from "./model-step.ts";
import { ownerOn, ownerStep, type OwnerChat } from "./owner-step.ts";
import {
  mainAgent,
  openScene,
  RESET_SCOPES,
  resetState,
  writeEdits,
  type ResetScope,
  type SetupScene,
} from "./scene.ts";
import { quiet, serviceStep, type RunsBy } from "./service-step.ts";
import { agentWishEdits, firstEdits, gatewayEdits, makePlaces } from "./settings.ts";
import { StepLeft, TerminalQuestions } from "./talk.ts";

/** What the steps learn of each other. */
export interface Tour {
  readonly flags: Flags;
  readonly companion: Companion;
  channel?: SetUpChannel | undefined;
  owner?: OwnerChat | undefined;
  runsBy?: RunsBy;
}

/** A step of the set-up. It writes what it decides at once and as a whole, and may be run again. */
export interface SetupStep {
  readonly id: string;
  /** Whether the step has something to ask; always when unset. */
  readonly isOpen?: (tour: Tour) => boolean;
  run(talk: TerminalQuestions, scene: SetupScene, tour: Tour): Promise<void>;
}

export const AGENT_STEP: SetupStep = {
  id: "agent",
  async run(talk, scene, { flags }) {
    const agent = mainAgent(scene);
    const name = await talk.type({
      message: "What is your agent called?",
      initial: flagText(flags, "agent-name") ?? agent.identityName ?? "Claw",
    });
    const given = flagText(flags, "workspace");
    const wish = {
      name,
      ...(given !== undefined && { workspace: placeFrom(given, scene.io) }),
      ...(isOn(flags, "skip-bootstrap") && { isBare: true }),
    };
    const workspace = await makePlaces(scene, wish);
    const first = scene.hasConfig ? [] : firstEdits(scene);
    await writeEdits(scene, [...first, ...agentWishEdits(scene, wish), ...gatewayEdits(scene, {})]);
    talk.done(`${name} works in ${workspace}.`);
  },
};

export const MODEL_STEP: SetupStep = { id: "model", run: modelStep };

export const CHANNEL_STEP: SetupStep = {
  id: "channels",
  isOpen: ({ flags }) => !isOn(flags, "skip-channels"),
  async run(talk, scene, tour) {
    tour.channel = await channelStep(talk, scene);
  },
};

export const OWNER_STEP: SetupStep = {
  id: "owner",
  isOpen: ({ channel }) => channel !== undefined,
  async run(talk, scene, tour) {
    const { channel, companion } = tour;
    if (channel) tour.owner = await ownerStep(talk, scene, { channel, companion });
  },
};

export const SERVICE_STEP: SetupStep = {
  id: "daemon",
  isOpen: ({ flags }) => flags["installDaemon"] !== false,
  async run(talk, scene, tour) {
    tour.runsBy = await serviceStep(talk, scene, tour.companion);
  },
};

export const HEALTH_STEP: SetupStep = {
  id: "health",
  isOpen: ({ flags }) => !isOn(flags, "skip-health"),
  async run(talk, scene, { companion, runsBy }) {
    if (runsBy === "terminal") await companion.start(scene.io);
    const health = await awaitHealth(scene.io);
    if (health.kind === "ok") talk.done("The gateway is well.");
    else if (health.kind === "none") talk.warn("No gateway runs now. Start it: openclaw gateway run");
    else talk.warn(`The gateway is not well: ${health.why}\nSee: openclaw doctor`);
  },
};

const QUICK = [AGENT_STEP, MODEL_STEP, CHANNEL_STEP, OWNER_STEP, SERVICE_STEP, HEALTH_STEP];

/** The steps of a flow: all of them, or those that the first minutes need. */
async function stepsOf(flags: Flags): Promise<readonly SetupStep[]> {
  if ((flagText(flags, "flow") ?? "quickstart") === "quickstart") return QUICK;
  const { GATEWAY_STEP, SKILLS_STEP, WEB_STEP, WORKSPACE_STEP } = await import("./section-steps.ts");
  const more = [
    ...(isOn(flags, "skip-search") ? [] : [WEB_STEP]),
    ...(isOn(flags, "skip-skills") ? [] : [SKILLS_STEP]),
  ];
  const folder = flagText(flags, "workspace") === undefined ? [WORKSPACE_STEP] : [];
  return [
    AGENT_STEP,
    ...folder,
    MODEL_STEP,
    GATEWAY_STEP,
    CHANNEL_STEP,
    OWNER_STEP,
    ...more,
    SERVICE_STEP,
    HEALTH_STEP,
  ];
}

/** `openclaw onboard` at a terminal. Returns the exit code: 0 also when the person has left. */
export async function onboardByTalk(io: Io, flags: Flags): Promise<number> {
  await openScene(io);
  const talk = await TerminalQuestions.open();
  talk.begin("OpenClaw set-up");
  const tour: Tour = { flags, companion: new Companion() };
  try {
    const isThrough = (await begin(talk, io, flags)) && (await walk(talk, io, { steps: await stepsOf(flags), tour }));
    if (!isThrough) {
      talk.end("Left. What is set up stays; openclaw onboard continues.");
      return 0;
    }
    await greet(talk, await openScene(io), tour);
  } finally {
    await tour.companion.stop();
  }
  return tour.runsBy === "terminal" ? gatewayRun(io, {}, ["gateway", "run"]) : 0;
}

const RISK = [
  "An agent runs commands, reads files and writes messages on this machine,",
  "for you and for whoever else you let write to it. What it reads in messages",
  "and on web pages may try to steer it.",
  "",
  "Let nobody in whom you do not trust; docs/concepts/security.md says more.",
].join("\n");

/** The notice, and what becomes of a config that is there. False when the person leaves. */
async function begin(talk: TerminalQuestions, io: Io, flags: Flags): Promise<boolean> {
  try {
    talk.note(RISK, "Before you begin");
    if (!isOn(flags, "accept-risk") && !(await talk.confirm("Go on?"))) return false;
    const scene = await openScene(io);
    if (isOn(flags, "reset")) return await resetBy(talk, scene, flagText(flags, "reset-scope"));
    if (!scene.hasConfig) return true;
    const what = await talk.choose(`There is a config: ${scene.state.paths.configPath}`, [
      { value: "change", label: "Go through the steps", hint: "what you do not change stays" },
      { value: "keep", label: "Keep everything and leave" },
      { value: "reset", label: "Begin anew", hint: "it is set aside, nothing is deleted" },
    ]);
    if (what === "reset") return await resetBy(talk, scene, undefined);
    return what === "change";
  } catch (error) {
    if (!(error instanceof StepLeft)) throw error;
    return error.way === "leave" ? false : begin(talk, io, flags);
  }
}

async function resetBy(talk: TerminalQuestions, scene: SetupScene, given: string | undefined): Promise<true> {
  const scope =
    RESET_SCOPES.find((one) => one === given) ??
    (await talk.choose<ResetScope>("What is set aside?", [
      { value: "config", label: "The config" },
      { value: "config+creds+sessions", label: "Config, keys, conversations, pairings and jobs" },
      { value: "full", label: "All of that, and the agents' folders" },
    ]));
  for (const { from, to } of await resetState(scene, scope)) talk.done(`${from} is ${to} now.`);
  return true;
}

/** Runs the steps in order. False when the person leaves. */
export async function walk(
  talk: TerminalQuestions,
  io: Io,
  { steps, tour }: { readonly steps: readonly SetupStep[]; readonly tour: Tour },
): Promise<boolean> {
  for (let at = 0; at < steps.length;) {
    const step = steps[at];
    const way = step && (step.isOpen?.(tour) ?? true) ? await runStep(talk, io, { step, tour }) : "on";
    if (way === "leave") return false;
    if (way === "on") at += 1;
    if (way === "back") at = before(steps, at, tour);
  }
  return true;
}

/** The nearest earlier step that has something to ask. */
const before = (steps: readonly SetupStep[], at: number, tour: Tour): number =>
  Math.max(
    0,
    steps.slice(0, at).findLastIndex(({ isOpen }) => isOpen?.(tour) ?? true),
  );

async function runStep(
  talk: TerminalQuestions,
  io: Io,
  { step, tour }: { readonly step: SetupStep; readonly tour: Tour },
): Promise<"on" | StepLeft["way"]> {
  try {
    await step.run(talk, await openScene(io), tour);
    return "on";
  } catch (error) {
    if (error instanceof StepLeft) return error.way;
    if (!(error instanceof OpenClawError)) throw error;
    talk.failed(error);
    return retryOrGo(talk);
  }
}

/** A step that failed wrote nothing. */
async function retryOrGo(talk: TerminalQuestions): Promise<"on" | StepLeft["way"]> {
  try {
    return await talk.choose<"on" | StepLeft["way"]>("What now?", [
      { value: "again", label: "Try this step again" },
      { value: "on", label: "Go on without it" },
      { value: "back", label: "Back to the step before" },
      { value: "leave", label: "Leave the set-up" },
    ]);
  } catch (error) {
    if (error instanceof StepLeft) return error.way;
    throw error;
  }
}

/** The last words: a message in the owner's own chat, and the page's address. */
async function greet(talk: TerminalQuestions, scene: SetupScene, tour: Tour): Promise<void> {
  const { io, state } = scene;
  await ensureGatewayToken(state.paths, state.config, { env: scene.io.env });
  const { owner = tour.channel && ownerOn(scene, tour.channel.id), companion, runsBy, flags } = tour;
  if (owner && (companion.isRunning || runsBy !== "nobody")) await sendFirst(talk, scene, owner);
  if (!isOn(flags, "skip-ui")) {
    const words: string[] = [];
    await dashboard({ ...quiet(io), out: (text) => void words.push(text), err: () => undefined }, { open: false });
    const [whole = ""] = words;
    const shown = isOn(flags, "suppress-gateway-token-output") ? (whole.split("#")[0] ?? "") : whole.trim();
    talk.say(`The page: ${shown}`);
  }
  talk.end(
    runsBy === "nobody" || runsBy === undefined
      ? "Done. Start the gateway: openclaw gateway run"
      : "Done. Change anything later with openclaw configure.",
  );
}

async function sendFirst(
  talk: TerminalQuestions,
  scene: SetupScene,
  { channel, id, account }: OwnerChat,
): Promise<void> {
  const message = `${mainAgent(scene).identityName ?? "Your agent"} is set up and hears you. Write anything.`;
  const to = { channel, to: `user:${id}`, ...(account !== undefined && { account }) };
  try {
    const code = await messageSend(quiet(scene.io), { ...to, message });
    if (code === 0) talk.done(`A message is in your chat on ${channel}.`);
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    talk.failed(error);
  }
}

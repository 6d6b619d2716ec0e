import { OpenClawError } from "../../../../types/errors.ts";
import { ensureGatewayToken } from "../../../config/gateway-login.ts";
import { canAsk } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { Companion } from "./companion.ts";
import { openScene, writeEdits } from "./scene.ts";
import { GATEWAY_STEP, PLUGINS_STEP, SKILLS_STEP, WEB_STEP, WORKSPACE_STEP } from "./section-steps.ts";
import { agentWishEdits, firstEdits, gatewayEdits, makePlaces } from "./settings.ts";
import { StepLeft, TerminalQuestions, type AnswerChoice } from "./talk.ts";
import {
  AGENT_STEP,
  CHANNEL_STEP,
  HEALTH_STEP,
  MODEL_STEP,
  OWNER_STEP,
  SERVICE_STEP,
  walk,
  type SetupStep,
  type Tour,
} from "./tour.ts";
import { placeFrom } from "../agents/list.ts";

/** A part of the set-up that `openclaw configure` runs alone. */
interface Section {
  readonly about: string;
  readonly steps: readonly SetupStep[];
  /** Commands that do the same without a terminal. */
  readonly commands: readonly string[];
}

/** By the names of `--section`. */
const SECTIONS: Readonly<Record<string, Section>> = {
  workspace: {
    about: "the agent's name and folder",
    steps: [AGENT_STEP, WORKSPACE_STEP],
    commands: ["openclaw config set agents.defaults.workspace <dir>"],
  },
  model: {
    about: "the model and its key",
    steps: [MODEL_STEP],
    commands: ["openclaw models auth add --provider <id>", "openclaw models set <provider/model>"],
  },
  web: {
    about: "searches in the web",
    steps: [WEB_STEP],
    commands: ["openclaw config set tools.web.search.provider <id>"],
  },
  gateway: {
    about: "port, address and login",
    steps: [GATEWAY_STEP],
    commands: ["openclaw config set gateway.port <port>", "openclaw config set gateway.bind <mode>"],
  },
  daemon: { about: "the service", steps: [SERVICE_STEP], commands: ["openclaw gateway install"] },
  channels: {
    about: "a channel, and you as its owner",
    steps: [CHANNEL_STEP, OWNER_STEP],
    commands: [
      "openclaw channels add --channel <name> --token -",
      "openclaw config set commands.ownerAllowFrom <list>",
    ],
  },
  plugins: {
    about: "which plugins are loaded",
    steps: [PLUGINS_STEP],
    commands: ["openclaw plugins list", "openclaw plugins enable <id>"],
  },
  skills: {
    about: "which skills the agent may use",
    steps: [SKILLS_STEP],
    commands: ["openclaw config set skills.entries.<name>.enabled false"],
  },
  health: {
    about: "whether the gateway is well",
    steps: [HEALTH_STEP],
    commands: ["openclaw doctor", "openclaw health"],
  },
};

export interface ConfigureFlags {
  readonly section?: readonly string[];
}

/** `openclaw configure`: single parts of the set-up. Throws USAGE with the commands that do the same where there is nobody to ask. */
export async function configure(io: Io, { section = [] }: ConfigureFlags): Promise<number> {
  const unknown = section.find((name) => !Object.hasOwn(SECTIONS, name));
  if (unknown !== undefined)
    throw new OpenClawError("USAGE", {
      message: `There is no section ${unknown}.`,
      fix: `Sections: ${Object.keys(SECTIONS).join(", ")}.`,
    });
  if (!canAsk(io) || !io.isTerminal) throw byCommands(section);
  await openScene(io);
  const talk = await TerminalQuestions.open();
  talk.begin("OpenClaw settings");
  const tour: Tour = { flags: {}, companion: new Companion() };
  try {
    for (const name of section)
      if (!(await walk(talk, io, { steps: SECTIONS[name]?.steps ?? [], tour }))) return left(talk);
    if (section.length === 0 && !(await chooseSections(talk, io, tour))) return left(talk);
  } finally {
    await tour.companion.stop();
  }
  talk.end("Done. openclaw doctor checks everything.");
  return 0;
}

function left(talk: TerminalQuestions): number {
  talk.end("Left. What is set stays.");
  return 0;
}

/** False when the person leaves. */
async function chooseSections(talk: TerminalQuestions, io: Io, tour: Tour): Promise<boolean> {
  for (;;) {
    const name = await chooseSection(talk);
    if (name === undefined) return false;
    if (name === DONE) return true;
    if (!(await walk(talk, io, { steps: SECTIONS[name]?.steps ?? [], tour }))) return false;
  }
}

const DONE = "done";

async function chooseSection(talk: TerminalQuestions): Promise<string | undefined> {
  const rows = Object.entries(SECTIONS).map(([name, { about }]): AnswerChoice<string> => ({
    value: name,
    label: name,
    hint: about,
  }));
  try {
    return await talk.choose("What do you want to change?", [{ value: DONE, label: "Nothing more" }, ...rows]);
  } catch (error) {
    if (!(error instanceof StepLeft)) throw error;
    return error.way === "leave" ? undefined : chooseSection(talk);
  }
}

function byCommands(section: readonly string[]): OpenClawError {
  const names = section.length === 0 ? Object.keys(SECTIONS) : section;
  const commands = names.flatMap((name) => SECTIONS[name]?.commands ?? []);
  return new OpenClawError("USAGE", {
    message: "The settings are asked for, and there is nobody to ask here.",
    fix: `These commands do the same: ${commands.join("; ")}`,
  });
}

export interface SetupFlags {
  readonly baseline?: boolean;
  readonly workspace?: string;
  readonly json?: boolean;
}

/** `openclaw setup`: the config, the folders of the state and the workspace, without a question and without a model. */
export async function setup(io: Io, { workspace: given, json }: SetupFlags): Promise<number> {
  const scene = await openScene(io);
  const wish = given === undefined ? {} : { workspace: placeFrom(given, io) };
  const workspace = await makePlaces(scene, wish);
  await writeEdits(scene, [
    ...(scene.hasConfig ? [] : firstEdits(scene)),
    ...agentWishEdits(scene, wish),
    ...gatewayEdits(scene, {}),
  ]);
  const { state } = await openScene(io);
  const { paths } = state;
  await ensureGatewayToken(paths, state.config, { env: io.env });
  if (json === true)
    writeJson(io, { ok: true, configPath: paths.configPath, workspace, sessionsDir: paths.sessionsDir });
  else {
    io.out(`Config: ${paths.configPath}\nWorkspace: ${workspace}\nSessions: ${paths.sessionsDir}\n`);
    io.err("A model, a channel and an owner: openclaw onboard\n");
  }
  return 0;
}

import { PROVIDERS } from "../../../../tools/web/search/table.ts";
import { surveySkills } from "../../../../prompt/skills/survey.ts";
import { skillSources } from "../../../compose/skill-sources.ts";
import { loadConfig } from "../../../config/load.ts";
import { pluginsDisable, pluginsEnable } from "../plugins/plugins-switch.ts";
import { placeFrom } from "../agents/list.ts";
import { mainAgent, writeEdits } from "./scene.ts";
import { quiet } from "./service-step.ts";
import { agentWishEdits, gatewayEdits, makePlaces } from "./settings.ts";
import type { TerminalQuestions } from "./talk.ts";
import type { SetupStep } from "./tour.ts";

export const WORKSPACE_STEP: SetupStep = {
  id: "workspace",
  async run(talk, scene) {
    const typed = await talk.type({ message: "Folder of the agent", initial: mainAgent(scene).workspace });
    const wish = { workspace: placeFrom(typed, scene.io) };
    const place = await makePlaces(scene, wish);
    await writeEdits(scene, [...agentWishEdits(scene, wish), ...gatewayEdits(scene, {})]);
    talk.done(`The agent works in ${place}.`);
  },
};

export const GATEWAY_STEP: SetupStep = {
  id: "gateway",
  async run(talk, scene) {
    const { gateway } = scene.state.config;
    const port = await talk.type({
      message: "TCP port of the gateway",
      initial: String(gateway.port),
      check: (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? undefined : "A number up to 65535."),
    });
    const bind = await talk.choose(
      "Who may reach it?",
      [
        { value: "loopback", label: "Programs of this machine" },
        { value: "tailnet", label: "Machines of your Tailscale network" },
        { value: "lan", label: "Everybody in this network", hint: "without encryption" },
        { value: "auto", label: "As the gateway finds best" },
        ...(gateway.customBindHost === undefined ? [] : [{ value: "custom", label: gateway.customBindHost }]),
      ],
      gateway.bind,
    );
    const mode = await talk.choose<"token" | "password">(
      "How do clients log in?",
      [
        { value: "token", label: "With a token", hint: "the gateway makes one" },
        { value: "password", label: "With a password" },
      ],
      gateway.auth.mode === "password" ? "password" : "token",
    );
    const password = mode === "password" ? await askPassword(talk, gateway.auth.password !== undefined) : undefined;
    const wish = { port: Number(port), bind, mode, ...(password !== undefined && { password: { text: password } }) };
    await writeEdits(scene, gatewayEdits(scene, wish));
    talk.done(`The gateway listens on port ${port} (${bind}) from its next start on.`);
  },
};

/** Undefined for the password that is there. */
async function askPassword(talk: TerminalQuestions, isThere: boolean): Promise<string | undefined> {
  const message = isThere ? "Password; empty for the one that is there" : "Password";
  const typed = await talk.typeHidden({ message, mayBeEmpty: isThere });
  return typed === "" ? undefined : typed;
}

export const WEB_STEP: SetupStep = {
  id: "web",
  async run(talk, scene) {
    const id = await talk.choose<string>("Who answers the agent's searches in the web?", [
      { value: "auto", label: "Whoever has a key", hint: "the default" },
      ...PROVIDERS.map((one) => ({ value: one.id as string, label: one.id })),
      { value: "off", label: "Nobody" },
    ]);
    const base = ["tools", "web", "search"];
    const on = { path: [...base, "enabled"], value: id === "off" ? false : undefined };
    const only = { path: [...base, "provider"], value: id === "auto" || id === "off" ? undefined : id };
    const field = id === "searxng" ? "baseUrl" : "apiKey";
    const needsNone = ["auto", "off", "duckduckgo"].includes(id);
    const message = `${field === "apiKey" ? "Key" : "Address"} of ${id}; empty for the one of its variable`;
    const typed = needsNone ? "" : await talk.typeHidden({ message, mayBeEmpty: true });
    await writeEdits(scene, [on, only, ...(typed === "" ? [] : [{ path: [...base, id, field], value: typed }])]);
    talk.done("Written. openclaw doctor says who is asked.");
  },
};

/** Switches entries of a list on and off until the person is done. */
async function switchEach(
  talk: TerminalQuestions,
  message: string,
  { rows, set }: { rows: () => Promise<readonly Row[]>; set: (id: string, isOn: boolean) => Promise<void> },
): Promise<void> {
  for (;;) {
    const found = await rows();
    const id = await talk.choose<string>(message, [
      { value: "", label: "Done" },
      ...found.map((row) => ({
        value: row.id,
        label: `${row.isOn ? "on " : "off"}  ${row.id}`,
        ...(row.hint !== undefined && { hint: row.hint }),
      })),
    ]);
    const row = found.find((one) => one.id === id);
    if (!row) return;
    await set(row.id, !row.isOn);
  }
}

interface Row {
  readonly id: string;
  readonly isOn: boolean;
  readonly hint?: string;
}

export const PLUGINS_STEP: SetupStep = {
  id: "plugins",
  async run(talk, { io, state }) {
    const rows = async (): Promise<readonly Row[]> => {
      const { config, plugins } = await loadConfig(state.load);
      return plugins.plugins.map(({ manifest: { id } }) => ({
        id,
        isOn: config.plugins.entries[id]?.enabled === true,
      }));
    };
    if ((await rows()).length === 0)
      return talk.warn("No plugin is installed. Install one: openclaw plugins install <source>");
    await switchEach(talk, "Which plugins are loaded?", {
      rows,
      set: async (id, isOn) => void (await (isOn ? pluginsEnable : pluginsDisable)(quiet(io), id, {})),
    });
  },
};

export const SKILLS_STEP: SetupStep = {
  id: "skills",
  async run(talk, scene) {
    const { paths, load } = scene.state;
    const rows = async (): Promise<readonly Row[]> => {
      const { config } = await loadConfig(load);
      const sources = skillSources(mainAgent(scene), { config, stateDir: paths.stateDir, env: scene.io.env });
      return (await surveySkills(sources)).map(({ skill, blockedBy, isUsable }) => ({
        id: skill.key ?? skill.name,
        isOn: !blockedBy.includes("config"),
        ...(!isUsable && !blockedBy.includes("config") && { hint: "this machine lacks something it needs" }),
      }));
    };
    await switchEach(talk, "Which skills may the agent use?", {
      rows,
      set: (id, isOn) => writeEdits(scene, [{ path: ["skills", "entries", id, "enabled"], value: isOn }]),
    });
  },
};

import { existsSync, realpathSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Contributions } from "../../plugins/contributions.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";
import { unlessMissing } from "../../utils/missing.ts";
import type { LoadedConfig } from "../config/load.ts";
import { configSchema } from "../config/schema/schema.ts";
import { readConfigSource } from "../config/source.ts";
import { isRecord, valueAt } from "../config/schema/problem.ts";
import { installedRoot } from "../package-root.ts";
import { isInstalled, serviceHere, type Service } from "./here.ts";
import { servicePlan, type ServiceChoices } from "./service.ts";
import { keptVariables, serviceVariables } from "./variables.ts";
import { readTextFile } from "../../store/text-file.ts";

/** A fault of an installed service, and the command that mends it. */
interface ServiceFault {
  readonly message: string;
  readonly fix: string;
  /** The service cannot start with it. */
  readonly isFatal?: true;
}

const AGAIN = "openclaw gateway install";

interface AuditScene {
  readonly env: Env;
  readonly contributions: Contributions;
}

/**
 * The faults of the installed service: what it lacks, where it differs from the one that this version would write, and what the machine has
 * meanwhile. Undefined where none is installed.
 */
export async function auditService(
  loaded: Pick<LoadedConfig, "config" | "variables">,
  scene: AuditScene,
): Promise<{ readonly name: string; readonly faults: readonly ServiceFault[] } | undefined> {
  const service = serviceIn(scene.env);
  if (!service || !(await isInstalled(service.manager))) return undefined;
  const faults = [...(await variableFaults(service, loaded, scene)), ...(await faultsOf(service))];
  return { name: service.manager.name, faults };
}

function serviceIn(env: Env): Service | undefined {
  try {
    return serviceHere(env);
  } catch (error) {
    if (error instanceof OpenClawError && error.code === "SERVICE_UNSUPPORTED") return undefined;
    throw error;
  }
}

/** A terminal has the variables that the config refers to, a service does not by itself. */
async function variableFaults(
  service: Service,
  loaded: Pick<LoadedConfig, "config" | "variables">,
  scene: AuditScene,
): Promise<readonly ServiceFault[]> {
  const { needed } = serviceVariables(loaded, scene);
  const { env, secretsFile } = servicePlan(service.paths, service.scene);
  const ofPerson = (await dropIns(service)).flatMap(({ text }) =>
    [...text.matchAll(/([A-Za-z_]\w*)=/g)].map((match) => match[1] ?? ""),
  );
  const known = new Set([...Object.keys(env), ...(await keptVariables(secretsFile)), ...ofPerson]);
  const lacking = needed.filter((name) => !known.has(name)).join(", ");
  if (lacking === "") return [];
  const message = `${service.manager.name} does not have ${lacking}, which this terminal has and the config needs.`;
  return [{ message, fix: `Install it again from this terminal: ${AGAIN}` }];
}

/** The files by which a person adds to the service. */
async function dropIns({ manager }: Service): Promise<readonly ServiceText[]> {
  const folder = `${manager.file}.d`;
  const paths = ((await unlessMissing(readdir(folder))) ?? []).map((name) => join(folder, name));
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(path, "utf8") })));
}

async function faultsOf(service: Service): Promise<readonly ServiceFault[]> {
  const texts = await textsOf(service);
  const command = commandIn(texts.map(({ text }) => text).join("\n"));
  const ofText = [
    ...(command ? programFaults(command) : []),
    ...directoryFaults(service, texts),
    ...secretFaults([...texts, ...(await dropIns(service))]),
  ];
  return [
    // What is named already makes the text differ too.
    ...(ofText.length > 0 ? ofText : textFaults(service, texts, command)),
    ...rootFaults(service),
    ...(await logoutFaults(service)),
    ...(await portFaults(service, command)),
  ];
}

/** Whether a text gives a variable this value, and not only one that begins so. */
const gives = (text: string, name: string, value: string): boolean =>
  text
    .split(name)
    .slice(1)
    .map((rest) => rest.replace(/^(?:=|<\/key>\s*<string>)["']?/, ""))
    .some((rest) => rest.startsWith(value) && /^(?:["'<\s]|$)/.test(rest.slice(value.length)));

interface ServiceText {
  readonly path: string;
  readonly text: string;
}

/** The files of the service as they are. */
async function textsOf({ manager, paths, scene }: Service): Promise<readonly ServiceText[]> {
  const files = manager.files(servicePlan(paths, scene));
  return Promise.all(files.map(async ({ path }) => ({ path, text: (await readTextFile(path)) ?? "" })));
}

/** The command line of a service. */
interface ServiceCommand {
  readonly wrapper?: string;
  readonly node: string;
  readonly program: string;
  readonly port?: number;
}

/** Words of systemd, a POSIX shell and a script of Windows. */
const WORD = /"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+)/g;

/** The command line in the text of any service manager; undefined where none runs this program. */
function commandIn(text: string): ServiceCommand | undefined {
  const line = text.split(/\r?\n/).find((one) => /openclaw\.mjs\b.*\bgateway\b/.test(one));
  if (line === undefined) return undefined;
  const words = [...line.replace(/^(?:ExecStart=|exec )/, "").matchAll(WORD)].map(([, double, single, plain]) =>
    (double?.replaceAll(/\\([\\"])/g, "$1") ?? single ?? plain ?? "").replaceAll("%%", "%").replaceAll("$$", "$"),
  );
  const at = words.findIndex((word) => word.endsWith("openclaw.mjs"));
  const [node, program] = [words[at - 1], words[at]];
  if (node === undefined || program === undefined) return undefined;
  const flag = words.indexOf("--port");
  const wrapper = words[at - 2];
  return {
    node,
    program,
    ...(wrapper !== undefined && { wrapper }),
    ...(flag !== -1 && { port: Number(words[flag + 1]) }),
  };
}

/** Folders in which managers of versions keep Node; the next version has another one. */
const VERSION_MANAGER = /[\\/]\.?(nvm|volta|fnm|fnm_multishells|asdf|nodenv|mise|nvs|nodebrew)[\\/]/;

function programFaults({ node, program, wrapper }: ServiceCommand): readonly ServiceFault[] {
  const faults: ServiceFault[] = [];
  for (const [what, path] of [
    ["Node", node],
    ["the program", program],
    ["the wrapper", wrapper],
  ] as const)
    if (path !== undefined && !existsSync(path))
      faults.push({
        message: `The service starts ${what} at ${path}, where it is no more.`,
        fix: AGAIN,
        isFatal: true,
      });
  const own = join(installedRoot(), "bin", "openclaw.mjs");
  if (existsSync(program) && realOf(program) !== realOf(own))
    faults.push({ message: `The service runs ${program}, and this program is ${own}.`, fix: `For this one: ${AGAIN}` });
  const manager = VERSION_MANAGER.exec(node)?.[1];
  if (manager !== undefined && existsSync(node))
    faults.push({
      message: `The service runs the Node of ${manager} (${node}), which goes with the next change of the version there.`,
      fix: `Install Node for the whole machine, then: ${AGAIN} --runtime-path /usr/bin/node`,
    });
  return faults;
}

const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    // A clone that was moved: its path is as good as its name.
    return resolve(path);
  }
};

/** The service is that of another directory or config than its name says. */
function directoryFaults({ paths, scene, manager }: Service, texts: readonly ServiceText[]): readonly ServiceFault[] {
  // Windows keeps paths as they are, and one of its shares begins with what others keep a character by.
  const text = [plainOf(texts), ...texts.map((one) => one.text)].join("\n");
  const { OPENCLAW_STATE_DIR: stateDir = "", OPENCLAW_CONFIG_PATH: config } = servicePlan(paths, scene).env;
  if (!text.includes("OPENCLAW_STATE_DIR"))
    return [{ message: `${manager.name} does not say that its state directory is ${stateDir}.`, fix: AGAIN }];
  if (!gives(text, "OPENCLAW_STATE_DIR", stateDir))
    return [{ message: `${manager.name} has another state directory than ${stateDir}.`, fix: AGAIN }];
  if (config !== undefined && !gives(text, "OPENCLAW_CONFIG_PATH", config))
    return [
      { message: `This terminal has OPENCLAW_CONFIG_PATH=${config}, and the service has another config.`, fix: AGAIN },
    ];
  return [];
}

/** The texts without the marks by which systemd and XML keep a character. */
const plainOf = (texts: readonly ServiceText[]): string =>
  texts
    .map(({ text }) => text)
    .join("\n")
    .replaceAll("%%", "%")
    .replaceAll("$$", "$")
    .replaceAll(/\\([\\"])/g, "$1")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

const SECRET = /\b([A-Z][A-Z0-9_]*(?:TOKEN|API_KEY|PASSWORD|SECRET)(?:_[A-Z0-9_]+)?)(?:=|<\/key><string>)\S/g;

function secretFaults(texts: readonly ServiceText[]): readonly ServiceFault[] {
  return texts.flatMap(({ path, text }) => {
    const names = [...new Set([...text.matchAll(SECRET)].map((match) => match[1] ?? ""))];
    if (names.length === 0) return [];
    const message = `${path} has ${names.join(", ")} in it, which every program of this user can ask the service manager for.`;
    return [
      {
        message,
        fix: `Take ${names.length === 1 ? "it" : "them"} out there, and from a terminal with ${names.length === 1 ? "it" : "them"}: ${AGAIN}`,
      },
    ];
  });
}

const rootFaults = ({ scene: { uid } }: Service): readonly ServiceFault[] =>
  uid !== 0 || process.platform === "win32"
    ? []
    : [
        {
          message: "The service runs as root, so that commands of agents may do anything on this machine.",
          fix: "openclaw gateway uninstall; then, as a user of its own that owns the state directory: openclaw gateway install",
        },
      ];

/** Without lingering, systemd ends the services of a user with the last login. */
async function logoutFaults({ manager, scene: { run, user, uid } }: Service): Promise<readonly ServiceFault[]> {
  if (manager.kind !== "systemd" || uid === 0) return [];
  // A machine without loginctl ends nothing at a logout.
  const shown = await run(["loginctl", "show-user", user, "--property", "Linger"]).catch(() => undefined);
  if (!shown?.out.includes("Linger=no")) return [];
  return [
    {
      message: `${manager.name} ends when ${user} logs out, and does not start with the machine.`,
      fix: `sudo loginctl enable-linger ${user}`,
    },
  ];
}

/** Lines that depend on the terminal from which the service is looked at. */
const OF_TERMINAL = /^.*\b(?:PATH|NODE_EXTRA_CA_CERTS|HOME|USER|OPENCLAW_CONFIG_PATH)(?:=|<\/key>).*$\r?\n?/gm;

function textFaults(
  { manager, paths, scene }: Service,
  texts: readonly ServiceText[],
  command: ServiceCommand | undefined,
): readonly ServiceFault[] {
  const choices: ServiceChoices = {
    ...(command && { runtimePath: command.node }),
    ...(command?.port !== undefined && { port: command.port }),
    ...(command?.wrapper !== undefined && { wrapper: command.wrapper }),
  };
  const wanted = manager.files(servicePlan(paths, scene, choices));
  const bare = (text: string) => text.replaceAll(OF_TERMINAL, "");
  const differing = wanted.filter(
    ({ path, text }) => bare(texts.find((one) => one.path === path)?.text ?? "") !== bare(text),
  );
  return differing.map(({ path }) => ({
    message: `${path} was written by another version, or changed by hand.`,
    fix: `${AGAIN} (your own lines belong into a drop-in, as its first line says)`,
  }));
}

/** Other services of gateways on this machine that have the same port. */
async function portFaults(service: Service, command: ServiceCommand | undefined): Promise<readonly ServiceFault[]> {
  const { manager, paths } = service;
  const own = command?.port ?? (await portIn(paths.configPath));
  const folders = [dirname(manager.file), ...(process.platform === "linux" ? ["/etc/systemd/system"] : [])];
  const faults: ServiceFault[] = [];
  for (const folder of new Set(folders)) {
    const names = (await unlessMissing(readdir(folder))) ?? [];
    for (const name of names.filter((one) => OTHER.test(one))) {
      const file = join(folder, name);
      if (file === manager.file) continue;
      if ((await portOf(file, service)) === own) faults.push(samePort(file, own, manager.name));
    }
  }
  return faults;
}

const OTHER = /^(?:openclaw-gateway.*\.service|(?:ai|com)\.openclaw\..*\.plist)$/;

const samePort = (file: string, port: number, name: string): ServiceFault => ({
  message: `${basename(file)} (${file}) and ${name} both have port ${port}: only one of them can start.`,
  fix: "Give this one another port: openclaw config set gateway.port 18790. Or remove the other one with its own program.",
});

/** The port of another service: of its command line, its environment or its config. */
async function portOf(file: string, { scene }: Service): Promise<number> {
  const text = plainOf([{ path: file, text: (await readTextFile(file)) ?? "" }]);
  const wrapper = /<string>([^<]*\.sh)<\/string>/.exec(text)?.[1];
  const script = wrapper === undefined ? "" : ((await readTextFile(wrapper)) ?? "");
  const told =
    /--port["',\s]+(?:<string>)?["']?(\d+)/.exec(`${text}\n${script}`) ??
    /OPENCLAW_GATEWAY_PORT(?:=|<\/key>\s*<string>)"?(\d+)/.exec(text);
  if (told) return Number(told[1]);
  const variable = (name: string) => new RegExp(`${name}(?:=|</key>\\s*<string>)([^"<\\n]+)`).exec(text)?.[1]?.trim();
  const stateDir = variable("OPENCLAW_STATE_DIR") ?? join(scene.home, ".openclaw");
  return portIn(variable("OPENCLAW_CONFIG_PATH") ?? join(stateDir, "openclaw.json"));
}

/** The port that a config names; the usual one where it names none or cannot be read. */
async function portIn(path: string): Promise<number> {
  // The config of another gateway is that gateway's to report.
  const source = await readConfigSource({ path }).catch(() => undefined);
  const named = isRecord(source?.value) ? valueAt(source.value, ["gateway", "port"]) : undefined;
  return typeof named === "number" ? named : configSchema.parse({}).gateway.port;
}

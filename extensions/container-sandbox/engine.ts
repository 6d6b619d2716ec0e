import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { unlessMissing } from "openclaw/plugin-sdk";
import type {
  ContainedCommand,
  EngineFacts,
  EnginePlace,
  EngineTrial,
  PreparedLaunch,
  SandboxEngine,
  Unusable,
} from "openclaw/plugin-sdk";
import { Containers, isFailed, newContainer } from "./containers.ts";
import { containerLaunch } from "./launch.ts";

/** Docker or podman, as one gateway uses it. */
export function openContainerEngine(backend: EngineFacts["backend"], place: EnginePlace): SandboxEngine {
  const containers = new Containers(place);
  return {
    try: (wanted) => tryEngine({ ...wanted, backend, place }),
    prepare: (command, facts) => prepared(command, { facts, containers }),
    removeLeft: (facts) => containers.removeLeft(facts),
  };
}

interface Running {
  readonly facts: EngineFacts;
  readonly containers: Containers;
}

function prepared(command: ContainedCommand, { facts, containers }: Running): PreparedLaunch {
  const { launch, view, settings, owner, warn, doubt } = command;
  const labels = { "openclaw.sandbox": "1", "openclaw.agent": owner.agentId, "openclaw.session": owner.sessionKey };
  const container = containers.take(settings.docker, labels);
  return {
    ...containerLaunch(launch, view, { ...container, facts, settings }),
    processes: containers.processesOf(container, facts),
    async ended(end) {
      if (isFailed(end)) doubt();
      return containers.giveBack(container, { facts, end, warn }, settings.docker);
    },
  };
}

interface Trial extends EngineTrial {
  readonly backend: EngineFacts["backend"];
  readonly place: EnginePlace;
}

/**
 * Tries an engine: starts a container in the way of a command, in which a program makes a file that must belong to the
 * gateway's user.
 */
async function tryEngine(trial: Trial): ReturnType<SandboxEngine["try"]> {
  const { backend, settings, place, profile } = trial;
  const program = await place.findProgram(backend);
  if (program === undefined)
    return {
      ok: false,
      why: `${backend} is not installed`,
      fix: `Install ${backend}, or set agents.defaults.sandbox.backend to bwrap.`,
    };
  let last = { code: -1, text: "" };
  for (const way of waysToRun(backend, settings.docker.user)) {
    const facts = { backend, program, profile, holdsLimits: true, ...way };
    const { isOurs, ...end } = await makeFile(facts, trial);
    if (end.code === 0 && (isOurs || settings.docker.user !== undefined))
      return { ok: true, facts: { ...facts, holdsLimits: end.text.includes(LIMITED) } };
    last = end;
    // Another user in the container helps only if the program could write, and the file is not the gateway's.
    if (end.code !== 0 && !end.text.includes(MADE)) break;
  }
  return last.code === 0 || last.text.includes(MADE)
    ? SOMEBODY_ELSES
    : whyEngineFails(last.text, { backend, image: settings.docker.image });
}

const SOMEBODY_ELSES: Unusable = {
  ok: false,
  why: "commands in a container could not write the gateway's directories as its user",
  fix:
    "Set agents.defaults.sandbox.docker.user to the user who owns them in a container, or with SELinux run chcon -Rt container_file_t on the " +
    "state directory and the workspace, or set agents.defaults.sandbox.backend to bwrap.",
};

/** Users to try in a container. A docker without root calls its own user root. */
function waysToRun(
  backend: EngineFacts["backend"],
  chosen: string | undefined,
): readonly Pick<EngineFacts, "user" | "keepsId">[] {
  const uid = process.getuid?.() ?? 1000;
  const own = { user: `${uid}:${process.getgid?.() ?? 1000}`, keepsId: backend === "podman" && uid !== 0 };
  return backend === "docker" && uid !== 0 && chosen === undefined ? [own, { user: "0:0", keepsId: false }] : [own];
}

const MADE = "made-in-a-container";
const LIMITED = "limited-in-a-container";
/** Files in which a container sees its limit of processes, for both kinds of control groups. */
const LIMIT_FILES = ["/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"];
/** Makes the file, and prints whether the limit is the requested one. */
const SCRIPT = `echo > ${MADE} || exit 1; for file in ${LIMIT_FILES.join(" ")}; do [ -r $file ] && read most < $file && [ "$most" = "$0" ] && echo ${LIMITED}; done; exit 0`;
const TRIAL = "sandbox-trial-";
/** Milliseconds after which the directory of a trial is no longer in use. */
const TRIAL_MS = 60_000;

async function makeFile(facts: EngineFacts, { settings, place: { dir, env, runBriefly } }: Trial) {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await removeOldTrials(dir);
  const place = await mkdtemp(join(dir, TRIAL));
  try {
    const launch = { argv: ["/bin/sh", "-c", SCRIPT, String(settings.docker.pidsLimit)], cwd: place, env: {} } as const;
    const view = { mounts: [{ path: place, as: "rw" }], links: [] } as const;
    const about = newContainer(settings.docker.containerPrefix, { dir, env });
    const { code, text } = await runBriefly(containerLaunch(launch, view, { ...about, facts, settings }));
    // Without the file, the container could not write: the text of its end has the reason.
    const made = await unlessMissing(stat(join(place, MADE)));
    return { code, text, isOurs: made?.uid === process.getuid?.() };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Removes the directories of trials during which a gateway was killed. */
async function removeOldTrials(dir: string): Promise<void> {
  const names = (await readdir(dir)).filter((name) => name.startsWith(TRIAL));
  for (const path of names.map((name) => join(dir, name))) {
    // Another process may have removed the directory.
    const found = await unlessMissing(stat(path));
    if (found && Date.now() - found.mtimeMs > TRIAL_MS) await rm(path, { recursive: true, force: true });
  }
}

interface Facts {
  readonly backend: "docker" | "podman";
  readonly image: string;
}

type Explanation = Pick<Unusable, "why" | "fix">;

const KEY = "agents.defaults.sandbox";

/** Texts that the engine's client prints, with their meaning and remedy. The first row that matches counts. */
const CAUSES: readonly { readonly says: RegExp; readonly means: (facts: Facts) => Explanation }[] = [
  {
    says: /no such image|unable to find image|image not known|does not exist locally|repository does not exist/i,
    means: ({ backend, image }) => ({
      why: `${backend} has no image ${image}`,
      fix: `Build it, or run: ${backend} pull ${image}; or name another one (${KEY}.docker.image).`,
    }),
  },
  {
    says: /permission denied.*docker\.sock/i,
    means: () => ({
      why: "this user may not use docker",
      fix: `Run: sudo usermod -aG docker ${nameOfUser()}, then log in again and restart the gateway.`,
    }),
  },
  {
    says: /cannot connect|connection refused|is the docker daemon running|unable to connect/i,
    means: ({ backend }) => ({
      why: `${backend}'s engine does not run`,
      fix: `Start it, such as with: sudo systemctl start ${backend}.`,
    }),
  },
  {
    says: /(?:container-init|catatonit|docker-init).*not found/i,
    means: ({ backend }) => ({
      why: `${backend} lacks the program that becomes the first process of a container`,
      fix: "Run: sudo apt install catatonit (for docker: tini).",
    }),
  },
  {
    says: /executable file not found|no such file or directory.*\/bin\/sh|\/bin\/sh.*no such file/i,
    means: ({ image }) => ({
      why: `the image ${image} has no /bin/sh`,
      fix: `Name an image with a shell (${KEY}.docker.image).`,
    }),
  },
];

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    // The system has no name for the user.
    return "$USER";
  }
}

/** Reason why the engine could not start a program, from the output of its client. */
function whyEngineFails(said: string, facts: Facts): Unusable {
  const row = CAUSES.find(({ says }) => says.test(said));
  if (row) return { ok: false, ...row.means(facts) };
  const line = said.split("\n").findLast((one) => one.trim() !== "") ?? "";
  return {
    ok: false,
    why: line === "" ? `${facts.backend} did not answer within ten seconds` : `${facts.backend} failed: ${line}`,
    fix: `Run: ${facts.backend} run --rm ${facts.image} true, to see the cause; or set ${KEY}.backend to bwrap.`,
  };
}

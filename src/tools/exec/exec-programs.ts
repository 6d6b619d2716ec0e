import { basename } from "node:path";

/** Files that a program reads although its arguments do not name them. Keys are names without version and `.exe`. */
const READS: Readonly<Record<string, readonly string[]>> = {
  make: ["Makefile", "makefile", "GNUmakefile"],
  gmake: ["Makefile", "makefile", "GNUmakefile"],
  just: ["justfile", "Justfile", ".justfile"],
  task: ["Taskfile.yml", "Taskfile.yaml"],
  rake: ["Rakefile", "rakefile"],
  npm: ["package.json", ".npmrc"],
  npx: ["package.json", ".npmrc"],
  pnpm: ["package.json", ".npmrc", "pnpm-workspace.yaml"],
  yarn: ["package.json", ".yarnrc.yml", ".yarnrc"],
  bun: ["package.json", "bunfig.toml"],
  bunx: ["package.json", "bunfig.toml"],
  node: ["package.json", "index.js"],
  deno: ["deno.json", "deno.jsonc"],
  python: ["__main__.py", "__init__.py", "sitecustomize.py"],
  pytest: ["conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"],
  tox: ["tox.ini", "pyproject.toml", "setup.cfg"],
  pip: ["setup.py", "pyproject.toml", "setup.cfg"],
  uv: ["pyproject.toml", "uv.toml"],
  poetry: ["pyproject.toml"],
  cargo: ["Cargo.toml", "build.rs"],
  go: ["go.mod"],
  gradle: ["build.gradle", "build.gradle.kts", "settings.gradle"],
  gradlew: ["build.gradle", "build.gradle.kts", "settings.gradle"],
  mvn: ["pom.xml"],
  ant: ["build.xml"],
  cmake: ["CMakeLists.txt"],
  ninja: ["build.ninja"],
  docker: ["Dockerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"],
  podman: ["Dockerfile", "Containerfile", "compose.yml", "compose.yaml"],
  git: [".git/config", "config", "HEAD"],
  composer: ["composer.json"],
  bundle: ["Gemfile"],
};

/** Programs that run code from their arguments or their input. */
const INTERPRETERS = new Set(
  (
    "sh bash dash zsh ksh fish csh tcsh ash rbash busybox toybox pwsh powershell cmd python pypy perl ruby node nodejs deno bun php " +
    "lua luajit awk gawk mawk nawk sed ed ex vi vim emacs rscript r julia osascript elixir erl groovy java scala tclsh expect gdb " +
    "tsx ts-node jshell ghci swift"
  ).split(" "),
);

/** Programs that run other programs, or code of the surrounding project, that the command does not name. */
const RUNNERS = new Set(
  (
    "env xargs find fd parallel sudo doas su nohup nice ionice setsid stdbuf time timeout watch script ssh flock chroot unshare " +
    "eval exec source command builtin trap . make gmake cmake ninja just task rake npm npx pnpm pnpx yarn bunx corepack pip pipx " +
    "uv uvx poetry pdm hatch conda cargo rustc go gradle gradlew mvn mvnw ant bazel buck mage tox nox pytest py.test unittest jest " +
    "vitest mocha ava jasmine karma playwright cypress tsc eslint prettier webpack vite rollup parcel turbo nx lerna composer phpunit " +
    "artisan bundle gem rspec dotnet msbuild xcodebuild docker docker-compose podman nerdctl kubectl helm terraform tofu ansible " +
    "ansible-playbook vagrant packer pre-commit lefthook husky crontab at batch systemctl launchctl direnv mise asdf meson scons"
  ).split(" "),
);

/** Programs that never run what their arguments name, whatever their options, so the files' content does not matter. */
const DATA_PROGRAMS = new Set(
  "cat head tail ls wc stat du df touch mkdir rmdir cut tr uniq cmp md5sum sha1sum sha256sum grep echo printf test basename dirname true false pwd date".split(
    " ",
  ),
);

/** True for the bare name only: `./cat` may be anything. */
export const isDataProgram = (word: string): boolean => DATA_PROGRAMS.has(word);

/** `/usr/bin/python3.11` is `python`. */
export function programName(word: string): string {
  const plain = basename(word.replaceAll("\\", "/"))
    .toLowerCase()
    .replace(/\.exe$/, "");
  return plain.replace(/(?<=[a-z])-?\d+(?:\.\d+)*$/, "") || plain;
}

/** The files that a program by this name reads by itself. */
export const readsByItself = (word: string): readonly string[] => {
  const name = programName(word);
  return Object.hasOwn(READS, name) ? (READS[name] ?? []) : [];
};

export const isInterpreter = (word: string): boolean => INTERPRETERS.has(programName(word));
export const isRunner = (word: string): boolean => RUNNERS.has(programName(word)) || word === ".";

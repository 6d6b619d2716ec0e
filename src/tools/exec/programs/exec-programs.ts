import { programName } from "./kinds.ts";

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

/**
 * Programs that never run the files that their arguments name, whatever their options, so the files' content does not
 * matter.
 */
const DATA_PROGRAMS = new Set(
  "cat head tail ls wc stat du df touch mkdir rmdir cut tr uniq cmp md5sum sha1sum sha256sum grep echo printf test basename dirname true false pwd date".split(
    " ",
  ),
);

/**
 * Whether a word is the bare name of a program that only treats files as data. `./cat` is not: it may be any program.
 */
export const isDataProgram = (word: string): boolean => DATA_PROGRAMS.has(word);

/** Files that a program of this name reads by itself. */
export const readsByItself = (word: string): readonly string[] => {
  const name = programName(word);
  return Object.hasOwn(READS, name) ? (READS[name] ?? []) : [];
};

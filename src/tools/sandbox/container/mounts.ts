import { join, relative } from "node:path";
import { isInside } from "../../../utils/real-path.ts";
import type { Mount, View } from "../view.ts";

/** The engine reads the parts of a mount as one line of comma-separated values. */
const mount = (...parts: readonly string[]): readonly string[] => [
  "--mount",
  parts.map((part) => (/[",\r\n]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part)).join(","),
];

export type Engine = "docker" | "podman";

/** Podman would copy what lies below a directory in memory into it, so that nothing would be hidden. */
const bare: Readonly<Record<Engine, readonly string[]>> = { docker: [], podman: ["notmpcopyup"] };

/** The mounts of a container: what a view has, at its own path and at those that lead to it by a link. Pure. */
export const mountArgs = ({ mounts, links }: View, engine: Engine): readonly string[] => [
  ...mounts.flatMap((one) => argsOf(one, one.path, engine)),
  ...links.flatMap(({ at, to }) =>
    mounts.flatMap((one) => (isInside(one.path, to) ? argsOf(one, join(at, relative(to, one.path)), engine) : [])),
  ),
];

function argsOf({ path, from = path, as }: Mount, target: string, engine: Engine): readonly string[] {
  switch (as) {
    case "ro":
      return mount("type=bind", `source=${from}`, `target=${target}`, "readonly");
    case "rw":
      return mount("type=bind", `source=${from}`, `target=${target}`);
    case "empty":
    case "frame":
      return mount("type=tmpfs", `target=${target}`, "ro", ...bare[engine]);
    case "blank":
      return mount("type=bind", "source=/dev/null", `target=${target}`, "readonly");
  }
}

/** A directory in memory, for everybody. Pure. */
export const temporaryArgs = (path: string, sizeMb: number, engine: Engine): readonly string[] =>
  /[:,]/.test(path)
    ? mount("type=tmpfs", `target=${path}`, "tmpfs-mode=1777", `tmpfs-size=${sizeMb * 1_048_576}`, ...bare[engine])
    : ["--tmpfs", `${path}:${["exec", "mode=1777", `size=${sizeMb}m`, ...bare[engine]].join(",")}`];

import type { Aside } from "../../types/media/drawing.ts";
import type { SideCost } from "../../types/run/run.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { askAsideIn } from "./ask.ts";
import { drawAsideIn } from "./draw.ts";

/** How each tool of a run asks models outside of the conversation. `spent` gets the cost of each call, also of one that failed. */
export function asidesIn(request: RunRequest, deps: RunDeps, spent: (cost: SideCost) => void): (tool: string) => Aside {
  const [ask, draw] = [askAsideIn(request, deps, spent), drawAsideIn(request, deps, spent)];
  return (tool) => ({ ask: ask(tool), draw: draw(tool) });
}

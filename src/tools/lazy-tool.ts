import type { Tool, ToolContext, ToolContribution, ToolResult, ToolScene } from "../types/run/tool.ts";
import type { Risk } from "../types/run/untrusted.ts";
import { BoundedMap } from "../utils/bounded-map.ts";
import { once } from "../utils/share-calls.ts";
import { keepingLong } from "./result-text.ts";

/** Parts of a tool that do not depend on the run. */
type Appearance = Omit<Tool, "riskOf" | "run">;

/** Most remembered appearances of one contribution, for example for different places of commands. */
const MOST_APPEARANCES = 16;

const appearances = new WeakMap<ToolContribution, Map<string, Appearance>>();

/** The `appearance` of a tool that every run has, and that is the same in each. */
export const sameInEachRun = (): string => "";

interface Distinct {
  readonly byName: ReadonlyMap<string, ToolContribution>;
  readonly all: readonly ToolContribution[];
}

/**
 * The contributions by their names, in their order. Computed once per list, because the runs of one config have the
 * same list.
 */
const grouped = once((contributions: readonly ToolContribution[]) => {
  const groups = Map.groupBy(contributions, ({ name }) => name);
  const byName = new Map([...groups].flatMap(([name, [first]]) => (first ? [[name, first] as const] : [])));
  const shared = [...groups.values()].filter((group) => group.length > 1);
  return { first: { byName, all: [...byName.values()] } satisfies Distinct, shared };
});

/**
 * One contribution for each name: the first that makes a tool for this run. So a tool of the gateway that is switched
 * off leaves its name to a plugin's.
 */
export function distinct(contributions: readonly ToolContribution[], scene: ToolScene): Distinct {
  const { first, shared } = grouped(contributions);
  if (shared.length === 0) return first;
  const byName = new Map(first.byName);
  for (const group of shared) {
    const found = group.find((contribution) => hasTool(contribution, scene));
    if (found) byName.set(found.name, found);
  }
  return { byName, all: [...byName.values()] };
}

/**
 * Whether a contribution has a tool for the run. True for a contribution that throws: the run reports the error when it
 * makes the tool.
 */
function hasTool(contribution: ToolContribution, scene: ToolScene): boolean {
  try {
    return lazyToolFor(contribution, scene) !== undefined;
  } catch {
    return true;
  }
}

/**
 * The contribution's tool for one run; undefined when the run has no use for it. Throws the errors of the contribution.
 */
export function lazyToolFor(contribution: ToolContribution, scene: ToolScene): Tool | undefined {
  const key = contribution.appearance?.(scene);
  if (key === false) return undefined;
  const known = key === undefined ? undefined : appearances.get(contribution)?.get(key);
  if (known) return new LazyTool(known, contribution, scene);
  const tool = madeBy(contribution, scene);
  if (!tool) return undefined;
  if (key !== undefined) remember(contribution, key, tool);
  return new LazyTool(tool, contribution, scene, tool);
}

function madeBy(contribution: ToolContribution, scene: ToolScene): Tool | undefined {
  const { name } = contribution;
  const tool = contribution.forRun(scene);
  if (tool && tool.name !== name) throw new Error(`it made a tool with another name, "${tool.name}"`);
  return tool;
}

/** Remembers a tool without the parts that depend on the run. */
function remember(
  contribution: ToolContribution,
  key: string,
  { riskOf: _riskOf, run: _run, ...appearance }: Tool,
): void {
  const known = appearances.get(contribution) ?? new BoundedMap<string, Appearance>(MOST_APPEARANCES);
  known.set(key, appearance);
  appearances.set(contribution, known);
}

/**
 * A tool of one run, which is made at its first use: most runs use none of their tools. The rest of a result that is
 * too long for the model is kept in a file, which the result names.
 */
class LazyTool implements Tool {
  readonly #appearance: Appearance;
  readonly #contribution: ToolContribution;
  readonly #scene: ToolScene;
  #made: Tool | undefined;

  constructor(appearance: Appearance, contribution: ToolContribution, scene: ToolScene, made?: Tool) {
    this.#appearance = appearance;
    this.#contribution = contribution;
    this.#scene = scene;
    this.#made = made;
  }

  get name(): string {
    return this.#appearance.name;
  }

  get label(): string {
    return this.#appearance.label;
  }

  get description(): string {
    return this.#appearance.description;
  }

  get input(): Tool["input"] {
    return this.#appearance.input;
  }

  get jsonSchema(): Tool["jsonSchema"] {
    return this.#appearance.jsonSchema;
  }

  get slowArguments(): Tool["slowArguments"] {
    return this.#appearance.slowArguments;
  }

  get prepare(): Tool["prepare"] {
    return this.#appearance.prepare;
  }

  get timeoutMs(): number | undefined {
    return this.#appearance.timeoutMs;
  }

  get hasSideEffects(): boolean {
    return this.#appearance.hasSideEffects;
  }

  async riskOf(input: unknown, context: Pick<ToolContext, "workspace">): Promise<Risk | readonly Risk[] | undefined> {
    return this.#tool().riskOf?.(input, context);
  }

  async run(input: unknown, context: ToolContext): Promise<ToolResult> {
    return keepingLong(await this.#tool().run(input, context), this.#scene.files, context);
  }

  #tool(): Tool {
    this.#made ??= madeBy(this.#contribution, this.#scene);
    if (!this.#made) throw new Error(`${this.name} is not available any more: the config was changed.`);
    return this.#made;
  }
}

/** The same tool with another `run`. */
export const withRun = (tool: Tool, run: Tool["run"]): Tool => ({
  name: tool.name,
  label: tool.label,
  description: tool.description,
  input: tool.input,
  jsonSchema: tool.jsonSchema,
  slowArguments: tool.slowArguments,
  prepare: tool.prepare,
  timeoutMs: tool.timeoutMs,
  hasSideEffects: tool.hasSideEffects,
  riskOf: async (input, context) => tool.riskOf?.(input, context),
  run,
});

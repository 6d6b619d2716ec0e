import { HOOK_NAMES, type HookHandler, type HookName, type HookOptions } from "../types/run/hooks.ts";

/** A hook with the contributor that added it. */
export interface AddedHook<N extends HookName = HookName> {
  readonly owner: string;
  readonly name: N;
  readonly handler: HookHandler<N>;
  readonly options: HookOptions;
}

type Rows = { [N in HookName]: AddedHook<N>[] };

/** The hooks of all contributors by name: those with the higher priority first, then in the order of their registration. */
export class HookTable {
  readonly #rows: Rows = { before_prompt_build: [], before_agent_start: [], agent_end: [] };

  add<N extends HookName>(hook: AddedHook<N>): void {
    const rows: AddedHook<N>[] = this.#rows[hook.name];
    const at = rows.findIndex(({ options }) => (options.priority ?? 0) < (hook.options.priority ?? 0));
    rows.splice(at < 0 ? rows.length : at, 0, hook);
  }

  removeOf(owner: string): void {
    for (const name of HOOK_NAMES) this.#removeFrom(name, owner);
  }

  #removeFrom(name: HookName, owner: string): void {
    const rows: { readonly owner: string }[] = this.#rows[name];
    for (let at = rows.length - 1; at >= 0; at--) if (rows[at]?.owner === owner) rows.splice(at, 1);
  }

  of<N extends HookName>(name: N): readonly AddedHook<N>[] {
    return this.#rows[name];
  }

  namesOf(owner: string): readonly HookName[] {
    return HOOK_NAMES.filter((name) => this.#rows[name].some((hook) => hook.owner === owner));
  }
}

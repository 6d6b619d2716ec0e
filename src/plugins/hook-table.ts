import type { HookName } from "../types/hook/hook-table.ts";
import type { HookHandler, HookOptions } from "../types/hook/hooks.ts";

/** A hook with the contributor that added it. */
export interface AddedHook {
  readonly owner: string;
  readonly name: HookName;
  readonly handler: HookHandler;
  readonly options: HookOptions;
}

const isCalled = ({ options }: AddedHook): boolean => options.isCalled?.() ?? true;

const NONE: readonly AddedHook[] = [];

/**
 * The hooks of all contributors by name: hooks with the higher priority first, then in the order of their registration.
 */
export class HookTable {
  readonly #rows = new Map<HookName, AddedHook[]>();

  add(hook: AddedHook): void {
    const rows = this.#rows.get(hook.name) ?? [];
    const at = rows.findIndex(({ options }) => (options.priority ?? 0) < (hook.options.priority ?? 0));
    // A new list, because calls under way go through the old one.
    this.#rows.set(hook.name, rows.toSpliced(at < 0 ? rows.length : at, 0, hook));
  }

  removeOf(owner: string): void {
    for (const [name, rows] of this.#rows) {
      const left = rows.filter((hook) => hook.owner !== owner);
      if (left.length > 0) this.#rows.set(name, left);
      else this.#rows.delete(name);
    }
  }

  /** Hooks that are called now. */
  of(name: HookName): readonly AddedHook[] {
    const rows = this.#rows.get(name) ?? NONE;
    return rows.every(isCalled) ? rows : rows.filter(isCalled);
  }

  namesOf(owner: string): readonly HookName[] {
    const isOwn = (hook: AddedHook) => hook.owner === owner && isCalled(hook);
    return [...this.#rows].flatMap(([name, rows]) => (rows.some(isOwn) ? [name] : []));
  }
}

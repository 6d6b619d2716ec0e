/** File in Git's `rebase-merge` directory: the steps of a rebase that is under way. */
export const REBASE_STEPS = "git-rebase-todo";

/** Whether one of the steps is a command. Pure. */
export const hasCommand = (steps: string): boolean => /^\s*(?:x|exec)\b/m.test(steps);

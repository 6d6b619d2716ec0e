import type { Fields } from "../../utils/fields.ts";
import type { AgentId, SessionKey } from "../ids.ts";
import type { Principal } from "../run/principal.ts";

/** Who asks about scheduled jobs, and in which conversation. */
export interface CronAsker {
  readonly principal: Principal;
  readonly sessionKey: SessionKey;
  readonly agentId: AgentId;
}

/** Operations of agents on scheduled jobs. A text as result is the reason why the operation was not done. */
export interface CronActs {
  status(): object;
  list(wish: { readonly includeDisabled: boolean }, asker: CronAsker): readonly object[];
  get(id: string, asker: CronAsker): object | string;
  /** `contextMessages`: so many of the conversation's last messages join the text of the job. */
  add(job: Fields, how: { readonly contextMessages: number }, asker: CronAsker): Promise<object | string>;
  update(id: string, patch: Fields, asker: CronAsker): Promise<object | string>;
  remove(id: string, asker: CronAsker): Promise<object | string>;
  run(id: string, mode: "due" | "force", asker: CronAsker): Promise<object | string>;
  /** The run of a job says when the next one is wanted: milliseconds after its end. */
  nextCheck(ms: number, asker: CronAsker): Promise<object | string>;
  runs(id: string, asker: CronAsker): Promise<object | string>;
  /** Gives the agent a text: at once, or before its next turn. */
  wake(text: string, mode: "now" | "next-heartbeat", asker: CronAsker): Promise<object | string>;
}

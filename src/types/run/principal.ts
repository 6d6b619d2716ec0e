import { z } from "zod";
import type { SessionKey } from "../ids.ts";
import type { Answer } from "../method.ts";
import type { ElevatedLevel, SessionExec } from "./exec-wish.ts";
import type { ChatToolRules, SenderNames, ToolLists } from "../tool-policy.ts";

/**
 * The party for whom a turn acts. The rights of the turn to read, write, run and send follow from the principal, never
 * from the session alone.
 * - `owner`: somebody whom `commands.ownerAllowFrom` names, or the operator.
 * - `sender`: a person in a direct chat who is no owner.
 * - `member`: a person in a group who is no owner.
 * - `automation`: nobody wrote; it acts with the rights of the person who set it up.
 * - `plugin`: a plugin asked for the turn; it acts with the rights of the turn in which the plugin was called.
 */
export type Principal =
  | { readonly kind: "owner" | "sender" | "member"; readonly id: string; readonly name?: string }
  | {
      readonly kind: "automation" | "plugin";
      readonly id: string;
      readonly name?: string;
      readonly setUpBy: "owner" | "guest";
    };

/** The principal with the gateway's token: the page, the command line, HTTP clients. */
export const OPERATOR: Principal = { kind: "owner", id: "operator" };

/** A turn of everybody else's is a guest's turn. */
export function hasOwnerRights(principal: Principal): boolean {
  return "setUpBy" in principal ? principal.setUpBy === "owner" : principal.kind === "owner";
}

const GROUP = /:(?:group|channel):/;

/** Whether the turn, or the one that asked for it, answers a group. */
export const isOfGroup = ({ sessionKey, root }: Pick<Acting, "sessionKey" | "root">): boolean =>
  [sessionKey, root].some((key) => key !== undefined && GROUP.test(key));

/** The text of a webhook is often a stranger's, even when an owner set the webhook up. */
const isWebhook = ({ kind, id }: Principal): boolean => kind === "automation" && id.startsWith("hook:");

/**
 * Whether only owners read the turn's texts: an owner talks alone with the agent, or a turn works for such an owner.
 * The private notes are for such turns alone.
 */
export const isOwnersAlone = (acting: Pick<Acting, "principal" | "sessionKey" | "root">): boolean =>
  hasOwnerRights(acting.principal) && !isWebhook(acting.principal) && !isOfGroup(acting);

/** A principal as a receipt has it. */
export const shownPrincipal = z.looseObject({
  kind: z.string(),
  id: z.string(),
  name: z.string().optional(),
  setUpBy: z.string().optional(),
});
type ShownPrincipal = Answer<z.output<typeof shownPrincipal>>;

/** For a person: `the owner Ada (telegram:1)`, `the automation cron, with a guest's rights`. */
export function principalText({ kind, id, name, setUpBy }: ShownPrincipal): string {
  const who = name === undefined ? id : `${name} (${id})`;
  return `the ${kind} ${who}${setUpBy === "guest" ? ", with a guest's rights" : ""}`;
}

/** Who acts, and in which conversation. */
export interface Acting {
  readonly principal: Principal;
  readonly sessionKey: SessionKey;
  /** Id of the current conversation of the session key; unset before its first message. */
  readonly sessionId?: string;
  /**
   * Number of runs that wait for the turn, each for the one below it; more than 0 for a subagent's turn. 0 when unset.
   */
  readonly depth?: number;
  /** The session of people for which the turn works, when its own is a subagent's. */
  readonly root?: SessionKey;
  /** Everybody who wrote the turn's messages; nobody when unset. */
  readonly senders?: readonly SenderNames[];
  /** Rules of the config about tools in the turn's chat. */
  readonly chatRules?: readonly ChatToolRules[];
  /** Names of the tools of the run that asked for this one. */
  readonly inherited?: readonly string[];
  /** Rules of the config for a call of one tool by a client, over HTTP or the socket; unset in a turn. */
  readonly http?: ToolLists;
  /** Names and groups of the only tools that the turn may have; its creator set them. */
  readonly only?: readonly string[];
  /** Settings of the conversation or a message for the turn's commands. */
  readonly exec?: SessionExec;
  /**
   * How far the turn's commands may leave the sandbox; not at all when unset, since somebody wrote who may not permit
   * it. `request`: nobody chose a level, so each such command is asked about.
   */
  readonly elevated?: ElevatedLevel | "request";
}

import { z } from "zod";
import { type Answer, openText } from "./method.ts";
import type { RiskyUse } from "./run/untrusted.ts";
import type { LoopSettings } from "./loops.ts";

export type ToolProfile = "minimal" | "coding" | "messaging" | "full";

/** Lists of tools that one place of the config sets: names, groups, `*` wildcards. An empty or unset `allow` allows all. */
export interface ToolLists {
  readonly allow?: readonly string[] | undefined;
  /** Joins the tools of a profile, and `allow` where that is not empty. */
  readonly alsoAllow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

type ListsByName = Readonly<Record<string, ToolLists>>;

/** The rules in `tools`, or in `agents.list[].tools`. */
export interface ToolRules extends ToolLists {
  /** The key path of the section, such as `tools`. */
  readonly key: string;
  readonly profile?: ToolProfile | undefined;
  /** Lists by `provider/model` or `provider`. */
  readonly byProvider?: Readonly<Record<string, ToolLists & { readonly profile?: ToolProfile | undefined }>>;
  /** Lists by a sender's name, see `senderRules`. */
  readonly toolsBySender?: ListsByName;
  /** Lists that take tools away in addition. */
  readonly policy?: ToolLists | undefined;
  /** Lists for runs whose tools are confined to a sandbox. */
  readonly sandbox?: ToolLists;
  readonly subagents?: ToolLists;
}

/** Tool settings of an agent's config. */
export interface ToolPolicySettings {
  readonly global: ToolRules;
  readonly agent?: ToolRules;
  /** File tools stay inside the workspace. */
  readonly workspaceOnly: boolean;
  /** All models have the tool, confined to the workspace, when unset. */
  readonly applyPatch?: ApplyPatchSettings;
  /** Uses that a person has to allow once a conversation has read untrusted content; everything risky when unset. */
  readonly confirmUntrusted?: readonly RiskyUse[];
  /** The defaults when unset. */
  readonly loops?: LoopSettings;
  /** How deep subagents may be nested; 1 when unset. */
  readonly maxSpawnDepth?: number;
  /** The key that switches the tool `update_plan` off. */
  readonly planOff?: string;
}

/** The tool `apply_patch`, in the field's names. */
export interface ApplyPatchSettings {
  readonly enabled: boolean;
  /** The tool changes nothing outside the workspace, even where the other file tools may. */
  readonly workspaceOnly: boolean;
  /** `provider/model`, `provider/*` or a model's id; all models when empty. */
  readonly allowModels: readonly string[];
}

/** Rules about tools in the config's entry of a chat, or of one of its topics. */
export interface ChatToolRules {
  /** The key path of the entry. */
  readonly key: string;
  readonly tools?: ToolLists | undefined;
  readonly toolsBySender?: ListsByName | undefined;
}

/** A step of the policy: it takes tools away and adds none. */
export interface PolicyStage {
  readonly stage: StageName;
  /** The key of the rule, as a path of the config, or the rule of the gateway in words. */
  readonly key: string;
  /** Only these; all when unset or empty. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** Concerns tools alone that a list has to name for these runs; all tools when unset. */
  readonly ofNamedFor?: "all" | "guests";
  /** The stage leaves no tools at all. */
  readonly isEmpty?: true;
}

export type StageName =
  | "profile"
  | "optional"
  | "guest"
  | "provider profile"
  | "global"
  | "global by provider"
  | "agent"
  | "agent by provider"
  | "chat"
  | "sender"
  | "sandbox"
  | "subagent"
  | "inherited"
  | "owner only"
  | "http"
  | "run";

/** Effect of a stage on one tool. */
export const stageAnswer = z.looseObject({
  stage: openText<StageName>(),
  /** The config key of the list that answered, or the rule of the gateway in words. */
  key: z.string(),
  /** `allowed`: listed, or nothing is listed. `denied`: a deny list has it. `unlisted`: an allow list lacks it. */
  answer: openText<"allowed" | "denied" | "unlisted">(),
  /** The entry of the list that decided. */
  entry: z.string().exactOptional(),
});
export type StageAnswer = Answer<z.output<typeof stageAnswer>>;

/** The answer of the whole policy; the stages in their order. */
export interface PolicyVerdict {
  readonly isAllowed: boolean;
  readonly trace: readonly StageAnswer[];
}

/** Names of a sender, in the forms that rules about senders use. */
export interface SenderNames {
  readonly channel: string;
  /** The platform's id. */
  readonly id: string;
  /** Phone number with `+`. */
  readonly e164?: string | undefined;
  /** The name without `@`. */
  readonly username?: string | undefined;
  readonly name?: string | undefined;
}

/** The party of a run, in the fields that rules about tools ask for. */
export interface PolicySubject {
  readonly hasOwnerRights: boolean;
  /** Everybody who wrote the turn's messages. Nobody in a turn that no person wrote, nor for operators' clients. */
  readonly senders: readonly SenderNames[];
  readonly chatRules?: readonly ChatToolRules[];
  /** How many runs wait for this one; 0 for none. */
  readonly depth: number;
  /** Names of the tools that the run had which asked for this one; unset when none did. */
  readonly inherited?: readonly string[] | undefined;
  /** Names of the only tools that the run may have, set by its creator; none when empty. */
  readonly only?: readonly string[] | undefined;
  readonly isSandboxed?: boolean;
  /** Rules of the config about tools that a client calls over HTTP; unset for every other run. */
  readonly http?: ToolLists;
  /** Unset: rules about models are left out. */
  readonly model?: { readonly provider: string; readonly id: string };
}

/** A tool that a model called although the policy had removed it from the run. */
export const removedTool = z.looseObject({
  tool: z.string(),
  /** The first step of the policy that removed it. */
  stage: openText<StageName>(),
  /** The key of the list, or the rule of the gateway in words. */
  key: z.string(),
});
export type RemovedTool = Answer<z.output<typeof removedTool>>;

export const removedText = ({ tool, stage, key }: RemovedTool): string =>
  `called ${tool}, which the policy removed at the step "${stage}": ${key}`;

import { z } from "zod";
import { keyField } from "../key-field.ts";
import { type Answer, openText } from "../method.ts";
import { execRights } from "../session.ts";
import { stageAnswer } from "../tool-policy.ts";

/** Where a tool is from. */
export const TOOL_SOURCES = ["core", "plugin", "channel", "mcp"] as const;

const shown = z.looseObject({
  id: z.string(),
  label: z.string(),
  description: z.string(),
  source: z.enum(TOOL_SOURCES),
  pluginId: z.string().optional(),
  mcpServer: z.string().optional(),
});

/** `place`: as `openclaw.json:12`; unset for a rule of the gateway itself. */
const placedAnswer = stageAnswer.extend({ place: z.string().exactOptional() });
export type PlacedAnswer = Answer<z.output<typeof placedAnswer>>;

/** What would become of a command. */
const judgedCommand = z.looseObject({
  text: z.string(),
  outcome: openText<"runs" | "asks" | "refused">(),
  /** A sentence. */
  why: z.string(),
  /** The config key or the file that decides; unset for a rule of the gateway itself. */
  key: z.string().optional(),
  place: z.string().optional(),
});
export type JudgedCommand = Answer<z.output<typeof judgedCommand>>;

/** The answers of `tools.*` and `policy.explain`. */
export const toolAnswers = {
  catalog: z.looseObject({
    agentId: z.string(),
    profiles: z.array(z.looseObject({ id: z.string(), label: z.string() })),
    groups: z.array(
      z.looseObject({
        id: z.string(),
        label: z.string(),
        source: z.enum(["core", "plugin"]),
        pluginId: z.string().optional(),
        tools: z.array(shown.extend({ defaultProfiles: z.array(z.string()) })),
      }),
    ),
  }),
  effective: z.looseObject({
    agentId: z.string(),
    profile: z.string(),
    groups: z.array(
      z.looseObject({
        id: z.enum(TOOL_SOURCES),
        label: z.string(),
        source: z.enum(TOOL_SOURCES),
        tools: z.array(shown.extend({ rawDescription: z.string() })),
      }),
    ),
  }),
  explain: z.looseObject({
    agentId: z.string(),
    sessionKey: keyField(),
    /** Whether nothing was said in the conversation yet, so that the answer is about its first turn. */
    isNew: z.boolean(),
    /** Whether the run acts for an owner or the operator. */
    owner: z.boolean(),
    /** `contained`: the sandbox is the boundary of commands, so that nobody is asked about those that no list has. */
    sandbox: z.looseObject({ files: z.boolean(), commands: z.boolean(), contained: z.boolean() }),
    /** Rules about models were left out, since no model was named. */
    withoutModel: z.boolean(),
    /** Keys of rules by names that were not given. */
    leftOut: z.array(z.string()),
    exec: execRights,
    /** Set when the question names a command. */
    command: judgedCommand.optional(),
    tools: z.array(
      z.looseObject({
        tool: z.string(),
        allowed: z.boolean(),
        trace: z.array(placedAnswer),
        /** Set when there is no such tool, with the name of one that is like it. */
        unknown: z.looseObject({ near: z.string().optional() }).optional(),
      }),
    ),
  }),
  invoke: z.looseObject({
    ok: z.boolean(),
    toolName: z.string(),
    output: z.looseObject({ content: z.array(z.unknown()), details: z.unknown().optional() }).optional(),
    error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  }),
};

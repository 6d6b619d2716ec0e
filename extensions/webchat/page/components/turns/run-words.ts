import type { Answers } from "openclaw/plugin-sdk/answers";
import { ownText } from "../../model/json.ts";
import { t } from "../../words/words.ts";

const TRIGGERS: Readonly<Record<string, string>> = {
  message: t("a message"),
  memory: t("the keeping of memory"),
  heartbeat: t("a heartbeat"),
  cron: t("a job"),
  hook: t("another program"),
  subagent: t("a subagent"),
  exec: t("the end of a command"),
  api: t("a request over the API"),
  compaction: t("a summary"),
  engine: t("the context engine"),
  plugin: t("a plugin"),
  tool: t("a tool"),
};

const OUTCOMES: Readonly<Record<string, string>> = {
  replied: t("with an answer"),
  aborted: t("stopped early"),
  failed: t("failed"),
  auth: t("the key was refused"),
  billing: t("the account cannot pay"),
  budget: t("the budget is used up"),
  rate_limit: t("too many requests"),
  overloaded: t("the provider is overloaded"),
  loading: t("the model is being loaded"),
  timeout: t("no answer in time"),
  context_overflow: t("the conversation is too long for the model"),
  request_size: t("the request is too large"),
  output_limit: t("the limit of the output was refused"),
  thinking_unsupported: t("the model does not think"),
  thinking_refused: t("the earlier thinking was refused"),
  image_size: t("an image is too large"),
  image_broken: t("an image cannot be read"),
  role_ordering: t("the order of the messages was refused"),
  call_ordering: t("the order of the calls was refused"),
  format: t("the form of the request was refused"),
  refusal: t("the model refused to answer"),
  cut_off: t("the answer broke off"),
  network: t("the provider was not reached"),
  compaction_failure: t("the summary failed"),
  tool_loop: t("the same calls came again and again"),
  engine: t("the context engine failed"),
  blocked: t("a plugin does not allow it"),
  model_missing: t("the model does not exist"),
  unknown: t("a failure of unknown kind"),
};

const REMEDIES: Readonly<Record<string, string>> = {
  ask_owner: t("the owner is asked"),
  wait: t("wait"),
  wait_for_load: t("wait until the model is loaded"),
  lower_thinking: t("think less"),
  drop_thinking: t("leave the earlier thinking out"),
  compact: t("summarise the conversation"),
  truncate_results: t("shorten results of tools"),
  shrink_window: t("send less"),
  lower_output: t("ask for less output"),
  drop_images: t("leave the images out"),
  strict_history: t("put the messages in order"),
  rotate_profile: t("another key"),
  fallback_model: t("another model"),
};

/** What began a run, as the gateway names it, for people. */
export const triggerText = (trigger: string): string => ownText(TRIGGERS, trigger) ?? trigger;

/** How a run or a call of a model ended: `replied`, or a kind of failure, also as `failed:kind`. */
export const outcomeText = (outcome: string): string =>
  outcome
    .split(":")
    .map((word) => ownText(OUTCOMES, word) ?? word)
    .join(": ");

/** The act after a failure. */
export const remedyText = (remedy: string): string => ownText(REMEDIES, remedy) ?? remedy.replaceAll("_", " ");

type JobRun = Answers["cron.runs"]["entries"][number];

const JOB_STATUSES: Readonly<Record<JobRun["status"], string>> = {
  ok: t("ok"),
  error: t("error"),
  skipped: t("skipped"),
};

const DELIVERIES: Readonly<Record<JobRun["deliveryStatus"], string>> = {
  delivered: t("delivered"),
  "not-delivered": t("not delivered"),
  unknown: t("perhaps delivered"),
  "not-requested": t("not to be delivered"),
};

/** How a run of a job ended, for people. */
export const jobStatusText = (status: string): string => ownText(JOB_STATUSES, status) ?? status;

/** What became of the answer of a run, for people. */
export const jobDeliveryText = (delivery: string): string => ownText(DELIVERIES, delivery) ?? delivery;

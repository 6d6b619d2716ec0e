import { randomUUID } from "node:crypto";
import { z } from "zod";
import { setupFields } from "../../../channels/setup.ts";
import type { SetupField } from "../../../types/answers/channels.ts";
import type { ChannelContribution } from "../../../types/contribution.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { addAccount } from "./channel-edit-methods.ts";
import type { Parts } from "../parts/parts.ts";
import type { MovingIn } from "../import/moving-in.ts";
import { setupMethods } from "./setup-methods.ts";

/** Wizards that wait at once; a further one ends the oldest. */
const MOST_WIZARDS = 20;

const startParams = z.looseObject({
  flow: z.enum(["setup", "channels"]).default("setup"),
  channel: z.string().min(1).optional(),
});
const one = z.looseObject({ sessionId: z.string().min(1) });
const answer = z.looseObject({ stepId: z.string(), value: z.unknown().optional() });

const step = z.looseObject({
  id: z.string(),
  type: z.string(),
  title: z.string(),
  message: z.string(),
  options: z.array(z.looseObject({ value: z.string(), label: z.string() })).optional(),
  initialValue: z.unknown().optional(),
  placeholder: z.string().optional(),
  sensitive: z.boolean().optional(),
  executor: z.string(),
});
const progress = z.looseObject({
  done: z.boolean(),
  status: z.string(),
  step: step.optional(),
  error: z.string().optional(),
  channels: z.array(z.string()).optional(),
  accounts: z.array(z.looseObject({ channel: z.string(), accountId: z.string() })).optional(),
});
const state = z.looseObject({ status: z.string(), error: z.string().optional() });

/** The protocol's methods that connect a model, that take over what OpenClaw has left, and that set up a channel step by step, with the fields of `channels.setups`. */
export function wizardMethods(parts: Parts, movingIn?: MovingIn): readonly Method[] {
  const wizards = new Map<string, ChannelWizard>();
  const find = (id: string): ChannelWizard => {
    const wizard = wizards.get(id);
    if (wizard) return wizard;
    throw new MethodError("NOT_FOUND", "wizard not found", { details: { code: "WIZARD_NOT_FOUND" } });
  };
  const ended = <T extends { readonly done: boolean }>(id: string, result: T): T => {
    if (result.done) wizards.delete(id);
    return result;
  };
  return [
    ...setupMethods(parts, movingIn),
    defineMethod({
      name: "wizard.start",
      scope: "operator.admin",
      params: startParams,
      result: progress.extend({ sessionId: z.string() }),
      run: async ({ flow, channel }) => {
        if (flow === "setup") throw new MethodError("INVALID_REQUEST", NO_SETUP);
        const sessionId = randomUUID();
        const wizard = new ChannelWizard(parts, channel);
        wizards.set(sessionId, wizard);
        for (const id of [...wizards.keys()].slice(0, -MOST_WIZARDS)) wizards.delete(id);
        return { sessionId, ...ended(sessionId, await wizard.next()) };
      },
    }),
    defineMethod({
      name: "wizard.next",
      scope: "operator.admin",
      params: one.extend({ answer: answer.optional() }),
      result: progress,
      run: async ({ sessionId, answer: given }) => {
        const wizard = find(sessionId);
        return ended(sessionId, await wizard.next(given));
      },
    }),
    defineMethod({
      name: "wizard.cancel",
      scope: "operator.admin",
      params: one,
      result: state,
      run: async ({ sessionId }) => {
        find(sessionId);
        wizards.delete(sessionId);
        return { status: "cancelled", error: "cancelled" };
      },
    }),
    defineMethod({
      name: "wizard.status",
      scope: "operator.admin",
      params: one,
      result: state,
      run: async ({ sessionId }) => {
        find(sessionId);
        return { status: "running" };
      },
    }),
  ];
}

const NO_SETUP =
  "This gateway is set up on its machine, with: openclaw onboard. Here only channels are set up (flow: channels).";

interface Step {
  readonly id: string;
  readonly type: "select" | "text" | "confirm" | "note";
  readonly title: string;
  readonly message: string;
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly initialValue?: unknown;
  readonly placeholder?: string;
  readonly sensitive?: boolean;
  readonly executor: "client";
}

interface Result {
  readonly done: boolean;
  readonly status: "running" | "done";
  readonly step?: Step;
  /** Why the answer before does not fit; the step is asked again. */
  readonly error?: string;
  readonly channels?: readonly string[];
  readonly accounts?: readonly { readonly channel: string; readonly accountId: string }[];
}

/** A question, and what its answer does. `take` may return why the answer does not fit. */
interface Question {
  readonly step: Step;
  take(value: unknown): string | undefined;
}

/** Asks for a channel, an account and its values, one after the other, and writes them into the config at the end. */
class ChannelWizard {
  readonly #parts: Parts;
  #channel: ChannelContribution | undefined;
  #account: string | undefined;
  #values = new Map<string, string>();
  #replace = false;
  /** The account exists already. */
  #isTaken = false;
  #question: Question | undefined;
  #written: string | undefined;

  constructor(parts: Parts, channel: string | undefined) {
    this.#parts = parts;
    if (channel === undefined) return;
    this.#channel = parts.live.contributions.channel(channel);
    if (!this.#channel) throw new MethodError("NOT_FOUND", `there is no channel ${channel}`);
  }

  /** Takes the answer to the present step, and tells the next. Throws for an answer to another step. */
  async next(given?: z.output<typeof answer>): Promise<Result> {
    if (given) {
      if (this.#question?.step.id !== given.stepId)
        throw new MethodError("INVALID_REQUEST", `this is not the present step: ${given.stepId}`);
      const why = this.#question.take(given.value);
      if (why !== undefined) return { done: false, status: "running", step: this.#question.step, error: why };
      this.#question = undefined;
    }
    this.#question ??= await this.#ask();
    if (this.#question) return { done: false, status: "running", step: this.#question.step };
    return this.#finish();
  }

  async #ask(): Promise<Question | undefined> {
    const channel = this.#channel;
    if (!channel) return this.#askChannel();
    if (this.#account === undefined) return this.#askAccount(channel);
    if (this.#isTaken && !this.#replace) return this.#askReplace(channel);
    // A file is the command line's way to give a value; a wizard asks for the value itself.
    const field = setupFields(channel).find(({ name }) => name !== "tokenFile" && !this.#values.has(name));
    if (field) return this.#askValue(channel, field);
    if (this.#written !== undefined) return undefined;
    return this.#askLink(channel);
  }

  #askChannel(): Question {
    const { channels } = this.#parts.live.contributions;
    return {
      step: stepOf("select", "Channel", {
        message: "Which channel is set up?",
        options: channels.map(({ id, label }) => ({ value: id, label })),
      }),
      take: (value) => {
        this.#channel = channels.find(({ id }) => id === value);
        return this.#channel ? undefined : "Choose one of the channels.";
      },
    };
  }

  #askAccount({ label }: ChannelContribution): Question {
    return {
      step: stepOf("text", label, { message: "Name of the account", initialValue: "default" }),
      take: (value) => {
        const name = textOf(value) || "default";
        if (!/^[\w-]+$/.test(name)) return "Use letters, digits, - and _.";
        this.#account = name;
        return undefined;
      },
    };
  }

  #askValue({ label: title }: ChannelContribution, { name, label, secret, required, env }: SetupField): Question {
    return {
      step: stepOf("text", title, {
        message: required ? label : `${label} (may stay empty)`,
        ...(secret && { sensitive: true }),
        ...(env !== undefined && { placeholder: `\${${env}}` }),
      }),
      take: (value) => {
        const text = textOf(value);
        if (required && text === "") return `${label}: it is missing.`;
        this.#values.set(name, text);
        return undefined;
      },
    };
  }

  #askReplace({ label }: ChannelContribution): Question {
    const message = `There is an account ${this.#account} already. Shall it get the new values?`;
    return {
      step: stepOf("confirm", label, { message, initialValue: false }),
      take: (value) => {
        if (value === true) this.#replace = true;
        else this.#account = undefined;
        this.#isTaken = value === true;
        return undefined;
      },
    };
  }

  /** Writes the account. A value that does not fit is asked again; a channel that has to be linked gets a note. */
  async #askLink(channel: ChannelContribution): Promise<Question | undefined> {
    const failed = await this.#write(channel);
    if (failed) return failed;
    const { login } = await channel.adapter();
    if (!login) return undefined;
    const account = this.#account === "default" ? "" : ` --account ${this.#account}`;
    const message = `The account is in the config. Link it now: openclaw channels login --channel ${channel.id}${account}`;
    return { step: stepOf("note", channel.label, { message }), take: () => undefined };
  }

  async #write(channel: ChannelContribution): Promise<Question | undefined> {
    const { id } = channel;
    const values = Object.fromEntries(this.#values);
    const asked = { channel: id, accountId: this.#account, values, useEnv: false, replace: this.#replace };
    try {
      this.#written = (await addAccount(this.#parts, asked)).accountId;
      return undefined;
    } catch (error) {
      if (!(error instanceof MethodError)) throw error;
      const { code, field } = error.details ?? {};
      if (code === "CHANNEL_TAKEN") {
        this.#isTaken = true;
        return this.#askReplace(channel);
      }
      const wrong = setupFields(channel).find(({ name }) => name === field);
      if (!wrong) throw error;
      const again = this.#askValue(channel, wrong);
      return { ...again, step: { ...again.step, message: `${error.message}\n${again.step.message}` } };
    }
  }

  #finish(): Result {
    const { id = "" } = this.#channel ?? {};
    const accountId = this.#written ?? "default";
    return { done: true, status: "done", channels: [id], accounts: [{ channel: id, accountId }] };
  }
}

type More = Partial<Omit<Step, "id" | "type" | "title" | "executor">> & Pick<Step, "message">;

const stepOf = (type: Step["type"], title: string, more: More): Step => ({
  id: randomUUID(),
  type,
  title,
  executor: "client",
  ...more,
});

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

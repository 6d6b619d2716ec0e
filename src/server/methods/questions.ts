import { randomUUID } from "node:crypto";
import { z } from "zod";
import { agentOf } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import { keyField, keyParam } from "../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import { background } from "../../utils/background.ts";
import { own } from "../../utils/own.ts";
import { within } from "../../utils/within.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";

type Ports = Pick<ServerPorts, "catalog" | "clock">;

/** Milliseconds that a question waits when its client names no time. */
const WAIT_MS = 15 * 60 * 1000;
const MOST_WAIT_MS = 24 * 60 * 60 * 1000;
/** The most questions that wait at once, and the most ended ones that are known. */
const MOST_WAITING = 100;
const MOST_ENDED = 100;

/** Most characters of the questions of one request, as JSON. */
const MOST_CHARS = 64 * 1024;

const question = z.looseObject({
  questionId: z.string().min(1),
  header: z.string().max(12),
  question: z.string().min(1).max(4000),
  options: z
    .array(z.looseObject({ label: z.string().min(1).max(200), description: z.string().max(2000).optional() }))
    .max(4),
  multiSelect: z.boolean().optional(),
  isOther: z.boolean().optional(),
  isSecret: z.literal(false).optional(),
  secretStore: z.undefined().optional(),
});
const answers = z.looseObject({ answers: z.record(z.string(), z.array(z.string())) });
type Answers = z.output<typeof answers>;
type Question = z.output<typeof question>;

const outcome = z.looseObject({ status: z.string(), answers: answers.optional() });
const record = z.looseObject({
  id: z.string(),
  questions: z.array(question),
  agentId: z.string(),
  sessionKey: keyField().optional(),
  runId: z.string().optional(),
  status: z.string(),
  answers: answers.optional(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
});

interface Waiting {
  readonly id: string;
  readonly questions: readonly Question[];
  readonly agentId: string;
  readonly sessionKey?: SessionKey;
  readonly runId?: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

type End =
  | { readonly status: "answered"; readonly answers: Answers }
  | { readonly status: "cancelled" }
  | { readonly status: "expired" };

/** The questions that clients ask people through the gateway. A restart forgets them. */
class Questions {
  readonly #waiting = new Map<string, { readonly asked: Waiting; end(how: End): void; readonly ended: Promise<End> }>();
  readonly #ended = new Map<string, Waiting & End>();
  readonly #clock: Ports["clock"];

  constructor(clock: Ports["clock"]) {
    this.#clock = clock;
  }

  list(): readonly Waiting[] {
    return [...this.#waiting.values()].map(({ asked }) => asked);
  }

  find(id: string): (Waiting & (End | { readonly status: "pending" })) | undefined {
    const waiting = this.#waiting.get(id);
    return waiting ? { ...waiting.asked, status: "pending" } : this.#ended.get(id);
  }

  /** The end to come of a question that waits. */
  whenEnded(id: string): Promise<End> | undefined {
    return this.#waiting.get(id)?.ended;
  }

  /** Resolves with the end of the question. Undefined when the id is known, or too many questions wait. */
  ask(asked: Waiting): Promise<End> | undefined {
    if (this.find(asked.id) !== undefined || this.#waiting.size >= MOST_WAITING) return undefined;
    const { promise: ended, resolve } = Promise.withResolvers<End>();
    const cancel = this.#clock.after(asked.expiresAtMs - asked.createdAtMs, () => end({ status: "expired" }));
    const end = (how: End) => {
      cancel();
      this.#waiting.delete(asked.id);
      this.#ended.set(asked.id, { ...asked, ...how });
      const [oldest] = this.#ended.keys();
      if (this.#ended.size > MOST_ENDED && oldest !== undefined) this.#ended.delete(oldest);
      resolve(how);
    };
    this.#waiting.set(asked.id, { asked, end, ended });
    return ended;
  }

  /** False when no question with this id waits. */
  end(id: string, how: End): boolean {
    const waiting = this.#waiting.get(id);
    waiting?.end(how);
    return waiting !== undefined;
  }
}

const idParams = z.looseObject({ id: z.string().min(1) });

/** Methods with which a client asks people questions, and others answer them. */
export function questionMethods(ports: Ports, hub: Hub): readonly Method[] {
  const questions = new Questions(ports.clock);
  return [requestMethod(questions, ports, hub), ...answerMethods(questions, ports), ...readMethods(questions)];
}

function requestMethod(questions: Questions, { catalog, clock }: Ports, hub: Hub): Method {
  const publish = (event: string, payload: object) => hub.publish({ event, payload, scope: "operator.read" });
  return defineMethod({
    name: "question.request",
    scope: "operator.write",
    params: requestParams,
    result: z.looseObject({ id: z.string(), expiresAtMs: z.number() }),
    async run({ id = randomUUID(), timeoutMs = WAIT_MS, sessionKey: key, agentId, runId, questions: asked }) {
      if (JSON.stringify(asked).length > MOST_CHARS)
        throw new MethodError("INVALID_REQUEST", `the questions have more than ${MOST_CHARS} characters`);
      const fault = faultIn(asked);
      if (fault !== undefined) throw new MethodError("INVALID_REQUEST", fault);
      const createdAtMs = clock.now();
      const expiresAtMs = createdAtMs + Math.min(timeoutMs, MOST_WAIT_MS);
      const agent = agentId ?? (key === undefined ? catalog.defaultAgent : agentOf(key, catalog.defaultAgent));
      const about = { agentId: agent, ...(key && { sessionKey: key }), ...(runId !== undefined && { runId }) };
      const waiting = { id, questions: asked, ...about, createdAtMs, expiresAtMs };
      const ended = questions.ask(waiting);
      if (!ended)
        throw new MethodError("CONFLICT", "there is or was a question with this id, or too many wait", {
          details: { reason: "QUESTION_ID_IN_USE" },
        });
      publish("question.requested", { ...waiting, status: "pending" });
      const told = ended.then((end) => publish("question.resolved", { id, ...end }));
      background("the end of a client's question", told);
      return { id, expiresAtMs };
    },
  });
}

function answerMethods(questions: Questions, { clock }: Pick<Ports, "clock">): readonly Method[] {
  return [
    defineMethod({
      name: "question.waitAnswer",
      scope: "operator.write",
      mayWait: true,
      params: idParams.extend({ timeoutMs: z.int().min(1).optional() }),
      result: outcome,
      async run({ id, timeoutMs = WAIT_MS }) {
        const ended = questions.whenEnded(id);
        if (ended) await within(ended, timeoutMs, clock);
        return endIn(known(questions.find(id), id));
      },
    }),
    defineMethod({
      name: "question.resolve",
      scope: "operator.write",
      params: idParams.extend({ answers: answers.optional(), cancel: z.literal(true).optional() }),
      result: outcome,
      async run({ id, answers: given, cancel }) {
        if ((given === undefined) === (cancel === undefined))
          throw new MethodError("INVALID_REQUEST", "either `answers` or `cancel` is required");
        const asked = known(questions.find(id), id);
        const isOpen = asked.status === "pending";
        const end: End =
          given && isOpen ? { status: "answered", answers: fitting(given, asked.questions) } : { status: "cancelled" };
        if (isOpen && questions.end(id, end)) return end;
        throw new MethodError("NOT_FOUND", "this question has its answer, or waits no more", {
          details: { code: "QUESTION_ALREADY_TERMINAL", reason: "QUESTION_ALREADY_TERMINAL" },
        });
      },
    }),
  ];
}

function readMethods(questions: Questions): readonly Method[] {
  return [
    defineMethod({
      name: "question.get",
      scope: "operator.read",
      params: idParams,
      result: z.looseObject({ question: record }),
      run: async ({ id }) => ({ question: known(questions.find(id), id) }),
    }),
    defineMethod({
      name: "question.list",
      scope: "operator.read",
      params: z.looseObject({}),
      result: z.looseObject({ questions: z.array(record) }),
      run: async () => ({ questions: questions.list().map((one) => ({ ...one, status: "pending" })) }),
    }),
  ];
}

/** Why questions cannot be asked as they are; undefined when they can. */
function faultIn(questions: readonly Question[]): string | undefined {
  const ids = questions.map(({ questionId }) => questionId);
  const repeated = ids.find((id, at) => ids.indexOf(id) !== at);
  if (repeated !== undefined) return `two questions have the id ${repeated}`;
  for (const { questionId: id, options } of questions) {
    const labels = options.map(({ label }) => label);
    if (labels.length === 1) return `the question ${id} has one option: it needs none, or two to four`;
    if (new Set(labels).size < labels.length) return `two options of the question ${id} have the same label`;
  }
  return undefined;
}

/** The answers without blanks at their ends. Throws `MethodError` when they are none to these questions. */
function fitting({ answers: given }: Answers, questions: readonly Question[]): Answers {
  const ids = new Set(questions.map(({ questionId }) => questionId));
  const other = Object.keys(given).find((id) => !ids.has(id));
  if (other !== undefined) throw unfit(`there is no question ${other} in this request`);
  const taken = questions.map((one) => {
    const said = (own(given, one.questionId) ?? []).map((answer) => answer.trim());
    const fault = misfit(said, one);
    if (fault !== undefined) throw unfit(`the question ${one.questionId} ${fault}`);
    return [one.questionId, said] as const;
  });
  return { answers: Object.fromEntries(taken) };
}

function misfit(said: readonly string[], { options, multiSelect, isOther }: Question): string | undefined {
  if (said.length === 0) return "needs an answer";
  if (said.includes("")) return "has an empty answer";
  if (said.length > 1 && multiSelect !== true) return "takes one answer";
  const isFree = options.length === 0 || isOther === true;
  const labels = new Set(options.map(({ label }) => label.trim()));
  return isFree || said.every((answer) => labels.has(answer)) ? undefined : "does not offer this answer";
}

const unfit = (why: string): MethodError =>
  new MethodError("INVALID_REQUEST", why, {
    details: { code: "QUESTION_INVALID_ANSWER", reason: "QUESTION_INVALID_ANSWER" },
  });

const requestParams = z.looseObject({
  id: z.string().min(1).max(128).optional(),
  questions: z.array(question).min(1).max(3),
  agentId: z.string().min(1).optional(),
  sessionKey: keyParam().optional(),
  runId: z.string().min(1).optional(),
  timeoutMs: z.int().min(1).optional(),
});

function endIn(found: End | { readonly status: "pending" }) {
  return found.status === "answered" ? { status: found.status, answers: found.answers } : { status: found.status };
}

function known<T>(found: T | undefined, id: string): T {
  if (found !== undefined) return found;
  throw new MethodError("NOT_FOUND", `there is no question with the id ${id}`, {
    details: { code: "QUESTION_NOT_FOUND", reason: "QUESTION_NOT_FOUND" },
  });
}

import { loginNames } from "../../../../providers/auth/renew.ts";
import { LOGIN_PROVIDERS } from "../../../../providers/keys.ts";
import { Secret } from "../../../../types/secret.ts";
import type { ModelWish } from "../../../onboard/connect-model.ts";
import { customProvider, KEYED_CHOICES } from "../../../onboard/model-choices.ts";
import type { SetupRefusal } from "../../../onboard/refusals.ts";
import { KEY_CHOICES } from "../../provider-choices.ts";
import { authLogin } from "../models/models-login.ts";
import { foundModels, wishName } from "./detect.ts";
import type { SetupScene } from "./scene.ts";
import { firstEdits, gatewayEdits } from "./settings.ts";
import type { TerminalQuestions } from "./talk.ts";
import { tryModel } from "./try-model.ts";

/** Chooses a model, which must answer before its key and its name are saved. */
export async function modelStep(talk: TerminalQuestions, scene: SetupScene): Promise<void> {
  for (;;) {
    const wish = await askModel(talk, scene);
    if (wish === undefined) return talk.warn("No model was chosen. The demo answers until there is one.");
    if (await connect(talk, scene, wish)) return undefined;
  }
}

/** False when the person wants another model. */
async function connect(talk: TerminalQuestions, scene: SetupScene, first: ModelWish): Promise<boolean> {
  for (let wish: ModelWish | undefined = first; wish;) {
    talk.say(`Asking ${wish.model === "" ? wish.provider : wishName(wish)} for an answer …`);
    const tried = await tryModel(scene, wish);
    if (!("ok" in tried)) {
      await tried.save(scene, [...(scene.hasConfig ? [] : firstEdits(scene)), ...gatewayEdits(scene, {})]);
      talk.done(`${tried.name} answered within ${(tried.latencyMs / 1000).toFixed(1)} s and is the first model now.`);
      return true;
    }
    talk.warn(`${tried.message} Nothing was saved.\nIt said: ${tried.said}`);
    const next = await askNext(talk, wish, tried);
    if (next === "skip") {
      talk.warn("No model was chosen. The demo answers until there is one.");
      return true;
    }
    wish = next;
  }
  return false;
}

/** Undefined for another model. */
async function askNext(
  talk: TerminalQuestions,
  wish: ModelWish,
  refusal: SetupRefusal,
): Promise<ModelWish | "skip" | undefined> {
  const { models = [] } = refusal;
  const isKey = refusal.mend === "key" || wish.key !== undefined;
  const next = await talk.choose<"key" | "model" | "again" | "other" | "skip">("What now?", [
    ...(isKey ? [{ value: "key" as const, label: "Type the key again" }] : []),
    ...(refusal.mend === "model" ? [{ value: "model" as const, label: "Choose another model there" }] : []),
    { value: "again", label: "Ask it again" },
    { value: "other", label: "Choose another provider" },
    { value: "skip", label: "Go on without a model" },
  ]);
  if (next === "key") return { ...wish, key: await typeKey(talk, `Key of ${wish.provider}`) };
  if (next === "model") return { ...wish, model: await askModelId(talk, models) };
  if (next === "again") return wish;
  return next === "other" ? undefined : "skip";
}

/** Most models that are offered as a list. */
const MOST_LISTED = 30;

async function askModelId(talk: TerminalQuestions, models: readonly string[]): Promise<string> {
  if (models.length === 0 || models.length > MOST_LISTED)
    return talk.type({ message: "Name of the model, as its provider has it" });
  return talk.choose(
    "Which model?",
    models.map((id) => ({ value: id, label: id })),
  );
}

const typeKey = async (talk: TerminalQuestions, message: string): Promise<Secret> =>
  new Secret(
    await talk.typeHidden({
      message,
      check: (text) => (/\s/.test(text) ? "A key has no spaces in it: paste it once more." : undefined),
    }),
  );

/** Undefined when the person wants none. */
async function askModel(talk: TerminalQuestions, scene: SetupScene): Promise<ModelWish | undefined> {
  const found = await foundModels(scene);
  const way = await talk.choose<string>("Which model answers?", [
    ...found.map(({ wish, from }, at) => ({ value: `found ${at}`, label: wishName(wish), hint: `found: ${from}` })),
    { value: "key", label: "Type a key", hint: "Anthropic, OpenAI, Google and others" },
    { value: "login", label: "Log in with a subscription", hint: "Claude, ChatGPT, GitHub Copilot" },
    { value: "server", label: "Another server", hint: "by its address" },
    { value: "none", label: "None for now", hint: "a demo answers" },
  ]);
  if (way === "none") return undefined;
  if (way === "key") return askKey(talk);
  if (way === "login") return askLogin(talk, scene);
  if (way === "server") return askServer(talk);
  return found[Number(way.slice("found ".length))]?.wish;
}

async function askKey(talk: TerminalQuestions): Promise<ModelWish> {
  const provider = await talk.choose(
    "Whose key?",
    KEYED_CHOICES.map(({ provider: id, label, keysAt }) => ({ value: id, label, hint: keysAt })),
  );
  const label = KEYED_CHOICES.find((one) => one.provider === provider)?.label ?? provider;
  const model = KEY_CHOICES.find((one) => one.provider === provider)?.model ?? "";
  return { provider, model, key: await typeKey(talk, `Key of ${label} (it is not shown)`) };
}

/** The provider gives the login out once, so it is stored before the model is asked. */
async function askLogin(talk: TerminalQuestions, { io }: SetupScene): Promise<ModelWish> {
  const names = await loginNames();
  const provider = await talk.choose(
    "Which subscription?",
    names.map((name) => ({ value: name, label: name })),
  );
  await authLogin(io, { provider });
  const row = [...LOGIN_PROVIDERS, ...KEY_CHOICES.map((one) => ({ provider: one.provider, id: one.model }))];
  const known = row.find((one) => one.provider === provider)?.id;
  return { provider, model: known ?? (await askModelId(talk, [])) };
}

async function askServer(talk: TerminalQuestions): Promise<ModelWish> {
  const baseUrl = await talk.type({
    message: "Address of the server",
    placeholder: "http://127.0.0.1:8000/v1",
    check: (text) =>
      /^https?:\/\/\S+$/.test(text) && URL.canParse(text) ? undefined : "It begins with http:// or https://.",
  });
  const api = await talk.choose("Which API does it speak?", [
    { value: "openai-completions", label: "OpenAI's chat completions", hint: "most servers" },
    { value: "openai-responses", label: "OpenAI's responses" },
    { value: "anthropic-messages", label: "Anthropic's messages" },
  ]);
  const model = await talk.type({ message: "Model; empty for the first that it lists", mayBeEmpty: true });
  const key = await talk.typeHidden({ message: "Key; empty for none", mayBeEmpty: true });
  const address = baseUrl.replace(/\/+$/, "");
  return {
    provider: customProvider(address),
    model,
    server: { baseUrl: address, api },
    ...(key !== "" && { key: new Secret(key) }),
  };
}

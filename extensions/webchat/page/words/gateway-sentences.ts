import { said } from "./words.ts";

/**
 * The sentences that the gateway says in English to the person at the page: how a run failed, which model answered in place of
 * another, why a model was not asked, and what an import takes. A place of one may hold another.
 */
const SENTENCES = [
  said("The model's provider refuses the key of this gateway. It needs another one."),
  said("The account of the model's key is out of credit. Add credit at the provider, or use another key."),
  said("The budget does not allow another model call right now. The operator can see why with `openclaw runs show`."),
  said(
    "The model's provider takes no more requests with this key right now. Please try again in a minute, or use another key.",
  ),
  said("The model is overloaded right now. Please try again in a minute."),
  said("The model's server is still loading it. Please try again in a few minutes."),
  said("The model took too long. Please try again."),
  said("This conversation no longer fits the model. Start a fresh one with /new."),
  said("This conversation no longer fits the model ({figures}). Start a fresh one with /new."),
  said(
    "This message is too long for the model. Please send a shorter one, or ask the operator for a model with a larger window.",
  ),
  said(
    "This message is too long for the model ({figures}). Please send a shorter one, or ask the operator for a model with a larger window.",
  ),
  said("it takes {most} tokens, this needed {needed} tokens"),
  said("it takes {most} tokens"),
  said("this needed {needed} tokens"),
  said(
    "The request is too large: the model's provider, or a proxy before it, refuses so many bytes. Please send less at once.",
  ),
  said(
    "The request of {size} is too large: the model's provider, or a proxy before it, refuses so many bytes. Please send less at once.",
  ),
  said(
    "The request of {size} is too large: the model's provider, or a proxy before it, refuses so many bytes. Please send less at once, or start a fresh conversation with /new.",
  ),
  said("The model cannot write answers as long as requested."),
  said("The model refuses this thinking level. Choose another with /think."),
  said("The model could not read this conversation. Start a fresh one with /new."),
  said("The image is too large for the model. Please send a smaller one."),
  said("The image is too large for the model. Please send a smaller one. It takes at most {most}."),
  said("{size} and {pixels} pixels a side"),
  said("{pixels} pixels a side"),
  said("The model cannot read the image. Please send it as another file, such as a new PNG or JPEG."),
  said("The model's provider did not accept the request."),
  said("The model declined to answer."),
  said("The model stopped in the middle of its answer. Please try again."),
  said("The model cannot be reached right now. Please try again."),
  said("This conversation is too long and could not be shortened. Start a fresh one with /new."),
  said("The agent repeated the same step without getting any further, so it was stopped."),
  said("The context engine could not be loaded. The operator can see why with `openclaw doctor`."),
  said("A plugin of this gateway does not allow this. The operator can see why with `openclaw runs show`."),
  said("The model's provider has no model of this name. Please choose another one."),
  said("Something went wrong while answering. Please try again."),
  said("The model's provider did not accept the request. It said: {words}"),
  said("The model cannot write answers as long as requested. It said: {words}"),
  said("Something went wrong while answering. Please try again. It said: {words}"),
  said(
    "The model thought until the limit of its answer and wrote nothing. Choose less thinking with /think, or ask for less at once.",
  ),
  said("My configuration leaves me no tool here, so I did not ask a model. My operator finds the key in the log."),
  said("This took longer than a run may take, so I stopped it."),

  said("Answered by {model} again."),
  said("Answered by {model} in place of {wanted}: {why}."),
  said("its key was refused"),
  said("its account is out of credit"),
  said("the budget does not allow it"),
  said("it is asked too often"),
  said("it is overloaded"),
  said("its server is still loading it"),
  said("it took too long"),
  said("it could not be reached"),
  said("it broke off"),
  said("it does not exist"),
  said("it failed"),
  said("it has a cooldown after failures"),
  said("it is not set up here"),

  said('There is no usable key "{key}" for {provider}.'),
  said('There is no key for "{provider}" that can be used: {ways}.'),
  said("set {variable}, or {ways}"),
  said("set {variable}"),
  said("run: {command}"),
  said('No provider named "{provider}" is known: add it to models.providers, or install the plugin that has it.'),
  said('The login "{login}" is gone.'),
  said('The login "{login}" was not renewed ({status}); {what}.'),
  said('The login "{login}" could not be renewed just now ({why}).'),
  said("no usable answer"),
  said('The login "{login}" could not be renewed: its file cannot be written.'),
  said('Logins of "{provider}" cannot be renewed here.'),

  said("config"),
  said("conversations"),
  said("devices of clients"),
  said("keys of models"),
  said("links with whatsapp"),
  said("never taken"),
  said("people who were let in"),
  said("positions in the updates of telegram"),
  said("rules for commands"),
  said("scheduled jobs"),
  said("workspaces, skills and hooks"),
];

/** A sign before a sentence. */
const SIGN = /^(?:⚠️|↪️|↩️) /u;

/** Characters of the longest text that is compared with the sentences. */
const MOST = 1000;

/** A text of the gateway in the person's language; the text itself where the page does not know it. */
export function gatewayText(text: string): string {
  if (text.length > MOST) return text;
  const [sign = ""] = SIGN.exec(text) ?? [];
  const sentence = text.slice(sign.length);
  for (const read of SENTENCES) {
    const words = read(sentence, gatewayText);
    if (words !== undefined) return `${sign}${words}`;
  }
  return text;
}
